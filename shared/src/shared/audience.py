"""Who sees what: one rule for prompts, pages, streams and exports."""

from collections.abc import Collection, Container
from typing import Final, TypeVar

ReaderT = TypeVar("ReaderT")

OUT: Final = frozenset({"left", "removed", "failed"})
"""The statuses of members who are out for good: they hear no more of the others."""

_OUT_EVENTS: Final = frozenset(f"member.{status}" for status in OUT)


def may_read(reader: ReaderT | None, *, author: ReaderT | None, audience: Container[ReaderT] | None) -> bool:
    """Whether `reader` may read what `author` wrote; None as reader is the lab itself, which reads everything.

    `audience` None means everybody who is there: that is what a message in a thread has. What is private has an
    audience, if only an empty one; its author reads it in any case.
    """
    return reader is None or audience is None or reader == author or reader in audience


def may_read_thread(*, path: str, status: str, reached: Collection[str], stage_id: str, scope: str) -> bool:
    """Whether a member reads what is said in a thread: they have come to its stage, are not out, and it is theirs.

    `path` and `status` are the member's, `reached` the stages up to where they are now; the rest is the thread's.
    """
    return status not in OUT and stage_id in reached and scope in ("group", f"private:{path}")


def told_as(event_type: str) -> str:
    """The type under which members hear of an event: who fails or is removed has left, because only agents fail."""
    return "member.left" if event_type in _OUT_EVENTS else event_type
