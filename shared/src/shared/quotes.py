"""What a message shows of the one that it answers. Pure."""

from collections.abc import Collection, Mapping
from typing import Any, Final, TypeVar

from shared.audience import may_read

LONGEST_QUOTE: Final = 280
"""Characters of the message that is answered; what is longer ends there, with an ellipsis."""

ReaderT = TypeVar("ReaderT")


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
