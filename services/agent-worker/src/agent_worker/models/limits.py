"""How many calls of one model a process makes at a time."""

import asyncio
from typing import Final

from agent_worker.models.seam import Model
from shared.contracts.models import ModelReply, ModelRequest

# A one-second model then gives 64 replies a second, about what one process can handle; small accounts need less.
DEFAULT_MAX_CONCURRENT_CALLS_PER_MODEL: Final = 64


class LimitedModel:
    """A provider whose calls wait, per model, until fewer than `max_concurrent_calls` are in flight.

    The wait is not part of the call: it counts towards no time-out.
    """

    def __init__(self, inner: Model, max_concurrent_calls: int = DEFAULT_MAX_CONCURRENT_CALLS_PER_MODEL) -> None:
        if max_concurrent_calls < 1:
            raise ValueError("max_concurrent_calls must be at least 1")
        self._inner = inner
        self._max_concurrent_calls = max_concurrent_calls
        self._slots: dict[str, asyncio.Semaphore] = {}

    async def reply(self, request: ModelRequest) -> ModelReply:
        async with self._slots_of(request.settings.model):
            return await self._inner.reply(request)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _slots_of(self, model: str) -> asyncio.Semaphore:
        slots = self._slots.get(model)
        if slots is None:
            slots = self._slots[model] = asyncio.Semaphore(self._max_concurrent_calls)
        return slots
