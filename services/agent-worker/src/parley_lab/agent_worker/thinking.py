"""Takes one draft from its lease to its end: asks the model, then publishes or stores the reply.

No transaction is open while the model thinks, and nothing sleeps. Every paid attempt is recorded as a row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic
from uuid import UUID

import structlog

from parley_lab.agent_worker import moving
from parley_lab.agent_worker.abilities import Abilities
from parley_lab.agent_worker.answering import TIMER_MARGIN_SECONDS, Answering, Later, is_text_to_read
from parley_lab.agent_worker.asking_again import Unusable, unusable_reply, with_reason
from parley_lab.agent_worker.attempts import Attempt, Invalid, keep_prompt
from parley_lab.agent_worker.calling import MOST_LOST, Calling, CallsSpent, Held
from parley_lab.agent_worker.keys import DOUBT_SECONDS, Keys, Pass, RefusedForItself, WaitsForKey
from parley_lab.agent_worker.leasing import Leases
from parley_lab.agent_worker.models import Closed, Limiter, Model, backoff_seconds
from parley_lab.agent_worker.returning import Returning
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.speaking import Speaking
from parley_lab.base import seeds
from parley_lab.base.clock import Clock
from parley_lab.base.errors import Unavailable
from parley_lab.base.failpoints import failpoint
from parley_lab.base.logs import correlation, go_on_with
from parley_lab.contracts.models import ChatMessage
from parley_lab.contracts.prompting import Prompts
from parley_lab.contracts.prompts import Prompt, default_budget, shortened, tokens_of
from parley_lab.contracts.providers import MOCK_PROVIDER
from parley_lab.contracts.transfers import TRANSFER
from parley_lab.drafts import drafts, due_drafts
from parley_lab.drafts.limits import take_call
from parley_lab.kinds.stages import parts_of
from parley_lab.kinds.view import SPEAK
from parley_lab.members.standings import has_people
from parley_lab.store.failures import retry_until_done
from parley_lab.store.session import Database
from parley_lab.store.statements import Row

log = structlog.get_logger(__name__)


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
        worker_id: UUID | None = None,
    ) -> None:
        self._database = database
        self._prompts = prompts
        self._clock = clock
        self._settings = settings
        self._later = later
        self._answering = Answering(database, clock, later)
        self._speaking = Speaking(database, clock, later)
        self._leases = Leases(database, clock, settings, worker_id)
        self._returning = Returning(database, clock, later, work_on=self.work_on, publish_due=self.publish_due)
        self._abilities = Abilities(database, clock)
        self._keys = Keys(database, clock, settings)
        self._calling = Calling(
            models=models,
            limiter=limiter or Limiter(database, clock, {}),
            clock=clock,
            settings=settings,
            look=self._answering.look,
            goes_on=self._goes_on,
            take_call=self._take_call,
            note_alone=self._note_alone,
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
        if lease.may_have_lost_a_call:
            await retry_until_done(partial(self._returning.record_lost, lease))
        if lease.times_lost > MOST_LOST and lease.has_ended_worker:
            reason = f"its call ended {lease.times_lost} workers, the last one with nothing else in hand"
            await retry_until_done(partial(self._returning.give_up, lease, "failed", reason))
            return
        try:
            await self._work_with_key(lease)
        except Unavailable:
            raise
        except Held:
            await retry_until_done(partial(self._returning.hold, lease))
        except CallsSpent:
            await retry_until_done(partial(self._returning.stop_spending, lease))
            await retry_until_done(partial(self._returning.hold, lease))
        except WaitsForKey:
            return
        except RefusedForItself as refused:
            await retry_until_done(partial(self._returning.give_up, lease, "failed", str(refused)))
        except Closed as closed:
            await retry_until_done(partial(self._returning.put_off, lease, closed))
        except Exception as error:
            if await self._leases.is_gone(lease):
                log.info("draft.gone", draft=lease.path)
                return
            log.exception("draft.failed", draft=lease.path)
            await retry_until_done(partial(self._returning.after_failure, lease, error))

    async def try_keys(self) -> None:
        """Read what other processes know of keys and servers, and let one waiting draft try each key that is due."""
        await self._abilities.look()
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

    async def _note_alone(self, lease: drafts.Lease, is_alone: bool) -> bool:
        async def note() -> bool:
            async with self._database.autocommit() as session:
                return await drafts.note_alone(session, lease, is_alone=is_alone)

        return await retry_until_done(note)

    async def _prompt(self, lease: drafts.Lease, token_budget: int | None = None) -> Prompt:
        try:
            return await self._prompts.build(lease.draft_id, token_budget)
        except Unavailable:
            await retry_until_done(
                partial(self._returning.give_back, lease, 0.0, "the prompt builder is away", counts=False)
            )
            raise

    async def _think(self, lease: drafts.Lease, prompt: Prompt, way: Pass) -> None:
        questions = parts_of(lease.stage).questions
        most_unusable = None if questions is None else questions.most_unusable_replies
        looked_at = monotonic()
        unusable, count = await self._said_in_vain(lease)
        budget = lease.agent.prompt_token_budget or default_budget(lease.agent.model.model)
        number, last = lease.first_number - 1, lease.first_number - 1 + lease.attempts_left
        while number < last:
            number += 1
            lease = await retry_until_done(partial(self._abilities.with_lacks, lease))
            messages = with_reason(prompt.messages, unusable, budget)
            attempt = await self._call(lease, prompt, messages, number, looked_at, way)
            if attempt is None:
                return
            await failpoint("reply.received")
            if await retry_until_done(partial(self._abilities.learn, lease, attempt)):
                await retry_until_done(partial(self._returning.record, lease, attempt, is_free=True))
                last += 1
                continue
            await self._abilities.notice(lease, attempt)
            without_form = await retry_until_done(partial(self._abilities.learn_ignored, lease, attempt))
            match await retry_until_done(partial(self._keys.note, lease, way, attempt)):
                case "waits":
                    return
                case "in doubt":
                    self._later(DOUBT_SECONDS + TIMER_MARGIN_SECONDS, partial(self.work_on, lease.draft_id))
                    return
                case "is its own":
                    await retry_until_done(partial(self._returning.give_up, lease, "failed", _why(attempt), attempt))
                    return
            shorter = await self._shorter_prompt(lease, attempt)
            if shorter is not None:
                # Without the replies that were shown, so that each prompt is shorter than the one before.
                prompt, unusable, last = shorter, [], last + 1
                budget = min(budget, tokens_of(attempt.request.messages))
                continue
            if attempt.reply.status == "ok" or is_text_to_read(lease, attempt):
                try:
                    await retry_until_done(partial(self._use, lease, attempt))
                    return
                except Invalid as invalid:
                    attempt = replace(attempt, reason=str(invalid))
            _log_failure(lease, attempt)
            if without_form is not None:
                lease = without_form
                await retry_until_done(partial(self._returning.record, lease, attempt, is_free=True))
                unusable, last = [*unusable, unusable_reply(attempt)], last + 1
                continue
            is_unusable = bool(attempt.reason) or attempt.reply.status == "invalid"
            wait, count = self._wait_after(attempt, lease), count + is_unusable
            is_free = await self._uses_no_attempt(lease, attempt)
            if wait is None or (number == last and not is_free) or count == most_unusable:
                state = "invalid" if is_unusable else "failed"
                await retry_until_done(partial(self._returning.give_up, lease, state, _why(attempt), attempt))
                return
            if is_free:
                await retry_until_done(
                    partial(self._returning.try_later, lease, attempt.reply.status, wait, free=attempt)
                )
                return
            await retry_until_done(partial(self._returning.record, lease, attempt))
            if wait > 0:
                await retry_until_done(partial(self._returning.try_later, lease, attempt.reply.status, wait))
                return
            if is_unusable:
                unusable = [*unusable, unusable_reply(attempt)]
        else:
            await retry_until_done(partial(self._returning.give_up, lease, "failed", "no attempt is left"))

    async def _said_in_vain(self, lease: drafts.Lease) -> tuple[list[Unusable], int]:
        """The unusable replies of earlier leases, and how many of them count against the most there may be."""

        async def read() -> Sequence[Row]:
            async with self._database.read() as session:
                return await drafts.said_in_vain(session, lease.draft_id)

        rows = await retry_until_done(read) if lease.calls_made else []
        said = [Unusable(row.words, row.reason, was_cut=row.was_cut) for row in rows]
        return said, sum(row.is_recent for row in rows)

    async def _call(
        self,
        lease: drafts.Lease,
        prompt: Prompt,
        messages: tuple[ChatMessage, ...],
        number: int,
        looked_at: float,
        way: Pass,
    ) -> Attempt | None:
        """Make one attempt at the model; None when the lease, and with it the right to reply, was lost meanwhile."""
        call = self._calling.attempt(lease, prompt, messages, number, looked_at=looked_at, is_a_try=way.is_a_try)
        attempt = await self._leases.keep(lease, call)
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
        """Record a call with too long a prompt; returns one with fewer old messages, None when it cannot shrink."""
        if attempt.reply.status != "too_long":
            return None
        # First, because the prompt builder may be away.
        await retry_until_done(partial(self._returning.record, lease, attempt, is_free=True))
        sent = tokens_of(attempt.request.messages)
        prompt = await self._prompt(lease, shortened(sent, attempt.reply.error or ""))
        return prompt if tokens_of(prompt.messages) < sent else None

    def _wait_after(self, attempt: Attempt, lease: drafts.Lease) -> float | None:
        """Seconds until the next attempt; None when none can help. An unusable reply is asked again at once."""
        if attempt.reason:
            return 0.0
        wait = backoff_seconds(attempt.reply, attempt.number, seeds.rng(lease.seed, attempt.path))
        # In simulated time no process sleeps.
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


def _log_failure(lease: drafts.Lease, attempt: Attempt) -> None:
    status = "invalid" if attempt.reason else attempt.reply.status
    log.info("model.call_failed", draft=lease.path, attempt=attempt.number, status=status)


def _why(last: Attempt) -> str:
    return last.reason or last.reply.error or last.reply.status
