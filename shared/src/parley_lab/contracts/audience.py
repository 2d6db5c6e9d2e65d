"""Decides who may read messages, events and answers, and who may read a quoted message."""

from collections.abc import Collection, Container, Mapping
from typing import Any, Final, TypeVar

from parley_lab.contracts.lives import OUT

ReaderT = TypeVar("ReaderT")
_OUT_EVENTS: Final = frozenset(f"member.{status}" for status in (*OUT, "transferred"))


def may_read(reader: ReaderT | None, *, author: ReaderT | None, audience: Container[ReaderT] | None) -> bool:
    """Whether `reader` may read what `author` wrote; None as reader is the lab, which reads everything.

    `audience` None, as messages in threads have, means all members who are there. Private content has an audience,
    which may be empty; its author reads it in any case.
    """
    return reader is None or audience is None or reader == author or reader in audience


def may_read_answers(audience: str, *, is_mediator: bool, is_over: bool) -> bool:
    """Whether a member who has passed a stage may read others' answers there, by the stage's audience.

    is_over: no participant of the cohort is on the stage or on the way to it. The rule is applied when a member reads:
    a member who comes later reads earlier answers, and no list of readers is kept.
    """
    return (audience == "cohort" and is_over) or (audience == "mediators" and is_mediator)


def may_read_thread(*, path: str, status: str, reached: Collection[str], stage_id: str, scope: str) -> bool:
    """Whether a member reads a thread: they have come to its stage, are not out, and the thread is theirs.

    `path`, `status` and `reached` (the stages up to the current one) are the member's; the rest is the thread's.
    """
    return status not in OUT and stage_id in reached and scope in ("group", f"private:{path}")


def told_as(event_type: str) -> str:
    """The type of an event as members see it: whatever ended a member's part early, they have left."""
    return "member.left" if event_type in _OUT_EVENTS else event_type


LONGEST_QUOTE: Final = 280
"""In characters; a longer text ends there, with an ellipsis."""


def excerpt(text: str) -> str:
    """The beginning of a text, for a quote."""
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE].rstrip()}…"


def may_quote(
    *, audience: Collection[ReaderT] | None, quoted_author: ReaderT | None, quoted_audience: Collection[ReaderT] | None
) -> bool:
    """Whether all readers of a message may read the message that it answers; only then is the quote shown."""
    if audience is None:
        return quoted_audience is None
    return all(may_read(reader, author=quoted_author, audience=quoted_audience) for reader in audience)


def quote_of(quoted: Mapping[str, Any] | None, audience: Collection[str] | None) -> dict[str, Any] | None:
    """The quote for a message with this audience; None where it answers none, or some reader may not read that one.

    `quoted` has the `id`, `author_id`, `profile`, `text` and `audience` of the message that is answered.
    """
    if quoted is None:
        return None
    author_id = quoted["author_id"]
    if not may_quote(audience=audience, quoted_author=author_id, quoted_audience=quoted["audience"]):
        return None
    author = None if author_id is None else {"id": author_id, "profile": quoted["profile"]}
    return {"id": quoted["id"], "author": author, "text": excerpt(quoted["text"])}
