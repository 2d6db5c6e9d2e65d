"""Who may read what, and who is shown a message that another one answers."""

from collections.abc import Collection, Container, Mapping
from typing import Any, Final, TypeVar

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


LONGEST_QUOTE: Final = 280
"""Characters of the message that is answered; what is longer ends there, with an ellipsis."""


def excerpt(text: str) -> str:
    """The beginning of a text, as a quote shows it."""
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE].rstrip()}…"


def may_quote(
    *, audience: Collection[ReaderT] | None, quoted_author: ReaderT | None, quoted_audience: Collection[ReaderT] | None
) -> bool:
    """Whether everybody who reads a message may read what it answers; only then its quote is shown to anybody."""
    if audience is None:
        return quoted_audience is None
    return all(may_read(reader, author=quoted_author, audience=quoted_audience) for reader in audience)


def quote_of(quoted: Mapping[str, Any] | None, audience: Collection[str] | None) -> dict[str, Any] | None:
    """The quote in a message with this audience; None where nothing is answered or nobody may be shown what.

    `quoted` has the `id`, `author_id`, `profile`, `text` and `audience` of the message that is answered.
    """
    if quoted is None:
        return None
    author_id = quoted["author_id"]
    if not may_quote(audience=audience, quoted_author=author_id, quoted_audience=quoted["audience"]):
        return None
    author = None if author_id is None else {"id": author_id, "profile": quoted["profile"]}
    return {"id": quoted["id"], "author": author, "text": excerpt(quoted["text"])}
