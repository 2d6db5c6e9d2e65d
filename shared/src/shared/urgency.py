"""How urgent the work at hand is: what a person waits for goes before what nobody waits for.

Like a correlation, urgency belongs to a context and travels with the hints that are announced in it: what follows from
something that a participant did is urgent in every process, however many steps later.
"""

from contextvars import ContextVar
from enum import IntEnum


class Urgency(IntEnum):
    BACKGROUND = 0
    """Nobody waits: it may take as long as it takes."""
    REQUEST = 1
    """Somebody waits for an answer over HTTP, but for nothing that follows from it."""
    PERSON = 2
    """A participant waits for it, or for something that it leads to."""


urgency: ContextVar[Urgency] = ContextVar("urgency", default=Urgency.BACKGROUND)


def is_urgent() -> bool:
    """Whether a participant waits for what is done in this context."""
    return urgency.get() is Urgency.PERSON
