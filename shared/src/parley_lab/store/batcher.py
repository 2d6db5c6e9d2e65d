"""Batches work: collects the items of a key that arrive while earlier work of that key is running."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, Generic, TypeVar

from parley_lab.base.errors import GivenUp, Unavailable
from parley_lab.store.failures import is_deadlock

KeyT = TypeVar("KeyT", bound=Hashable)
ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
_TOO_LATE: Final = "The database is busy: what came before took too long. Try again."


class Batcher(Generic[KeyT, ItemT, ResultT]):
    """`work` gets the items of one key, one batch at a time, and returns a result or an exception for each.

    An item never waits for others to come: alone, it starts at once. When a batch fails, its items are tried one by
    one, so that each gets the result that it would get alone. A running batch is completed even if all callers are
    cancelled; what waits and is cancelled is left out.

    An item that has waited for `patience_seconds` when its turn comes is refused: while the database is away one batch
    after another fails, each after a while, and those behind would wait for the sum.
    """

    def __init__(
        self,
        work: Callable[[Sequence[ItemT]], Awaitable[Sequence[ResultT | Exception]]],
        *,
        most: int,
        patience_seconds: float = inf,
    ) -> None:
        self._work = work
        self._most = most
        self._patience_seconds = patience_seconds
        self._waiting: dict[KeyT, list[_Waiting[ItemT, ResultT]]] = {}
        self._running: dict[KeyT, asyncio.Task[None]] = {}

    async def do(self, key: KeyT, item: ItemT) -> ResultT:
        """The result for this item.

        Raises:
            Exception: the one that `work` returned for it, or raised.
            Unavailable: its turn has not come in time.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[ResultT] = loop.create_future()
        self._waiting.setdefault(key, []).append(_Waiting(item, future, loop.time() + self._patience_seconds))
        if key not in self._running:
            self._running[key] = asyncio.create_task(self._run(key))
        return await future

    async def _run(self, key: KeyT) -> None:
        try:
            while waiting := self._still_waiting(key):
                batch, self._waiting[key] = waiting[: self._most], waiting[self._most :]
                await self._settle(batch)
        finally:
            self._running.pop(key)
            for one in self._waiting.pop(key, ()):
                one.future.cancel()

    def _still_waiting(self, key: KeyT) -> "list[_Waiting[ItemT, ResultT]]":
        now = asyncio.get_running_loop().time()
        waiting = self._waiting[key]
        for one in waiting:
            if one.until < now:
                _tell(one.future, Unavailable(_TOO_LATE))
        return [one for one in waiting if not one.future.done()]

    async def _settle(self, batch: "Sequence[_Waiting[ItemT, ResultT]]") -> None:
        try:
            for one, result in zip(batch, await self._work([one.item for one in batch]), strict=True):
                _tell(one.future, result)
        except Exception as error:  # noqa: BLE001 - handed to the caller that waits for it
            # A statement that was given up concerns one item, so the others are tried alone; a database that is away
            # concerns all.
            is_of_one = isinstance(error, GivenUp) or not isinstance(error, Unavailable)
            if len(batch) > 1 and is_of_one and not is_deadlock(error):
                for one in batch:
                    await self._settle([one])
                return
            for one in batch:
                _tell(one.future, error)
        finally:
            for one in batch:
                one.future.cancel()


@dataclass(frozen=True, slots=True)
class _Waiting(Generic[ItemT, ResultT]):
    item: ItemT
    future: asyncio.Future[ResultT]
    until: float


def _tell(future: asyncio.Future[ResultT], result: ResultT | Exception) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
