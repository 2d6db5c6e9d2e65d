"""Failpoints on the way of a reply, at which tests hold or kill a process; without a test they do nothing."""

from collections.abc import Awaitable, Callable

Handler = Callable[[str], Awaitable[None]]

_handler: Handler | None = None


def on_failpoint(handler: Handler | None) -> None:
    """Call `handler(name)` at every failpoint of this process from now on; None removes it."""
    global _handler
    _handler = handler


async def failpoint(name: str) -> None:
    if _handler is not None:
        await _handler(name)
