"""The sentences of the mock: they fit any conversation, in any combination.

They name no member, who may have left, and no topic, which the mock does not understand.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

_OPENINGS: Final = ("Hello.", "Good day.", "Hello, let us begin.")
_REACTIONS: Final = (
    "I see the point.",
    "I agree with some of that.",
    "I see it a little differently.",
    "I had not thought of that.",
    "I am not so sure about that.",
    "I can follow that.",
    "Part of that convinces me.",
    "There may be something in that.",
)
_VIEWS: Final = (
    "It depends on the details.",
    "There are reasons for it and reasons against it.",
    "I would like to know more before I am sure.",
    "I would rather keep it simple.",
    "I can see more than one good answer.",
    "A fair outcome matters to me.",
    "I would like to hear all sides.",
    "What follows in the long run matters to me.",
    "I have not made up my mind completely.",
    "I would weigh what it costs against what it brings.",
    "I could live with a compromise.",
    "My view has not changed much so far.",
)
_QUESTIONS: Final = (
    "What do you think?",
    "Is there something that was missed?",
    "Does anybody see it differently?",
    "What matters most to you?",
    "How sure are you?",
    "What speaks against it?",
)
_CLOSINGS: Final = (
    "I have nothing to add.",
    "I have said what I wanted to say.",
    "That is all from me.",
    "I am done, thank you.",
)
_REASONS_TO_SPEAK: Final = (
    "I have something to say about this.",
    "I want to say where I stand.",
    "I want to move the talk forward.",
)
_REASONS_FOR_SILENCE: Final = (
    "Others should have the chance to speak.",
    "I have nothing to say at the moment.",
    "I would rather listen for now.",
)
_REASONS_TO_END: Final = (
    "I have nothing more to say, so I am ready to finish.",
    "I have heard enough, so I am ready to finish.",
)
_SUMMARIES: Final = (
    "In sum, more than one view was possible, and each has something for it.",
    "In short, there is something to be said for more than one answer.",
    "To sum up: there are reasons on more than one side.",
)


def opening(rng: Random, *, manner: Sequence[str] = (), is_mediator: bool = False) -> str:
    """The first message of a chat; `manner`: phrases of this speaker."""
    return f"{rng.choice(_OPENINGS)} {rng.choice(manner or (_QUESTIONS if is_mediator else _VIEWS))}"


def contribution(rng: Random, *, reacts: bool, manner: Sequence[str] = (), is_mediator: bool = False) -> str:
    """One to three sentences with phrases of the speaker; without any, a mediator asks and others have a view.

    reacts: whether the last message, which is no question, gets a reaction.
    """
    if is_mediator and not manner:
        return rng.choice(_QUESTIONS)
    sentences = [rng.choice(_REACTIONS)] if rng.random() < 0.8 and reacts else []
    sentences.append(rng.choice(manner or _VIEWS))
    if rng.random() < 0.4:
        sentences.append(rng.choice(_QUESTIONS))
    return " ".join(sentences)


def closing(rng: Random) -> str:
    """The last message of a speaker who is ready to end."""
    return rng.choice(_CLOSINGS)


def reason(rng: Random, *, speaks: bool, ready: bool) -> str:
    """A reason for what a speaker does."""
    return rng.choice(_REASONS_TO_END if ready else _REASONS_TO_SPEAK if speaks else _REASONS_FOR_SILENCE)


def summary(rng: Random) -> str:
    """A mediator's contribution, without an opinion."""
    return rng.choice(_SUMMARIES)
