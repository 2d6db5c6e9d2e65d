"""One draft from wanted to closed: lease it, ask the model, and publish or store what it said.

No transaction is open and nothing sleeps while the model thinks. What is paid is recorded: one row per attempt.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar
from uuid import UUID, uuid4

import structlog

from agent_worker.answering import TIMER_MARGIN_SECONDS, Answering, Later, do_without, is_text_to_read
from agent_worker.attempts import Attempt, Invalid, call_row, said
from agent_worker.calling import Calling, CallsSpent, Held
from agent_worker.keys import DOUBT_SECONDS, Keys, Pass, RefusedForItself, WaitsForKey
from agent_worker.models import Closed, Limiter, Model, backoff_seconds
from agent_worker.prompts import Prompts
from agent_worker.settings import WorkerSettings
from agent_worker.sharing import Sharing
from agent_worker.steps import CAUSE
from shared import seeds
from shared.acts import drafts
from shared.acts.conversation import advance_thread
from shared.acts.pausing import pause
from shared.bus import NotNow
from shared.checkpoints import reached
from shared.clock import Clock
from shared.contracts.models import ChatMessage
from shared.contracts.prompts import Prompt, shortened, tokens_of
from shared.contracts.providers import MOCK_PROVIDER
from shared.conversation import thinking_seconds, typing_seconds
from shared.db import due_drafts
from shared.db.alerts import raise_alert
from shared.db.call_limits import call_limit, take_call
from shared.db.failures import is_deadlock
from shared.db.gathering import Gathering
from shared.db.session import Database
from shared.db.standings import has_people, lock_standing
from shared.errors import Conflict, NotFound, Unavailable
from shared.stage import SPEAK
from shared.stages import kind_of
from shared.urgency import is_urgent

log = structlog.get_logger(__name__)

MOST_LEASES = 6
"""How often a draft is taken whose work fails in ways that nobody foresaw."""
_MOST_LEASED_AT_ONCE = 32
_MOST_TURNS = 1_000
"""Of those that were lined up any number may have been taken by others; nobody looks for ever."""
FIRST_FAILURE_PAUSE_SECONDS = 0.5
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 2.0

ResultT = TypeVar("ResultT")


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
        self._leasing = Gathering[bool, UUID, drafts.Lease | None](self._lease_all, most=_MOST_LEASED_AT_ONCE)
        self._sharing = Sharing(database, clock)
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

    def let_nobody_wait(self) -> None:
        """Before the process stops: drafts that wait for room at an endpoint are put back, calls in flight go on."""
        self._calling.let_nobody_wait()

    async def work_on(self, draft_id: UUID) -> None:
        """Take the draft's lease and see it through; returns at once when there is nothing to do for it.

        Raises:
            NotNow: Postgres or prompt-builder is away; the draft is wanted again and that was no attempt.
        """
        lease = await self._lease(draft_id)
        if lease is not None:
            await self._see_through(lease)

    async def work_on_next(self, provider: str, draft_id: UUID) -> None:
        """Work on one draft that waits for this provider: on this one, or on whose turn it is where many wait.

        So every hint brings a draft as long as there is one, and a draft whose hint was lost is brought by another's.

        Raises:
            NotNow: as `work_on`.
        """
        is_shared = self._sharing.is_full and not is_urgent()
        lease = None if is_shared else await self._lease(draft_id)
        for _ in range(_MOST_TURNS):
            if lease is not None or (chosen := await self._sharing.next(provider)) is None:
                break
            lease = await self._lease(chosen)
        if lease is None and is_shared:
            lease = await self._lease(draft_id)
        if lease is not None:
            await self._see_through(lease)

    async def _see_through(self, lease: drafts.Lease) -> None:
        with self._sharing.holding(lease.experiment_id):
            await self._see_leased_through(lease)

    async def _see_leased_through(self, lease: drafts.Lease) -> None:
        await reached("draft.leased")
        try:
            await self._work_with_key(lease)
        except NotNow:
            raise
        except Held:
            await self._durably(partial(self._hold, lease))
        except CallsSpent:
            await self._durably(partial(self._stop_spending, lease))
            await self._durably(partial(self._hold, lease))
        except WaitsForKey:
            return
        except RefusedForItself as refused:
            await self._durably(partial(self._give_up, lease, "failed", str(refused)))
        except Closed as closed:
            await self._durably(partial(self._put_off, lease, closed))
        except Exception as error:
            if await self._is_gone(lease):
                log.info("draft.gone", draft=lease.path)
                return
            log.exception("draft.failed", draft=lease.path)
            await self._durably(partial(self._after_failure, lease, error))

    async def try_keys(self) -> None:
        """See what has become of the keys, and have a draft of those that wait try each that is due."""
        await self._keys.look()
        await self._keys.have_tried()

    async def _work_with_key(self, lease: drafts.Lease) -> None:
        way = await self._durably(partial(self._keys.enter, lease))
        try:
            self._calling.check_room(lease, is_a_try=way.is_a_try)
            prompt = await self._prompt(lease)
            if prompt.is_held:
                raise Held
            await self._think(lease, prompt, way)
        finally:
            await self._keys.leave(way)

    async def _is_gone(self, lease: drafts.Lease) -> bool:
        """Whether the draft was deleted with its experiment while somebody worked on it."""
        try:
            async with self._database.looking() as session:
                return not await due_drafts.is_there(session, lease.draft_id)
        except Unavailable:
            return False

    async def _hold(self, lease: drafts.Lease) -> None:
        """Nobody is asked while the experiment is paused: the draft is wanted again, which was no attempt."""
        await self._give_back(lease, 0.0, "the experiment is paused", counts=False)

    async def _goes_on(self, lease: drafts.Lease) -> bool:
        """Whether the experiment goes on: somebody who has waited since the lease was taken must look again."""
        try:
            async with self._database.looking() as session:
                return await due_drafts.is_running(session, lease.experiment_id)
        except Unavailable:
            # Nobody can pause it while Postgres is away.
            return True

    async def _take_call(self, lease: drafts.Lease) -> bool:
        """Count a call before it is made; where Postgres is away none is made."""

        async def take() -> bool:
            async with self._database.transaction() as session:
                return await take_call(session, lease.experiment_id)

        return await self._durably(take)

    async def _stop_spending(self, lease: drafts.Lease) -> None:
        """One more call is wanted than there may be: the experiment is paused, and its experimenter told."""
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

    async def _lease(self, draft_id: UUID) -> drafts.Lease | None:
        # What a person waits for is not leased behind what nobody waits for.
        return await self._leasing.do(is_urgent(), draft_id)

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

    async def _put_off(self, lease: drafts.Lease, closed: Closed) -> None:
        """Nobody asked the model: the draft waits, which is no attempt."""
        spread = seeds.rng(lease.seed, f"{lease.path}/room").uniform(1.0, 2.0)
        wait = closed.wait_seconds * spread
        await self._give_back(lease, wait, str(closed), counts=False)
        self._later(wait + TIMER_MARGIN_SECONDS, lambda: self.work_on(lease.draft_id))

    async def _prompt(self, lease: drafts.Lease, token_budget: int | None = None) -> Prompt:
        try:
            return await self._prompts.build(lease.draft_id, token_budget)
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

    async def _think(self, lease: drafts.Lease, prompt: Prompt, way: Pass) -> None:
        messages = prompt.messages
        unusable, most_unusable = 0, kind_of(lease.stage).most_unusable_replies(lease.stage)
        number, last = lease.calls_made, lease.calls_made + lease.attempts_left
        while number < last:
            number += 1
            attempt = await self._call(lease, prompt, messages, number)
            if attempt is None:
                return
            await reached("reply.received")
            match await self._durably(partial(self._keys.note, lease, way, attempt)):
                case "waits":
                    return
                case "in doubt":
                    self._later(DOUBT_SECONDS + TIMER_MARGIN_SECONDS, partial(self.work_on, lease.draft_id))
                    return
                case "is its own":
                    await self._durably(partial(self._give_up, lease, "failed", _why(attempt), attempt))
                    return
            shorter = await self._shorter_prompt(lease, attempt)
            if shorter is not None:
                await self._durably(partial(self._record, lease, attempt, is_free=True))
                prompt, messages, last = shorter, shorter.messages, last + 1
                continue
            if attempt.reply.status == "ok" or is_text_to_read(lease, attempt):
                try:
                    await self._durably(partial(self._use, lease, attempt))
                    return
                except Invalid as invalid:
                    attempt = replace(attempt, reason=str(invalid))
            _log_failure(lease, attempt)
            wait = self._wait_after(attempt, lease)
            unusable += bool(attempt.reason) or attempt.reply.status == "invalid"
            is_free = await self._uses_no_attempt(lease, attempt)
            if wait is None or (number == last and not is_free) or unusable == most_unusable:
                state = "invalid" if attempt.reason or attempt.reply.status == "invalid" else "failed"
                await self._durably(partial(self._give_up, lease, state, _why(attempt), attempt))
                return
            if is_free:
                await self._durably(partial(self._try_later, lease, attempt.reply.status, wait, free=attempt))
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
        self, lease: drafts.Lease, prompt: Prompt, messages: tuple[ChatMessage, ...], number: int
    ) -> Attempt | None:
        """One attempt at the model; None when the lease was lost meanwhile, and with it the right to the reply."""
        return await self._while_renewing(lease, self._calling.attempt(lease, prompt, messages, number))

    async def _while_renewing(self, lease: drafts.Lease, call: Coroutine[Any, Any, Attempt]) -> Attempt | None:
        """What came of it, with the lease kept for as long as it takes; a call whose lease was lost is broken off."""
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

    async def _durably(self, work: Callable[[], Awaitable[ResultT]]) -> ResultT:
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
        utterance = said(lease, attempt.reply)
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
                reply={"text": utterance.text, "explanation": utterance.explanation},
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
        """Publish whatever is due in the thread; nothing is in one that was deleted."""
        with suppress(NotFound):
            async with self._database.transaction() as session:
                await advance_thread(session, thread_id, self._clock.now(), cause=CAUSE, is_last=True)
        await reached("reply.published")

    async def give_due(self, member_id: UUID) -> None:
        """Give the answers that this member would have given by now."""
        await self._answering.give_due(member_id)

    async def _shorter_prompt(self, lease: drafts.Lease, attempt: Attempt) -> Prompt | None:
        """With fewer of the oldest messages, after a prompt was too long; None when it was not, or none can go."""
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
        # Where time is simulated, nobody sleeps.
        if wait is None or attempt.reply.simulated_seconds is not None:
            return None if wait is None else 0.0
        since_first = attempt.finished_at - (lease.first_called_at or attempt.started_at)
        return wait if since_first.total_seconds() + wait <= self._settings.retry_seconds else None

    async def _uses_no_attempt(self, lease: drafts.Lease, attempt: Attempt) -> bool:
        """Whether only time is lost by this call: its endpoint had no room for it, and nobody waits for a turn."""
        if lease.provider == MOCK_PROVIDER:
            return False
        if attempt.was_crowded:
            return lease.purpose != SPEAK and not await self._is_awaited_by_people(lease)
        return lease.ask_id is not None and attempt.reply.status == "rate_limited"

    async def _is_awaited_by_people(self, lease: drafts.Lease) -> bool:
        try:
            async with self._database.looking() as session:
                return await has_people(session, lease.cohort_id)
        except Unavailable:
            return False

    async def _try_later(
        self, lease: drafts.Lease, reason: str, wait_seconds: float, *, free: Attempt | None = None
    ) -> None:
        """Put the draft back for so long; `free` is a call that uses up no attempt, recorded with it."""
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
        """The model failed for good: close the draft, say so, and let the kind decide what becomes of the member.

        The last attempt is recorded with it: were it known alone, a lab that starts again would try once more.
        """
        now = self._clock.now()
        async with self._database.transaction() as session:
            standing = await lock_standing(session, lease.member_id)
            if last is not None:
                await drafts.save_call(session, call_row(lease, last))
            replies = await drafts.unusable_replies(session, lease.draft_id) if lease.ask_id is not None else []
            # What came before the last attempt is a reply, too.
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
    """What the experimenter is told: what is missing and what was replied, else what went wrong at last."""
    if not missing:
        return f"{lease.member_path} got no usable reply on {lease.stage.id}: {reason}"
    told = "; ".join(f"{question} ({why})" for question, why in missing.items())
    return f"{lease.member_path} gave no usable answer on {lease.stage.id} to {told}"


def _with_reason(messages: tuple[ChatMessage, ...], attempt: Attempt) -> tuple[ChatMessage, ...]:
    """The prompt, the reply that could not be used, and why."""
    reason = attempt.reason or attempt.reply.error or "it was not valid JSON of the requested shape"
    return (
        *messages,
        ChatMessage(role="assistant", content=attempt.reply.raw or "(empty)"),
        ChatMessage(role="user", content=f"That reply cannot be used: {reason}. Reply again in the requested format."),
    )


def _why(last: Attempt) -> str:
    return last.reason or last.reply.error or last.reply.status
