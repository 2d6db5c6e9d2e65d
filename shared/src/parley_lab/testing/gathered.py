"""Has statements that serve several callers (`parley_lab.store.batches`) serve so many of them."""

import asyncio
from collections.abc import Hashable, Sequence
from typing import Any

import pytest

from parley_lab.store.batches import Batches


class Gathered:
    """The sizes of the batches; the first of each statement is held back until so many callers wait for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
        self.sizes: list[int] = []
        work, held = Batches._work, set[Hashable]()

        async def together(batches: Batches, statement: Any, asked: Sequence[Any]) -> Sequence[Any]:
            if (batches, statement) not in held:
                held.add((batches, statement))
                waiting = batches._batchers[statement]._waiting
                async with asyncio.timeout(5):
                    while len(asked) + len(waiting[None]) < number:  # noqa: ASYNC110 - the batcher sends no word of it
                        await asyncio.sleep(0)
            self.sizes.append(len(asked))
            return await work(batches, statement, asked)

        monkeypatch.setattr(Batches, "_work", together)
