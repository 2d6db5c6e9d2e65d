"""Urgency: work that a person waits for goes before other work.

Like a correlation id, urgency belongs to a context and travels with the hints announced in it: whatever follows from a
participant's action is urgent in every process, however many steps later.
"""

from contextvars import ContextVar
from enum import IntEnum


class Urgency(IntEnum):
    BACKGROUND = 0
    """No one waits for it."""
    REQUEST = 1
    """A client waits for an answer over HTTP, but for nothing that follows from it."""
    PERSON = 2
    """A participant waits for it, or for something that follows from it."""
    TELLING = 3
    """It tells all who follow a cohort, so it is done before anything that would give more to tell."""


urgency: ContextVar[Urgency] = ContextVar("urgency", default=Urgency.BACKGROUND)


def is_urgent() -> bool:
    """Whether a participant waits for the work of this context."""
    return urgency.get() is Urgency.PERSON
