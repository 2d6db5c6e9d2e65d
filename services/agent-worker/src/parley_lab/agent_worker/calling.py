"""Makes one call of a model: waits for room at the endpoint and under the limits, and records the outcome."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from time import monotonic
from typing import Final

import structlog

from parley_lab.agent_worker.attempts import Attempt, storable
from parley_lab.agent_worker.models import (
    Closed,
    Limiter,
    Model,
    Pacer,
    Place,
    RetriesSpent,
    RetryBudget,
    most_reply_tokens,
)
from parley_lab.agent_worker.models.prices import cost_usd
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.base import seeds
from parley_lab.base.clock import Clock
from parley_lab.base.failpoints import failpoint
from parley_lab.base.metrics import MODEL_CALLS, MODEL_COST, MODEL_SECONDS, MODEL_TOKENS
from parley_lab.base.urgency import is_urgent
from parley_lab.contracts.models import DEFAULT_TIMEOUT_SECONDS, ChatMessage, ModelRequest
from parley_lab.contracts.prompts import Prompt
from parley_lab.contracts.providers import MOCK_PROVIDER, account_of
from parley_lab.drafts.drafts import Lease
from parley_lab.kinds import OwnView
from parley_lab.kinds.stages import parts_of

_AWAITED, _TRIED_BEFORE, _NEW = range(3)
"""The ranks of calls that wait for the same endpoint: the lowest goes first."""


log = structlog.get_logger(__name__)

_REAL: Final = "real"
MOST_LOST: Final = 3
"""After so many workers have ended with a draft in hand, it is tried alone."""
LONGEST_UNLOOKED_SECONDS: Final = 0.02
"""After a longer wait, check again that the experiment goes on before the call is paid."""


class Flights:
    """The calls in flight of one process. They go in the order of arrival where one of them waits to go alone.

    A call that may end the process goes alone: if it does, no other call is lost with it, and no other is to blame.
    """

    def __init__(self) -> None:
        self._in_flight = 0
        self._one_alone = asyncio.Lock()
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    @asynccontextmanager
    async def together(self) -> AsyncIterator[None]:
        """Wait until no call is alone, and be in flight until the block ends."""
        if self._one_alone.locked():
            async with self._one_alone:
                pass
        self._in_flight += 1
        self._is_empty.clear()
        try:
            yield
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._is_empty.set()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Wait until no call is in flight, and let none begin until the block ends."""
        async with self._one_alone:
            await self._is_empty.wait()
            yield


class Held(Exception):
    """The experiment or the member is paused: no call may be made."""


class CallsSpent(Exception):
    """The experiment has used up its limit of calls."""


class Calling:
    """Calls models for one process.

    `look` reads the view for the check of an answer; `goes_on` says whether the experiment still goes on. `take_call`
    counts a call of an experiment with a limit of calls, and returns False when none is left. `note_alone` notes
    whether this call is alone in flight, and returns False when the lease was lost.
    """

    def __init__(
        self,
        *,
        models: Mapping[str, Model],
        limiter: Limiter,
        clock: Clock,
        settings: WorkerSettings,
        look: Callable[[Lease], Awaitable[OwnView]],
        goes_on: Callable[[Lease], Awaitable[bool]],
        take_call: Callable[[Lease], Awaitable[bool]],
        note_alone: Callable[[Lease, bool], Awaitable[bool]],
    ) -> None:
        self._models = models
        self._limiter = limiter
        self._clock = clock
        self._settings = settings
        self._look = look
        self._goes_on = goes_on
        self._take_call = take_call
        self._note_alone = note_alone
        self._flights = Flights()
        self._pacer = Pacer(clock, most=settings.prefetch)
        self._budget = RetryBudget(share=settings.retry_share, least_per_minute=settings.retries_per_minute)

    def let_no_one_wait(self) -> None:
        """Before the process stops: send waiting calls away; calls in flight go on."""
        self._pacer.stop()
        self._limiter.let_no_one_wait()

    def check_room(self, lease: Lease, *, is_a_try: bool = False) -> None:
        """Check, without asking the database, that a call can be made now.

        `is_a_try`: the call tries a paused key, and does not count as a repetition.

        Raises:
            Closed: there is no room.
        """
        account = _account(lease)
        path = _call_path(lease, lease.first_number)
        wait = self._limiter.closed_seconds(account, lease.agent.model.model, path)
        if wait > self._settings.limit_patience_seconds:
            raise Closed(account, wait)
        if _is_repetition(lease, is_a_try) and not self._budget.has_room(account, self._clock.now()):
            raise self._refuse_repetition(lease)

    async def attempt(
        self,
        lease: Lease,
        prompt: Prompt,
        messages: tuple[ChatMessage, ...],
        number: int,
        *,
        looked_at: float,
        is_a_try: bool = False,
    ) -> Attempt:
        """Make call `number` once there is room for it, at its endpoint and under the limits.

        `looked_at`: when it was last known that the experiment goes on, by `monotonic`. `is_a_try`: see `check_room`.

        Raises:
            Closed: there is no room for now.
            Held: the experiment is paused.
            CallsSpent: it has used up its limit of calls.
        """
        request = self._request(lease, prompt, messages, number)
        account = _account(lease)
        async with self._place(lease) as place:
            permit = await self._limiter.admit(
                account,
                request,
                patience_seconds=self._settings.limit_patience_seconds,
                longest_seconds=self._longest_wait_seconds(lease),
            )
            reply, view = None, None
            try:
                async with self._in_flight(lease):
                    with self._count(lease, number, is_a_try=is_a_try):
                        await self._check_again(lease, number, looked_at)
                    started_at = self._clock.now()
                    look = self._begin_to_look(lease)
                    try:
                        reply = await self._models[lease.provider].reply(request)
                    finally:
                        view = _view_from(look)
            finally:
                permit.give_back(reply)
            timeout = request.settings.timeout_seconds or DEFAULT_TIMEOUT_SECONDS
            was_crowded = place is not None and place.note(reply, timeout)
        attempt = Attempt(
            number=number,
            path=request.path,
            request=request,
            reply=storable(reply),
            started_at=started_at,
            finished_at=self._clock.now(),
            left_out=prompt.left_out,
            was_crowded=was_crowded,
            view=view,
        )
        count_call(lease, attempt)
        return attempt

    @contextmanager
    def _count(self, lease: Lease, number: int, *, is_a_try: bool) -> Iterator[None]:
        """Count the call in the budget of repetitions; not where the block raises, because then it is not made.

        Raises:
            RetriesSpent: it would be one repetition too many.
        """
        account, now = _account(lease), self._clock.now()
        is_first = number == lease.first_number
        is_repetition = is_first and _is_repetition(lease, is_a_try)
        if is_repetition and not self._budget.take(account, now):
            raise self._refuse_repetition(lease)
        try:
            yield
        except BaseException:
            if is_repetition:
                self._budget.give_back(account, now)
            raise
        if is_first and not lease.is_repeated:
            self._budget.note_call(account, now)

    def _refuse_repetition(self, lease: Lease) -> RetriesSpent:
        return RetriesSpent(_account(lease), self._budget.wait_seconds(seeds.rng(lease.seed, f"{lease.path}/wait")))

    @asynccontextmanager
    async def _in_flight(self, lease: Lease) -> AsyncIterator[None]:
        """In flight with the others, or alone for a draft with which workers have ended.

        Raises:
            Held: its lease was lost meanwhile.
        """
        if not _goes_alone(lease):
            async with self._flights.together():
                yield
            return
        async with self._flights.alone():
            if not await self._note_alone(lease, True):
                raise Held
            try:
                yield
            except Exception:
                await self._note_alone(lease, False)
                raise
            # Before another goes alone: what ends the worker then is not this call.
            await self._note_alone(lease, False)

    async def _check_again(self, lease: Lease, number: int, looked_at: float) -> None:
        """Check that the call may still be made, after a wait or another call.

        Raises:
            Held: the experiment is paused.
            CallsSpent: it has used up its limit of calls.
        """
        was_long_ago = monotonic() - looked_at > LONGEST_UNLOOKED_SECONDS
        has_waited = number > lease.first_number or was_long_ago or _goes_alone(lease)
        if has_waited and not await self._goes_on(lease):
            raise Held
        is_counted = lease.has_call_limit and lease.provider != MOCK_PROVIDER
        if is_counted and not await self._take_call(lease):
            raise CallsSpent

    def _request(self, lease: Lease, prompt: Prompt, messages: tuple[ChatMessage, ...], number: int) -> ModelRequest:
        settings, most_tokens = lease.agent.model, None
        if lease.provider != MOCK_PROVIDER:
            timeout = self._settings.timeout_of(_account(lease), settings)
            settings = settings.model_copy(update={"timeout_seconds": timeout})
            most_tokens = most_reply_tokens(settings, prompt.purpose, prompt.reply_schema)
        return ModelRequest.model_construct(
            path=_call_path(lease, number),
            seed=lease.seed,
            settings=settings,
            messages=messages,
            reply_schema=prompt.reply_schema,
            reply_name=prompt.reply_name,
            is_text=prompt.is_text,
            most_reply_tokens=most_tokens,
            purpose=prompt.purpose,
            role=lease.agent.role,
            goal=lease.agent.goal,
            backstory=lease.agent.backstory,
            stage_id=lease.stage.id,
            pace=lease.pace,
            mock=lease.agent.mock,
            hints=prompt.hints,
        )

    def _place(self, lease: Lease) -> AbstractAsyncContextManager[Place | None]:
        """A place at the endpoint: replies that others wait for go first, then repeated attempts, then new ones."""
        if lease.provider == MOCK_PROVIDER:
            return nullcontext()
        endpoint, patience = lease.agent.model.base_url or _account(lease), self._longest_wait_seconds(lease)
        new = _TRIED_BEFORE if lease.calls_made else _NEW
        rank = _AWAITED if is_urgent() or _is_awaited(lease) else new
        return self._pacer.place(endpoint, rank=rank, patience_seconds=patience)

    def _longest_wait_seconds(self, lease: Lease) -> float:
        """How long a reply waits while places become free. A reply to a conversation waits only briefly, because the
        conversation moves on."""
        settings = self._settings
        return settings.limit_patience_seconds if _is_awaited(lease) else settings.endpoint_patience_seconds

    def _begin_to_look(self, lease: Lease) -> asyncio.Task[OwnView] | None:
        """Read the view of a shared ask while its model is thinking, not after it."""

        async def look() -> OwnView:
            await asyncio.sleep(self._settings.look_seconds)
            view = await self._look(lease)
            await failpoint("ask.looked_at")
            return view

        return asyncio.create_task(look()) if parts_of(lease.stage).state is not None else None


def _view_from(look: asyncio.Task[OwnView] | None) -> OwnView | None:
    """The view that was read; None when the read failed or is not complete."""
    if look is None:
        return None
    if not look.done():
        look.cancel()
        return None
    return None if look.cancelled() or look.exception() else look.result()


def _is_awaited(lease: Lease) -> bool:
    """Whether other members wait for the reply."""
    return lease.thread_id is not None or parts_of(lease.stage).state is not None


def _call_path(lease: Lease, number: int) -> str:
    return f"{lease.path}/call:{number}"


def _is_repetition(lease: Lease, is_a_try: bool) -> bool:
    return lease.is_repeated and lease.provider != MOCK_PROVIDER and not is_a_try


def _goes_alone(lease: Lease) -> bool:
    """Whether workers have ended with this draft in hand so often that its call may be what ends them."""
    return lease.times_lost >= MOST_LOST


def _account(lease: Lease) -> str:
    return account_of(lease.provider, lease.agent.model.model)


def count_call(lease: Lease, attempt: Attempt) -> None:
    """Count one call that came to an end, whatever its reply is good for, and log it without its texts."""
    reply, provider = attempt.reply, lease.provider
    seconds = (attempt.finished_at - attempt.started_at).total_seconds()
    MODEL_CALLS.labels(provider, reply.status).inc()
    MODEL_SECONDS.labels(provider).observe(seconds)
    MODEL_TOKENS.labels(provider, "in").inc(reply.tokens_in or 0)
    MODEL_TOKENS.labels(provider, "out").inc(reply.tokens_out or 0)
    cost = cost_usd(attempt.request.settings, reply) if lease.model_mode == _REAL else None
    MODEL_COST.labels(provider).inc(float(cost or 0))
    log.info(
        "model.called",
        draft=str(lease.draft_id),
        provider=provider,
        status=reply.status,
        attempt=attempt.number,
        duration_ms=round(seconds * 1000, 1),
    )
