"""Reads lines that a user types or a program sends, without blocking the lab."""

import asyncio
import os
from contextlib import suppress
from threading import Thread
from typing import Final

_CHUNK_BYTES: Final = 65536


class TypedLines:
    """The lines from a file descriptor, each once; belongs to a running loop.

    A daemon thread reads them, so the end of the process need not wait for a line.
    """

    def __init__(self, descriptor: int) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        Thread(target=self._read, args=(descriptor,), daemon=True).start()

    async def next(self) -> str | None:
        """The next line without its end; None when there are no more."""
        line = await self._lines.get()
        if line is None:
            self._lines.put_nowait(None)
        return line

    def _read(self, descriptor: int) -> None:
        rest = b""
        # The loop may be closed before the user has typed the line.
        with suppress(RuntimeError):
            while chunk := _chunk(descriptor):
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    self._tell(line)
            if rest:
                self._tell(rest)
            self._loop.call_soon_threadsafe(self._lines.put_nowait, None)

    def _tell(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").removesuffix("\r")
        self._loop.call_soon_threadsafe(self._lines.put_nowait, text)


def _chunk(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK_BYTES)
    except OSError:
        return b""
