"""Saves a reply to a conversation, and publishes it when it is due."""

from contextlib import suppress
from datetime import timedelta
from uuid import UUID

from parley_lab.agent_worker.answering import Later
from parley_lab.agent_worker.attempts import Attempt, call_row, said
from parley_lab.agent_worker.steps import CAUSE
from parley_lab.base import seeds
from parley_lab.base.clock import Clock
from parley_lab.base.errors import NotFound
from parley_lab.base.failpoints import failpoint
from parley_lab.drafts import drafts
from parley_lab.store.session import Database
from parley_lab.talk import thinking_seconds, typing_seconds
from parley_lab.talk.conversation import advance_thread


class Speaking:
    """Publishes the replies of agents for one process."""

    def __init__(self, database: Database, clock: Clock, later: Later) -> None:
        self._database = database
        self._clock = clock
        self._later = later

    async def speak(self, lease: drafts.Lease, attempt: Attempt, thread_id: UUID) -> None:
        """Save the agent's reply; publish it when it is due, at once without a typing delay."""
        attempt, utterance = said(lease, attempt)
        rng = seeds.rng(lease.seed, f"{lease.path}/pace")
        drawn = thinking_seconds(rng)
        thinking = drawn if attempt.reply.simulated_seconds is None else attempt.reply.simulated_seconds
        typing = typing_seconds(utterance.text or "", lease.agent.chat.words_per_minute, rng)
        # A live reply appears after its typing delay, counted from the arrival of the reply; silence has no delay.
        delay = typing if lease.pace == "live" and utterance.text is not None else 0.0
        async with self._database.transaction() as session:
            is_current = await drafts.save_reply(
                session,
                lease,
                call_row(lease, attempt),
                reply={"text": utterance.text, "explanation": utterance.explanation},
                ready_to_end=utterance.ready_to_end,
                due_at=attempt.finished_at + timedelta(seconds=delay),
                finish_ms=lease.clock_ms + int((thinking + typing) * 1000),
                typing_seconds=delay,
            )
            if is_current is None:
                return
            if is_current:
                await failpoint("reply.current")
            if delay == 0:
                await advance_thread(session, thread_id, self._clock.now(), cause=CAUSE, is_last=True)
        await failpoint("reply.saved")
        if delay > 0:
            self._later(delay, lambda: self.publish_due(thread_id))

    async def publish_due(self, thread_id: UUID) -> None:
        """Publish all replies of the thread that are due; none when the thread was deleted."""
        with suppress(NotFound):
            await self._database.transact(
                lambda session: advance_thread(session, thread_id, self._clock.now(), cause=CAUSE, is_last=True)
            )
        await failpoint("reply.published")
