"""How the mock talks for each type of persona: before a move, and in conversations. Pure."""

from collections.abc import Mapping
from typing import Final

from shared.stages.matrix_game.policies import PersonaType

_BEFORE_A_MOVE: Final[Mapping[PersonaType, str]] = {
    "cooperative": "I want both of us to do well, and for now I choose {}.",
    "tit_for_tat": "I answer in kind, and this time I choose {}.",
    "selfish": "I look after myself, and so should you.",
    "forgiving": "I forget a single mistake, and I choose {}.",
    "random": "I do not plan, so do not try to see through me.",
}
_IN_CONVERSATIONS: Final[Mapping[PersonaType, tuple[str, ...]]] = {
    "cooperative": (
        "I would rather start with trust and see it returned.",
        "Both of us can do well if neither of us spoils it.",
        "I put up with a lot before I stop helping somebody.",
    ),
    "tit_for_tat": (
        "Treat me well, and I treat you well; it is as simple as that.",
        "I begin friendly, and then I do what is done to me.",
        "You always know where you are with me.",
    ),
    "selfish": (
        "In the end I ask what is in it for me.",
        "What others get out of it is their own business.",
        "Promises are cheap, so I make up my mind without them.",
    ),
    "forgiving": (
        "Everybody deserves a second chance.",
        "One bad turn may be a mistake; I only mind the second.",
        "I would rather mend a quarrel than win it.",
    ),
    "random": (
        "I do what comes to mind, and it may be something else tomorrow.",
        "Ask me again, and I might say the opposite.",
        "Plans bore me.",
    ),
}


def before_a_move(persona: PersonaType, letter: str) -> str | None:
    """What is said to the opponent by somebody who is about to choose this letter; None: nothing in particular.

    Types of personas that keep quiet about their choice name no letter, so that it is no promise.
    """
    line = _BEFORE_A_MOVE.get(persona)
    return None if line is None else line.format(letter)


def in_conversations(persona: object) -> tuple[str, ...]:
    """Sentences that fit any conversation; none for a free persona, which has no manner of its own.

    `persona` is what a script says, which nobody has checked where no game is played.
    """
    return next((said for name, said in _IN_CONVERSATIONS.items() if name == persona), ())
