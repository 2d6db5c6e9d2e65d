"""Responses that go on for hours, and what holds them meanwhile."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from functools import partial
from typing import Any, Final

from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

_HANDED_OVER: Final = "parley.streams"
"""Where the scope of a request keeps its stream for the outermost layer."""


class EventStream(Response):
    """A response of server-sent events, which the outermost layer sends (`AroundRequest`).

    Were it sent from within, the layers of the framework would wait with it, and their frames, exit stacks and tasks
    take a third of the memory of an idle stream.
    """

    media_type = "text/event-stream"

    def __init__(self, chunks: AsyncGenerator[bytes, None], status_code: int = 200) -> None:
        self._chunks = chunks
        self.status_code = status_code
        self.background = None
        # No proxy may keep the events back.
        self.init_headers({"Cache-Control": "no-store", "X-Accel-Buffering": "no"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[_HANDED_OVER].append(partial(self._send_until_gone, receive, send))

    async def _send_until_gone(self, receive: Receive, send: Send) -> None:
        """Send it until it ends or its reader has gone; then its generator is closed."""
        await _first_of(self._send(send), _gone(receive))

    async def _send(self, send: Send) -> None:
        async with aclosing(self._chunks) as chunks:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async for chunk in chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def take_streams(scope: Scope) -> list[Callable[[], Awaitable[None]]]:
    """The list to which the sending of a stream of this request will be added. Copies of the scope share it.

    What is sent passes through the layers within, which may add headers.
    """
    streams: list[Callable[[], Awaitable[None]]] = []
    scope[_HANDED_OVER] = streams
    return streams


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _first_of(*works: Coroutine[Any, Any, None]) -> None:
    """Do these at once until one is done, and cancel the others. Raises: what the one that is done has raised."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
