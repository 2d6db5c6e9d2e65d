"""Takes one draft from its lease to its end: asks the model, then publishes or stores the reply.

No transaction is open while the model thinks, and nothing sleeps. Every paid attempt is recorded as a row.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from uuid import UUID

import structlog

from agent_worker import moving
from agent_worker.answering import TIMER_MARGIN_SECONDS, Answering, Later, do_without, is_text_to_read
from agent_worker.attempts import Attempt, Invalid, call_row, keep_prompt, with_reason
from agent_worker.calling import Calling, CallsSpent, Held
from agent_worker.keys import DOUBT_SECONDS, Keys, Pass, RefusedForItself, WaitsForKey
from agent_worker.leasing import Leases
from agent_worker.models import Closed, Limiter, Model, backoff_seconds
from agent_worker.settings import WorkerSettings
from agent_worker.speaking import Speaking
from agent_worker.steps import CAUSE
from shared import seeds
from shared.acts import drafts
from shared.acts.pausing import pause
from shared.clock import Clock
from shared.contracts.models import ChatMessage
from shared.contracts.prompts import Prompt, shortened, tokens_of
from shared.contracts.providers import MOCK_PROVIDER
from shared.contracts.transfers import TRANSFER
from shared.db import due_drafts
from shared.db.alerts import raise_alert
from shared.db.failures import retry_until_done
from shared.db.limits import call_limit, take_call
from shared.db.session import Database
from shared.db.standings import has_people, lock_standing
from shared.errors import Conflict, Unavailable
from shared.failpoints import failpoint
from shared.logs import correlation, go_on_with
from shared.prompting import Prompts
from shared.stage import SPEAK
from shared.stages import parts_of

log = structlog.get_logger(__name__)

MOST_LEASES = 6
"""How often a draft is leased again after unexpected errors."""
FIRST_FAILURE_PAUSE_SECONDS = 0.5


class Thinker:
    """Works on drafts for one process."""

    def __init__(
        self,
        *,
        database: Database,
        models: Mapping[str, Model],
        prompts: Prompts,
        clock: Clock,
        settings: WorkerSettings,
        later: Later,
        limiter: Limiter | None = None,
    ) -> None:
        self._database = database
        self._prompts = prompts
        self._clock = clock
        self._settings = settings
        self._later = later
        self._answering = Answering(database, clock, later)
        self._speaking = Speaking(database, clock, later)
        self._leases = Leases(database, clock, settings)
        self._keys = Keys(database, clock, settings)
        self._calling = Calling(
            models=models,
            limiter=limiter or Limiter(database, clock, {}),
            clock=clock,
            settings=settings,
            look=self._answering.look,
            goes_on=self._goes_on,
            take_call=self._take_call,
        )

    def let_no_one_wait(self) -> None:
        """Before the process stops: put back drafts that wait for room at an endpoint; calls in flight go on."""
        self._calling.let_no_one_wait()

    async def work_on(self, draft_id: UUID) -> None:
        """Lease the draft and work on it to its end; returns at once when there is nothing to do.

        Raises:
            Unavailable: Postgres or prompt-builder is away; the draft is wanted again, which was no attempt.
        """
        lease = await self._leases.take(draft_id)
        if lease is not None:
            await self._see_through(lease)

    async def work_on_next(self, provider: str, draft_id: UUID) -> None:
        """Work on one draft that waits for this provider: this draft, or the next in turn where many wait.

        Raises:
            Unavailable: see `work_on`.
        """
        lease = await self._leases.take_next(provider, draft_id)
        if lease is not None:
            await self._see_through(lease)

    async def _see_through(self, lease: drafts.Lease) -> None:
        go_on_with(lease.correlation or correlation.get())
        with self._leases.holding(lease):
            await self._see_leased_through(lease)

    async def _see_leased_through(self, lease: drafts.Lease) -> None:
        await failpoint("draft.leased")
        try:
            await self._work_with_key(lease)
        except Unavailable:
            raise
        except Held:
            await retry_until_done(partial(self._hold, lease))
        except CallsSpent:
            await retry_until_done(partial(self._stop_spending, lease))
            await retry_until_done(partial(self._hold, lease))
        except WaitsForKey:
            return
        except RefusedForItself as refused:
            await retry_until_done(partial(self._give_up, lease, "failed", str(refused)))
        except Closed as closed:
            await retry_until_done(partial(self._put_off, lease, closed))
        except Exception as error:
            if await self._leases.is_gone(lease):
                log.info("draft.gone", draft=lease.path)
                return
            log.exception("draft.failed", draft=lease.path)
            await retry_until_done(partial(self._after_failure, lease, error))

    async def try_keys(self) -> None:
        """Read the state of the keys, and let one waiting draft try each key that is due."""
        await self._keys.look()
        await self._keys.have_tried()

    async def _work_with_key(self, lease: drafts.Lease) -> None:
        way = await retry_until_done(partial(self._keys.enter, lease))
        try:
            self._calling.check_room(lease, is_a_try=way.is_a_try)
            prompt = await self._prompt(lease)
            if prompt.is_held:
                raise Held
            await self._think(lease, prompt, way)
        finally:
            await self._keys.leave(way)

    async def _hold(self, lease: drafts.Lease) -> None:
        """Put back the draft of a paused member or experiment, which is no attempt."""
        await self._give_back(lease, 0.0, "paused", counts=False)

    async def _goes_on(self, lease: drafts.Lease) -> bool:
        """Whether the member goes on; a member who was paused since the lease needs another look."""
        try:
            async with self._database.read() as session:
                return await due_drafts.goes_on(session, lease.member_id)
        except Unavailable:
            # While Postgres is away, no request can pause the experiment.
            return True

    async def _take_call(self, lease: drafts.Lease) -> bool:
        """Count a call before it is made; while Postgres is away none is made."""

        async def take() -> bool:
            async with self._database.transaction() as session:
                return await take_call(session, lease.experiment_id)

        return await retry_until_done(take)

    async def _stop_spending(self, lease: drafts.Lease) -> None:
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

    async def _put_off(self, lease: drafts.Lease, closed: Closed) -> None:
        """Put back a draft for which no model was called, which is no attempt."""
        spread = seeds.rng(lease.seed, f"{lease.path}/room").uniform(1.0, 2.0)
        wait = closed.wait_seconds * spread
        await self._give_back(lease, wait, str(closed), counts=False)
        self._later(wait + TIMER_MARGIN_SECONDS, lambda: self.work_on(lease.draft_id))

    async def _prompt(self, lease: drafts.Lease, token_budget: int | None = None) -> Prompt:
        try:
            return await self._prompts.build(lease.draft_id, token_budget)
        except Unavailable:
            await retry_until_done(partial(self._give_back, lease, 0.0, "the prompt builder is away", counts=False))
            raise

    async def _after_failure(self, lease: drafts.Lease, error: Exception) -> None:
        """After an unexpected error: try again a few times with growing waits, then give the draft up."""
        reason = f"internal error: {type(error).__name__}"
        if lease.attempts >= MOST_LEASES:
            await self._give_up(lease, "failed", reason)
        else:
            await self._try_later(lease, reason, FIRST_FAILURE_PAUSE_SECONDS * 2**lease.attempts)

    async def _think(self, lease: drafts.Lease, prompt: Prompt, way: Pass) -> None:
        messages = prompt.messages
        questions = parts_of(lease.stage).questions
        unusable, most_unusable = 0, None if questions is None else questions.most_unusable_replies
        number, last = lease.calls_made, lease.calls_made + lease.attempts_left
        while number < last:
            number += 1
            attempt = await self._call(lease, prompt, messages, number)
            if attempt is None:
                return
            await failpoint("reply.received")
            match await retry_until_done(partial(self._keys.note, lease, way, attempt)):
                case "waits":
                    return
                case "in doubt":
                    self._later(DOUBT_SECONDS + TIMER_MARGIN_SECONDS, partial(self.work_on, lease.draft_id))
                    return
                case "is its own":
                    await retry_until_done(partial(self._give_up, lease, "failed", _why(attempt), attempt))
                    return
            shorter = await self._shorter_prompt(lease, attempt)
            if shorter is not None:
                await retry_until_done(partial(self._record, lease, attempt, is_free=True))
                prompt, messages, last = shorter, shorter.messages, last + 1
                continue
            if attempt.reply.status == "ok" or is_text_to_read(lease, attempt):
                try:
                    await retry_until_done(partial(self._use, lease, attempt))
                    return
                except Invalid as invalid:
                    attempt = replace(attempt, reason=str(invalid))
            _log_failure(lease, attempt)
            wait = self._wait_after(attempt, lease)
            unusable += bool(attempt.reason) or attempt.reply.status == "invalid"
            is_free = await self._uses_no_attempt(lease, attempt)
            if wait is None or (number == last and not is_free) or unusable == most_unusable:
                state = "invalid" if attempt.reason or attempt.reply.status == "invalid" else "failed"
                await retry_until_done(partial(self._give_up, lease, state, _why(attempt), attempt))
                return
            if is_free:
                await retry_until_done(partial(self._try_later, lease, attempt.reply.status, wait, free=attempt))
                return
            await retry_until_done(partial(self._record, lease, attempt))
            if wait > 0:
                await retry_until_done(partial(self._try_later, lease, attempt.reply.status, wait))
                return
            if attempt.reason or attempt.reply.status == "invalid":
                messages = with_reason(prompt.messages, attempt)
        else:
            await retry_until_done(partial(self._give_up, lease, "failed", "no attempt is left"))

    async def _call(
        self, lease: drafts.Lease, prompt: Prompt, messages: tuple[ChatMessage, ...], number: int
    ) -> Attempt | None:
        """Make one attempt at the model; None when the lease, and with it the right to reply, was lost meanwhile."""
        attempt = await self._leases.keep(lease, self._calling.attempt(lease, prompt, messages, number))
        return attempt and await retry_until_done(partial(keep_prompt, self._database, lease, attempt))

    async def _use(self, lease: drafts.Lease, attempt: Attempt) -> None:
        if lease.thread_id is not None:
            await self._speaking.speak(lease, attempt, lease.thread_id)
        elif lease.purpose == TRANSFER:
            await moving.decide(self._database, lease, attempt, self._clock.now())
        else:
            await self._answering.store(lease, attempt)
            await failpoint("reply.published")

    async def publish_due(self, thread_id: UUID) -> None:
        """Publish all replies of the thread that are due; none when the thread was deleted."""
        await self._speaking.publish_due(thread_id)

    async def give_due(self, member_id: UUID) -> None:
        """Give the kept answers of this member that are due."""
        await self._answering.give_due(member_id)

    async def _shorter_prompt(self, lease: drafts.Lease, attempt: Attempt) -> Prompt | None:
        """After a prompt that was too long: one with fewer old messages; None when it cannot shrink."""
        if attempt.reply.status != "too_long":
            return None
        sent = tokens_of(attempt.request.messages)
        prompt = await self._prompt(lease, shortened(sent, attempt.reply.error or ""))
        return prompt if tokens_of(prompt.messages) < sent else None

    async def _record(self, lease: drafts.Lease, attempt: Attempt, *, is_free: bool = False) -> None:
        async with self._database.transaction() as session:
            await drafts.save_call(session, call_row(lease, attempt))
            if is_free:
                await drafts.forgive_call(session, lease)

    def _wait_after(self, attempt: Attempt, lease: drafts.Lease) -> float | None:
        """Seconds until the next attempt; None when none can help. An unusable reply is asked again at once."""
        if attempt.reason:
            return 0.0
        wait = backoff_seconds(attempt.reply, attempt.number, seeds.rng(lease.seed, attempt.path))
        # Where time is simulated, no process sleeps.
        if wait is None or attempt.reply.simulated_seconds is not None:
            return None if wait is None else 0.0
        since_first = attempt.finished_at - (lease.first_called_at or attempt.started_at)
        return wait if since_first.total_seconds() + wait <= self._settings.retry_seconds else None

    async def _uses_no_attempt(self, lease: drafts.Lease, attempt: Attempt) -> bool:
        """Whether this call counts as no attempt: its endpoint was at capacity, and no conversation waits for it."""
        if lease.provider == MOCK_PROVIDER:
            return False
        if attempt.was_crowded:
            return lease.purpose != SPEAK and not await self._is_awaited_by_people(lease)
        return lease.ask_id is not None and attempt.reply.status == "rate_limited"

    async def _is_awaited_by_people(self, lease: drafts.Lease) -> bool:
        try:
            async with self._database.read() as session:
                return await has_people(session, lease.cohort_id)
        except Unavailable:
            return False

    async def _try_later(
        self, lease: drafts.Lease, reason: str, wait_seconds: float, *, free: Attempt | None = None
    ) -> None:
        """Put the draft back for so long; `free`: a call to record that counts as no attempt."""
        await self._give_back(lease, wait_seconds, reason, counts=free is None, free=free)
        self._later(wait_seconds + TIMER_MARGIN_SECONDS, lambda: self.work_on(lease.draft_id))

    async def _give_back(
        self, lease: drafts.Lease, wait_seconds: float, reason: str, *, counts: bool, free: Attempt | None = None
    ) -> None:
        not_before = self._clock.now() + timedelta(seconds=wait_seconds)
        async with self._database.transaction() as session:
            if free is not None:
                await drafts.save_call(session, call_row(lease, free))
            await drafts.give_back(
                session, lease, not_before, reason, counts=counts, free_calls=0 if free is None else 1
            )

    async def _give_up(self, lease: drafts.Lease, state: str, reason: str, last: Attempt | None = None) -> None:
        """Close the draft of a model that failed for good, raise an alert, and let the kind decide about the member.

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
        if lease.thread_id is not None:
            await self.publish_due(lease.thread_id)


def _log_failure(lease: drafts.Lease, attempt: Attempt) -> None:
    status = "invalid" if attempt.reason else attempt.reply.status
    log.info("model.call_failed", draft=lease.path, attempt=attempt.number, status=status)


def _given_up_in_words(lease: drafts.Lease, reason: str, missing: Mapping[str, str]) -> str:
    """The text of the alert: the missing fields and the replies, else the last error."""
    if not missing:
        return f"{lease.member_path} got no usable reply on {lease.stage.id}: {reason}"
    told = "; ".join(f"{question} ({why})" for question, why in missing.items())
    return f"{lease.member_path} gave no usable answer on {lease.stage.id} to {told}"


def _why(last: Attempt) -> str:
    return last.reason or last.reply.error or last.reply.status
