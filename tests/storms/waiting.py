"""Waiting for what only the lab decides."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

FoundT = TypeVar("FoundT")


async def until(find: Callable[[], Awaitable[FoundT | None]], *, every_seconds: float = 0.1) -> FoundT:
    """What is found, once something is."""
    while True:
        if found := await find():
            return found
        await asyncio.sleep(every_seconds)
