"""Batches work: collects the items of a key that arrive while earlier work of that key is running."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

from shared.db.failures import is_deadlock
from shared.errors import Unavailable

KeyT = TypeVar("KeyT", bound=Hashable)
ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


class Batcher(Generic[KeyT, ItemT, ResultT]):
    """`work` gets the items of one key, one batch at a time, and returns a result or an exception for each.

    An item never waits for others to come: alone, it starts at once. When a batch fails, its items are tried one by
    one, so that each gets the result that it would get alone. A running batch is completed even if all callers are
    cancelled.
    """

    def __init__(
        self, work: Callable[[Sequence[ItemT]], Awaitable[Sequence[ResultT | Exception]]], *, most: int
    ) -> None:
        self._work = work
        self._most = most
        self._waiting: dict[KeyT, list[tuple[ItemT, asyncio.Future[ResultT]]]] = {}
        self._running: dict[KeyT, asyncio.Task[None]] = {}

    async def do(self, key: KeyT, item: ItemT) -> ResultT:
        """The result for this item.

        Raises:
            Exception: the one that `work` returned for it, or raised.
        """
        future: asyncio.Future[ResultT] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append((item, future))
        if key not in self._running:
            self._running[key] = asyncio.create_task(self._run(key))
        return await future

    async def _run(self, key: KeyT) -> None:
        try:
            while waiting := self._waiting.get(key):
                batch, self._waiting[key] = waiting[: self._most], waiting[self._most :]
                await self._settle(batch)
        finally:
            self._running.pop(key)
            for _, future in self._waiting.pop(key, ()):
                future.cancel()

    async def _settle(self, batch: Sequence[tuple[ItemT, asyncio.Future[ResultT]]]) -> None:
        try:
            for (_, future), result in zip(batch, await self._work([item for item, _ in batch]), strict=True):
                _tell(future, result)
        except Exception as error:  # noqa: BLE001 - handed to the caller that waits for it
            if len(batch) > 1 and not isinstance(error, Unavailable) and not is_deadlock(error):
                for one in batch:
                    await self._settle([one])
                return
            for _, future in batch:
                _tell(future, error)
        finally:
            for _, future in batch:
                future.cancel()


def _tell(future: asyncio.Future[ResultT], result: ResultT | Exception) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
