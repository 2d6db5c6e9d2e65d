"""What the mock says: parts of sentences that go together in any combination."""

from collections.abc import Sequence
from random import Random
from typing import Final

_OPENINGS: Final = (
    "Hello everyone, glad to be here.",
    "Hi all!",
    "Good to meet you.",
    "Hey, shall we get started?",
    "Hello! I have been looking forward to this.",
)
_FIRST_QUESTIONS: Final = (
    "What is your first thought about {topic}?",
    "Who wants to say something about {topic}?",
    "I am curious how each of you sees {topic}.",
    "Maybe we go around once and say where we stand on {topic}.",
    "Before I say too much about {topic}, what matters most to you?",
)
_REACTIONS: Final = (
    "that is a fair point",
    "I see it a little differently",
    "I had not thought of that",
    "I agree with most of that",
    "I am not so sure about that",
    "that fits what I have seen myself",
    "good question",
    "I would put it another way",
    "you may be right there",
    "that part convinces me",
)
_VIEWS: Final = (
    "What worries me is who ends up paying for it.",
    "For me the fair outcome counts more than the quick one.",
    "In my experience people change their minds once they see numbers.",
    "A small first step would tell us more than a big plan.",
    "I would rather keep it simple and see what happens.",
    "The people who are affected most should have the last word.",
    "Some of it depends on how much time we really have.",
    "We should separate what we know from what we hope.",
    "It worked where I used to live, but that was a small place.",
    "Both options have a price, and we should say so openly.",
    "I could live with a compromise if everyone gives a little.",
    "The risk seems small to me compared with doing nothing.",
    "I keep coming back to what happens in the long run.",
    "My neighbours would probably say the opposite.",
)
_FOLLOW_UPS: Final = (
    "What would change your mind?",
    "Does anyone see it differently?",
    "Could we agree on that much?",
    "How would that work in practice?",
    "Is there something we have missed?",
    "What do the others think?",
)
_ABOUT_THE_TOPIC: Final = (
    "With {topic} in mind, I would start there.",
    "That is what {topic} comes down to, I think.",
    "It brings us back to {topic}.",
)
_CLOSINGS: Final = (
    "I think we have covered what matters.",
    "I have nothing to add, that was a good talk.",
    "I am happy with where we ended up.",
    "Let us leave it at that.",
    "That settles it for me.",
)
_THANKS: Final = (
    "Thanks, everyone.",
    "Thank you for the discussion.",
    "It was nice talking to you.",
    "Take care, all.",
)
_REASONS_TO_SPEAK: Final = (
    "The last message left something open that I can answer",
    "I have a view that nobody has mentioned yet",
    "Someone should move the talk forward",
    "I want to respond while the point is fresh",
    "My background gives me something to add",
)
_REASONS_FOR_SILENCE: Final = (
    "Others should have the chance to speak",
    "I have just said what I think",
    "The point has been made already",
)
_REASONS_TO_END: Final = (
    "We seem to agree, so I am ready to finish",
    "Nothing new has come up for a while, so I am ready to finish",
)
_STATEMENTS: Final = (
    "I weighed both sides and this seemed the better one.",
    "It matches what I have experienced myself.",
    "I went with my first impression and still think it is right.",
    "The discussion made me think about it more carefully.",
    "I would decide the same way if I were asked again.",
    "There were good arguments, but one of them convinced me.",
    "It felt like the fair thing to do.",
    "I am fairly confident, although not completely.",
)


def opening(rng: Random, *, stage: str, manner: Sequence[str] = ()) -> str:
    """The first message of a chat; `manner` is what this speaker says."""
    if manner:
        return f"{rng.choice(_OPENINGS)} {rng.choice(manner)}"
    return f"{rng.choice(_OPENINGS)} {_about(rng.choice(_FIRST_QUESTIONS), stage)}"


def contribution(rng: Random, *, stage: str, last_speaker: str, manner: Sequence[str] = ()) -> str:
    """A message in the middle of a chat: one to three sentences; `manner` is what this speaker says."""
    sentences = [_reaction(rng, last_speaker)] if rng.random() < 0.8 else []
    sentences.append(rng.choice(manner or _VIEWS))
    last = rng.random()
    if last < 0.35:
        sentences.append(rng.choice(_FOLLOW_UPS))
    elif last < 0.55:
        sentences.append(_about(rng.choice(_ABOUT_THE_TOPIC), stage))
    return " ".join(sentences)


def closing(rng: Random, *, last_speaker: str) -> str:
    """The last message of somebody who is ready to end."""
    thanks = f"Thanks, {last_speaker}." if last_speaker and rng.random() < 0.4 else rng.choice(_THANKS)
    return f"{rng.choice(_CLOSINGS)} {thanks}"


def reason(rng: Random, *, stage: str, speaks: bool, ready: bool) -> str:
    """Why a speaker does what it does."""
    bank = _REASONS_TO_END if ready else _REASONS_TO_SPEAK if speaks else _REASONS_FOR_SILENCE
    return f"{rng.choice(bank)}{f' in {stage}' if stage and rng.random() < 0.3 else ''}."


def statement(rng: Random, *, stage: str) -> str:
    """A sentence that answers an open question."""
    chosen = rng.choice(_STATEMENTS)
    return f"{chosen} {_about(rng.choice(_ABOUT_THE_TOPIC), stage)}" if stage and rng.random() < 0.25 else chosen


def _reaction(rng: Random, last_speaker: str) -> str:
    reaction = rng.choice(_REACTIONS)
    if last_speaker and rng.random() < 0.6:
        return f"{last_speaker}, {reaction}."
    return f"{reaction[0].upper()}{reaction[1:]}."


def _about(sentence: str, stage: str) -> str:
    return sentence.format(topic=f"“{stage}”" if stage else "this")
