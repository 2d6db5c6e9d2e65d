"""Puts drafts back, records attempts that lead to no answer, and gives drafts up."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

from parley_lab.agent_worker import moving
from parley_lab.agent_worker.answering import GONE, TIMER_MARGIN_SECONDS, Later, do_without, is_asked
from parley_lab.agent_worker.attempts import Attempt, call_row, lost_call
from parley_lab.agent_worker.models import Closed
from parley_lab.agent_worker.steps import CAUSE
from parley_lab.answers import asking
from parley_lab.base import seeds
from parley_lab.base.clock import Clock
from parley_lab.base.errors import Conflict
from parley_lab.contracts.transfers import TRANSFER
from parley_lab.drafts import drafts
from parley_lab.drafts.limits import call_limit
from parley_lab.experiments.pausing import pause
from parley_lab.members.alerts import raise_alert
from parley_lab.members.standings import lock_standing
from parley_lab.store.session import Database, Session

MOST_LEASES = 6
"""How often a draft is leased again after unexpected errors."""
SEVERAL = 3
"""So many members with the same refusal share one alert."""
_LONGEST_QUOTED = 200
FIRST_FAILURE_PAUSE_SECONDS = 0.5


class Returning:
    """Ends the work of one process on drafts that got no answer for now, or for good.

    `work_on` takes a draft up again; `publish_due` publishes the replies of a thread that waited for this one.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        later: Later,
        *,
        work_on: Callable[[UUID], Awaitable[None]],
        publish_due: Callable[[UUID], Awaitable[None]],
    ) -> None:
        self._database = database
        self._clock = clock
        self._later = later
        self._work_on = work_on
        self._publish_due = publish_due

    async def hold(self, lease: drafts.Lease) -> None:
        """Put back the draft of a paused member or experiment, which is no attempt."""
        await self.give_back(lease, 0.0, "paused", counts=False)

    async def stop_spending(self, lease: drafts.Lease) -> None:
        """Pause an experiment that wants more calls than its limit, and alert its experimenter."""
        now = self._clock.now()
        async with self._database.transaction() as session:
            limit = await call_limit(session, lease.experiment_id)
            if limit is None or not limit.is_reached:
                return
            with suppress(Conflict):
                await pause(session, lease.experiment_id, now, reason="calls_spent", cause=CAUSE)
            await raise_alert(
                session,
                experiment_id=lease.experiment_id,
                path=f"calls:{limit.most}",
                alert_type="calls_spent",
                text=f"The experiment is paused: it has made {limit.taken} calls of models, as many as it may.",
                now=now,
            )

    async def put_off(self, lease: drafts.Lease, closed: Closed) -> None:
        """Put back a draft for which no model was called, which is no attempt."""
        spread = seeds.rng(lease.seed, f"{lease.path}/room").uniform(1.0, 2.0)
        wait = closed.wait_seconds * (1.0 if closed.has_room_then else spread)
        await self.give_back(lease, wait, str(closed), counts=False)
        self._later(wait + TIMER_MARGIN_SECONDS, lambda: self._work_on(lease.draft_id))

    async def after_failure(self, lease: drafts.Lease, error: Exception) -> None:
        """After an unexpected error: try again a few times with growing waits, then give the draft up."""
        reason = f"internal error: {type(error).__name__}"
        if lease.attempts >= MOST_LEASES:
            await self.give_up(lease, "failed", reason)
        else:
            await self.try_later(lease, reason, FIRST_FAILURE_PAUSE_SECONDS * 2**lease.attempts)

    async def record(self, lease: drafts.Lease, attempt: Attempt, *, is_free: bool = False) -> None:
        async with self._database.transaction() as session:
            await drafts.save_call(session, call_row(lease, attempt))
            if is_free:
                await drafts.forgive_call(session, lease)

    async def record_lost(self, lease: drafts.Lease) -> None:
        """Record the call that was in hand when the lease before this one ran out."""
        async with self._database.transaction() as session:
            await drafts.save_call(session, lost_call(lease, self._clock.now()))

    async def try_later(
        self, lease: drafts.Lease, reason: str, wait_seconds: float, *, free: Attempt | None = None
    ) -> None:
        """Put the draft back for so long; `free`: a call to record that counts as no attempt."""
        await self.give_back(lease, wait_seconds, reason, counts=free is None, free=free)
        self._later(wait_seconds + TIMER_MARGIN_SECONDS, lambda: self._work_on(lease.draft_id))

    async def give_back(
        self, lease: drafts.Lease, wait_seconds: float, reason: str, *, counts: bool, free: Attempt | None = None
    ) -> None:
        not_before = self._clock.now() + timedelta(seconds=wait_seconds)
        async with self._database.transaction() as session:
            if free is not None:
                await drafts.save_call(session, call_row(lease, free))
            await drafts.give_back(
                session, lease, not_before, reason, counts=counts, free_calls=0 if free is None else 1
            )

    async def give_up(self, lease: drafts.Lease, state: str, reason: str, last: Attempt | None = None) -> None:
        """Close the draft of a model that failed for good, raise an alert, and let the kind decide about the member.

        An ask that was closed meanwhile, or that the member has left, has no consequence and raises no alert.
        The last attempt is recorded in the same transaction; alone, a restarted lab would take it for one to be
        repeated.
        """
        now = self._clock.now()
        if lease.purpose == TRANSFER:
            await moving.accept_undecided(self._database, lease, last, state, reason, now)
            return
        async with self._database.transaction() as session:
            standing = await lock_standing(session, lease.member_id)
            if last is not None:
                await drafts.save_call(session, call_row(lease, last))
            if lease.ask_id is not None and not is_asked(standing, lease, lease.ask_id):
                await asking.close_ask(session, lease.ask_id, "cancelled", GONE, now)
                await drafts.close(session, lease, "cancelled", GONE, now)
                return
            replies = await drafts.unusable_replies(session, lease.draft_id) if lease.ask_id is not None else []
            # The unusable text before the last attempt counts as a reply.
            state = "invalid" if replies else state
            if not await drafts.close(session, lease, state, reason, now):
                return
            missing: Mapping[str, str] = {}
            if lease.ask_id is not None:
                missing = await do_without(session, standing, lease, reason, replies, now)
            await raise_alert(
                session,
                experiment_id=lease.experiment_id,
                cohort_id=lease.cohort_id,
                member_id=lease.member_id,
                path=f"{lease.path}/failed",
                alert_type="answers_missing" if missing else "model_failed",
                text=_given_up_in_words(lease, reason, missing),
                now=now,
            )
            await _tell_of_same_refusals(session, lease, last, now)
        if lease.thread_id is not None:
            await self._publish_due(lease.thread_id)


async def _tell_of_same_refusals(session: Session, lease: drafts.Lease, last: Attempt | None, now: datetime) -> None:
    """Alert the experimenter when several members of a stage were refused alike: its question or its model is why."""
    if last is None or not (last.reply.status == "refused" or (last.reply.status == "invalid" and last.reply.raw)):
        return
    members = await drafts.same_refusals(session, lease, last.reply.status, last.reply.raw)
    if members < SEVERAL:
        return
    words = " ".join((last.reply.words or last.reply.error or "").split())[:_LONGEST_QUOTED]
    await raise_alert(
        session,
        experiment_id=lease.experiment_id,
        path=f"refused:{lease.stage.id}",
        alert_type="same_refusals",
        text=f"{members} agents were refused alike on {lease.stage.id} by {lease.agent.model.model}: {words}. "
        "Look at its texts, or name another model.",
        now=now,
    )


def _given_up_in_words(lease: drafts.Lease, reason: str, missing: Mapping[str, str]) -> str:
    """The text of the alert: the missing fields and the replies, else the last error."""
    if not missing:
        return f"{lease.member_path} got no usable reply on {lease.stage.id}: {reason}"
    told = "; ".join(f"{question} ({why})" for question, why in missing.items())
    return f"{lease.member_path} gave no usable answer on {lease.stage.id} to {told}"
