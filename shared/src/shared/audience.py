"""Who sees what: one rule for prompts, pages, streams and exports."""

from collections.abc import Container
from typing import TypeVar

ReaderT = TypeVar("ReaderT")


def may_read(reader: ReaderT | None, *, author: ReaderT | None, audience: Container[ReaderT] | None) -> bool:
    """Whether `reader` may read what `author` wrote; None as reader is the lab itself, which reads everything.

    `audience` None means everybody who is there: that is what a message in a thread has. What is private has an
    audience, if only an empty one; its author reads it in any case.
    """
    return reader is None or audience is None or reader == author or reader in audience
