"""One draft from wanted to closed: lease it, ask the model, and publish or store what it said.

No transaction is open and nothing sleeps while the model thinks. What is paid is recorded: one row per attempt.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import structlog

from agent_worker.answering import Answering, do_without, is_text_to_read
from agent_worker.attempts import Attempt, Invalid, call_row, validated
from agent_worker.gathering import Gathering
from agent_worker.models import Closed, Limiter, Model, RetriesSpent, RetryBudget, backoff_seconds
from agent_worker.prompts import Prompts
from agent_worker.settings import WorkerSettings
from agent_worker.steps import CAUSE
from agent_worker.storable import storable
from shared import seeds
from shared.bus import NotNow
from shared.checkpoints import reached
from shared.clock import Clock
from shared.contracts.models import ChatMessage, ModelReply, ModelRequest
from shared.contracts.prompts import Prompt
from shared.contracts.providers import MOCK_PROVIDER, account_of
from shared.conversation import thinking_seconds, typing_seconds
from shared.db import drafts
from shared.db.alerts import raise_alert
from shared.db.conversation import advance_thread
from shared.db.members import lock_standing
from shared.db.session import Database, is_deadlock
from shared.errors import Unavailable
from shared.stage import StageView
from shared.stages import kind_of

log = structlog.get_logger(__name__)

MOST_LEASES = 6
"""How often a draft is taken whose work fails in ways that nobody foresaw."""
_MOST_LEASED_AT_ONCE = 32
FIRST_FAILURE_PAUSE_SECONDS = 0.5
TIMER_MARGIN_SECONDS = 0.01
"""A look that is a moment too early finds nothing to do, and the next one may be the watchdog's."""
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 2.0

Later = Callable[[float, Callable[[], Awaitable[None]]], None]
"""Runs something after so many seconds; what is scheduled may be lost with the process, rows are not."""


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
        self._models = models
        self._prompts = prompts
        self._clock = clock
        self._settings = settings
        self._later = later
        self._answering = Answering(database, clock)
        self._leasing = Gathering[None, UUID, drafts.Lease | None](self._lease_all, most=_MOST_LEASED_AT_ONCE)
        self._limiter = limiter or Limiter(database, clock, {})
        self._budget = RetryBudget(share=settings.retry_share, least_per_minute=settings.retries_per_minute)

    async def work_on(self, draft_id: UUID) -> None:
        """Take the draft's lease and see it through; returns at once when there is nothing to do for it.

        Raises:
            NotNow: Postgres or prompt-builder is away; the draft is wanted again and that was no attempt.
        """
        lease = await self._lease(draft_id)
        if lease is None:
            return
        await reached("draft.leased")
        try:
            self._check_room(lease)
            await self._think(lease, await self._prompt(lease))
        except NotNow:
            raise
        except Closed as closed:
            await self._durably(partial(self._put_off, lease, closed))
        except Exception as error:
            log.exception("draft.failed", draft=lease.path)
            await self._durably(partial(self._after_failure, lease, error))

    async def _lease(self, draft_id: UUID) -> drafts.Lease | None:
        return await self._leasing.do(None, draft_id)

    async def _lease_all(self, draft_ids: Sequence[UUID]) -> list[drafts.Lease | Exception | None]:
        """Leases for all of these drafts at once; the same draft twice is leased once."""
        now = self._clock.now()
        until = now + timedelta(seconds=self._settings.lease_seconds)
        async with self._database.deciding() as session:
            leased, passed_over = await drafts.lease_many(session, set(draft_ids), uuid4(), now, until)
        found: dict[UUID, drafts.Lease | Exception | None] = {**leased}
        for draft_id in passed_over:
            found[draft_id] = await self._lease_alone(draft_id, now, until)
        return [found.pop(draft_id, None) for draft_id in draft_ids]

    async def _lease_alone(self, draft_id: UUID, now: datetime, until: datetime) -> drafts.Lease | Exception | None:
        """The lease, or what went wrong: that must not cost others the leases that they have by now."""
        try:
            async with self._database.transaction() as session:
                return await drafts.lease(session, draft_id, uuid4(), now, until)
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for it
            return error

    def _check_room(self, lease: drafts.Lease) -> None:
        """Raises:
        Closed: a call would be of no use now, as far as can be said without asking anybody.
        """
        account = _account(lease)
        wait = self._limiter.closed_seconds(account, lease.agent.model.model)
        if wait > self._settings.limit_patience_seconds:
            raise Closed(account, wait)
        is_retry = lease.calls_made > 0 and lease.provider != MOCK_PROVIDER
        if is_retry and not self._budget.take(account, self._clock.now()):
            raise RetriesSpent(account, self._budget.wait_seconds(seeds.rng(lease.seed, f"{lease.path}/wait")))

    async def _put_off(self, lease: drafts.Lease, closed: Closed) -> None:
        """Nobody asked the model: the draft waits, which is no attempt."""
        spread = seeds.rng(lease.seed, f"{lease.path}/room").uniform(1.0, 2.0)
        wait = closed.wait_seconds * spread
        await self._give_back(lease, wait, str(closed), counts=False)
        self._later(wait + TIMER_MARGIN_SECONDS, lambda: self.work_on(lease.draft_id))

    async def _prompt(self, lease: drafts.Lease) -> Prompt:
        try:
            return await self._prompts.build(lease.draft_id)
        except Unavailable as error:
            await self._durably(partial(self._give_back, lease, 0.0, "the prompt builder is away", counts=False))
            raise NotNow("The prompt builder is away.") from error

    async def _after_failure(self, lease: drafts.Lease, error: Exception) -> None:
        """Something went wrong that nobody foresaw: try again a few times, ever later, then give the draft up."""
        reason = f"internal error: {type(error).__name__}"
        if lease.attempts >= MOST_LEASES:
            await self._give_up(lease, "failed", reason)
        else:
            await self._try_later(lease, reason, FIRST_FAILURE_PAUSE_SECONDS * 2**lease.attempts)

    async def _think(self, lease: drafts.Lease, prompt: Prompt) -> None:
        model = self._models[lease.provider]
        messages = prompt.messages
        unusable, most_unusable = 0, kind_of(lease.stage).most_unusable_replies(lease.stage)
        for number in range(lease.calls_made + 1, lease.agent.model.max_attempts + 1):
            attempt = await self._call(lease, prompt, model, messages, number)
            if attempt is None:
                return
            await reached("reply.received")
            if attempt.reply.status == "ok" or is_text_to_read(lease, attempt.reply):
                try:
                    await self._durably(partial(self._use, lease, attempt))
                    return
                except Invalid as invalid:
                    attempt = replace(attempt, reason=str(invalid))
            _log_failure(lease, attempt)
            wait = self._wait_after(attempt, lease)
            unusable += bool(attempt.reason) or attempt.reply.status == "invalid"
            if wait is None or number == lease.agent.model.max_attempts or unusable == most_unusable:
                state = "invalid" if attempt.reason or attempt.reply.status == "invalid" else "failed"
                await self._durably(partial(self._give_up, lease, state, _why(attempt), attempt))
                return
            await self._durably(partial(self._record, lease, attempt))
            if wait > 0:
                await self._durably(partial(self._try_later, lease, attempt.reply.status, wait))
                return
            if attempt.reason or attempt.reply.status == "invalid":
                messages = _with_reason(prompt.messages, attempt)
        else:
            await self._durably(partial(self._give_up, lease, "failed", "no attempt is left"))

    async def _call(
        self, lease: drafts.Lease, prompt: Prompt, model: Model, messages: tuple[ChatMessage, ...], number: int
    ) -> Attempt | None:
        """One attempt at the model; None when the lease was lost meanwhile, and with it the right to the reply."""
        path = f"{lease.path}/call:{number}"
        request = ModelRequest.model_construct(
            path=path,
            seed=lease.seed,
            settings=lease.agent.model,
            messages=messages,
            reply_schema=prompt.reply_schema,
            reply_name=prompt.reply_name,
            purpose=prompt.purpose,
            role=lease.agent.role,
            goal=lease.agent.goal,
            backstory=lease.agent.backstory,
            stage_id=lease.stage.id,
            pace=lease.pace,
            mock=lease.agent.mock,
            hints=prompt.hints,
        )
        account = _account(lease)
        permit = await self._limiter.admit(account, request, patience_seconds=self._settings.limit_patience_seconds)
        started_at = self._clock.now()
        if number == 1:
            self._budget.note_call(account, started_at)
        reply, look = None, self._begin_to_look(lease)
        try:
            reply = await self._while_renewing(lease, model.reply(request))
        finally:
            permit.give_back(reply)
            view = _seen(look)
        if reply is None:
            return None
        return Attempt(
            number, path, request, storable(reply), started_at, self._clock.now(), prompt.left_out, view=view
        )

    def _begin_to_look(self, lease: drafts.Lease) -> asyncio.Task[StageView] | None:
        """Read what an answer to a shared ask is checked against while its model is thinking, not after it."""

        async def look() -> StageView:
            await asyncio.sleep(self._settings.look_seconds)
            view = await self._answering.look(lease)
            await reached("ask.looked_at")
            return view

        return asyncio.create_task(look()) if kind_of(lease.stage).has_shared_asks else None

    async def _while_renewing(self, lease: drafts.Lease, call: Coroutine[Any, Any, ModelReply]) -> ModelReply | None:
        """The reply, with the lease kept for as long as it takes; a call whose lease was lost is broken off."""
        task = asyncio.create_task(call)
        try:
            while True:
                done, _ = await asyncio.wait((task,), timeout=self._settings.lease_seconds / 3)
                if done:
                    return task.result()
                if not await self._renew(lease):
                    return None
                await reached("lease.renewed")
        finally:
            task.cancel()

    async def _renew(self, lease: drafts.Lease) -> bool:
        until = self._clock.now() + timedelta(seconds=self._settings.lease_seconds)
        try:
            async with self._database.transaction() as session:
                return await drafts.renew(session, lease, until)
        except Unavailable:
            # Nobody can take the lease from us while Postgres is away.
            return True
        except Exception as error:
            if not is_deadlock(error):
                raise
            return True

    async def _durably(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do `work` again until Postgres is there to do it: what was paid for is not thrown away."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                return await work()
            except Unavailable as error:
                log.warning("reply.waits_for_database", reason=error.message)
            except Exception as error:
                if not is_deadlock(error):
                    raise
                log.warning("deadlock.retried")
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _use(self, lease: drafts.Lease, attempt: Attempt) -> None:
        if lease.thread_id is not None:
            await self._speak(lease, attempt, lease.thread_id)
        else:
            await self._answering.store(lease, attempt)
            await reached("reply.published")

    async def _speak(self, lease: drafts.Lease, attempt: Attempt, thread_id: UUID) -> None:
        """Save what the agent wants to say; publish it when it is due, at once without a typing delay."""
        kind = kind_of(lease.stage)
        reply_model = kind.reply_model(lease.stage, lease.ask, StageView())
        if reply_model is None:
            raise Invalid("nothing was asked")
        utterance = kind.utterance(lease.stage, validated(reply_model, attempt.reply))
        rng = seeds.rng(lease.seed, f"{lease.path}/pace")
        drawn = thinking_seconds(rng)
        thinking = drawn if attempt.reply.simulated_seconds is None else attempt.reply.simulated_seconds
        typing = typing_seconds(utterance.text or "", lease.agent.chat.words_per_minute, rng)
        # A live reply appears after its typing delay, counted from the moment it was there; silence takes no typing.
        delay = typing if lease.pace == "live" and utterance.text is not None else 0.0
        async with self._database.transaction() as session:
            is_current = await drafts.save_reply(
                session,
                lease,
                call_row(lease, attempt),
                text=utterance.text,
                explanation=utterance.explanation,
                ready_to_end=utterance.ready_to_end,
                due_at=attempt.finished_at + timedelta(seconds=delay),
                finish_ms=lease.clock_ms + int((thinking + typing) * 1000),
            )
            if is_current is None:
                return
            if is_current:
                await reached("reply.current")
            if delay == 0:
                await advance_thread(session, thread_id, self._clock.now(), cause=CAUSE, is_last=True)
        await reached("reply.saved")
        if delay > 0:
            self._later(delay, lambda: self.publish_due(thread_id))

    async def publish_due(self, thread_id: UUID) -> None:
        """Publish whatever is due in the thread."""
        async with self._database.transaction() as session:
            await advance_thread(session, thread_id, self._clock.now(), cause=CAUSE, is_last=True)
        await reached("reply.published")

    async def _record(self, lease: drafts.Lease, attempt: Attempt) -> None:
        async with self._database.transaction() as session:
            await drafts.save_call(session, call_row(lease, attempt))

    def _wait_after(self, attempt: Attempt, lease: drafts.Lease) -> float | None:
        """Seconds until the next attempt; None when none can help. An unusable reply is asked again at once."""
        if attempt.reason:
            return 0.0
        wait = backoff_seconds(attempt.reply, attempt.number, seeds.rng(lease.seed, attempt.path))
        # Where time is simulated, nobody sleeps.
        if wait is None or attempt.reply.simulated_seconds is not None:
            return None if wait is None else 0.0
        since_first = attempt.finished_at - (lease.first_called_at or attempt.started_at)
        return wait if since_first.total_seconds() + wait <= self._settings.retry_seconds else None

    async def _try_later(self, lease: drafts.Lease, reason: str, wait_seconds: float) -> None:
        await self._give_back(lease, wait_seconds, reason, counts=True)
        self._later(wait_seconds + TIMER_MARGIN_SECONDS, lambda: self.work_on(lease.draft_id))

    async def _give_back(self, lease: drafts.Lease, wait_seconds: float, reason: str, *, counts: bool) -> None:
        not_before = self._clock.now() + timedelta(seconds=wait_seconds)
        async with self._database.transaction() as session:
            await drafts.give_back(session, lease, not_before, reason, counts=counts)

    async def _give_up(self, lease: drafts.Lease, state: str, reason: str, last: Attempt | None = None) -> None:
        """The model failed for good: close the draft, say so, and let the kind decide what becomes of the member.

        The last attempt is recorded with it: were it known alone, a lab that starts again would try once more.
        """
        now = self._clock.now()
        async with self._database.transaction() as session:
            standing = await lock_standing(session, lease.member_id)
            if last is not None:
                await drafts.save_call(session, call_row(lease, last))
            if not await drafts.close(session, lease, state, reason, now):
                return
            await raise_alert(
                session,
                experiment_id=lease.experiment_id,
                cohort_id=lease.cohort_id,
                member_id=lease.member_id,
                path=f"{lease.path}/failed",
                alert_type="model_failed",
                text=f"{lease.member_path} got no usable reply on {lease.stage.id}: {reason}",
                now=now,
            )
            if lease.ask_id is not None:
                await do_without(session, standing, lease, state, reason, last.reply.raw if last else "", now)
        if lease.thread_id is not None:
            await self.publish_due(lease.thread_id)


def _log_failure(lease: drafts.Lease, attempt: Attempt) -> None:
    status = "invalid" if attempt.reason else attempt.reply.status
    log.info("model.call_failed", draft=lease.path, attempt=attempt.number, status=status)


def _with_reason(messages: tuple[ChatMessage, ...], attempt: Attempt) -> tuple[ChatMessage, ...]:
    """The prompt, the reply that could not be used, and why."""
    reason = attempt.reason or attempt.reply.error or "it was not valid JSON of the requested shape"
    return (
        *messages,
        ChatMessage(role="assistant", content=attempt.reply.raw or "(empty)"),
        ChatMessage(role="user", content=f"That reply cannot be used: {reason}. Reply again in the requested format."),
    )


def _seen(look: asyncio.Task[StageView] | None) -> StageView | None:
    """What was read; None when there was no time for it, or it failed."""
    if look is None:
        return None
    if not look.done():
        look.cancel()
        return None
    return None if look.cancelled() or look.exception() else look.result()


def _account(lease: drafts.Lease) -> str:
    return account_of(lease.provider, lease.agent.model.model)


def _why(last: Attempt) -> str:
    return last.reason or last.reply.error or last.reply.status
