"""Takes the steps of one process. Those that follow from the same cause share a transaction, which costs much less."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Final
from uuid import UUID

from parley_lab.agent_worker.steps import CAUSE, take_step, take_steps
from parley_lab.base.clock import Clock
from parley_lab.base.errors import NotFound
from parley_lab.base.urgency import is_urgent
from parley_lab.people import transferring
from parley_lab.store.batcher import Batcher
from parley_lab.store.session import Database

_MOST_AT_ONCE: Final = 16


class Stepping:
    """Takes the steps of members for one process."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        # All consequences of a batch carry one correlation id, and one urgency.
        self._batcher = Batcher[tuple[str | None, bool], UUID, bool](self._take_all, most=_MOST_AT_ONCE)

    async def take(self, member_id: UUID, cause: str | None) -> None:
        """Do what is due for this member (see `take_step`); an unknown member has nothing to do.

        cause: the correlation id of the hint. Steps without one share the id of the first.
        """
        if not await self._batcher.do((cause, is_urgent()), member_id):
            await self._take_alone(member_id)

    async def _take_all(self, member_ids: Sequence[UUID]) -> Sequence[bool]:
        """Whether each of these members has stepped; the others do it each in a transaction of their own."""
        together: Collection[UUID] = dict.fromkeys(member_ids)
        if len(together) == 1:
            await self._take_alone(member_ids[0])
            return [True] * len(member_ids)
        alone = await self._database.transact(lambda session: take_steps(session, together, self._clock.now()))
        return [member_id not in alone for member_id in member_ids]

    async def _take_alone(self, member_id: UUID) -> None:
        with suppress(NotFound):
            if await self._database.transact(lambda session: take_step(session, member_id, self._clock.now())):
                await self._database.transact(
                    lambda session: transferring.resolve(session, member_id, self._clock.now(), cause=CAUSE)
                )
