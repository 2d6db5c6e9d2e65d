"""A live stream as load generators follow it: as much HTTP as is needed, line by line."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Self, cast


class LiveStream(asyncio.Protocol, ABC):
    """The stream of one person; `hear` gets each line that comes."""

    def __init__(self) -> None:
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def follow(cls, port: int, headers: Mapping[str, str], cursor: str) -> Self:
        _, stream = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        lines = ["GET /v1/me/stream HTTP/1.1", "host: 127.0.0.1", "accept: text/event-stream"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += [f"last-event-id: {cursor}", "", ""]
        assert stream._transport is not None
        stream._transport.write("\r\n".join(lines).encode())
        return stream

    @abstractmethod
    def hear(self, line: bytes) -> None: ...

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its class

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self.hear(line)

    def close(self) -> None:
        assert self._transport is not None
        self._transport.close()
