"""Decides whether a call may go out with its key, and what happens to a draft whose key was refused."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

import structlog

from parley_lab.agent_worker.attempts import Attempt, call_row
from parley_lab.agent_worker.models import Closed
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.told import Told
from parley_lab.base.clock import Clock
from parley_lab.base.errors import Unavailable
from parley_lab.contracts.key_rules import (
    LONG_WAIT,
    PROVES_NOTHING,
    TRY_EVERY,
    WAITS,
    Gate,
    after_acceptance,
    after_long_wait,
    after_refusal,
    gate_names,
    may_try,
    paused_in_words,
    was_refused_for_itself,
    with_acceptance,
)
from parley_lab.contracts.models import KEY_FAULTS, ModelReply
from parley_lab.contracts.providers import MOCK_PROVIDER, account_of
from parley_lab.drafts import called_keys, drafts
from parley_lab.drafts.called_keys import KEY_PAUSED
from parley_lab.kinds.stages import parts_of
from parley_lab.members.alerts import raise_alert, resolve_alerts
from parley_lab.store.session import Database, Session

log = structlog.get_logger(__name__)

DOUBT_SECONDS: Final = 2.0
"""How long one refused call waits for the outcome of other calls with the key."""
_OF_ALL_CALLS: Final = (400, 401, 403, 422)
"""HTTP statuses about the form of a call or access to its model, which all calls of a model share."""
_DOUBT_LASTS: Final = timedelta(minutes=1)
_TRY_MARGIN: Final = timedelta(seconds=30)
_STOPPED: Final = timedelta(seconds=10)
"""How long a refused first call keeps its experiment from making other calls; the run is stopped within that time."""

Outcome = Literal["goes on", "waits", "in doubt", "is its own"]
"""The effect of a call on its draft. `goes on`: as usual. `waits`: the key was refused and the draft waits for it.
`in doubt`: the refusal is looked at again soon. `is its own`: the call failed for reasons of its own."""


class WaitsForKey(Exception):
    """The draft was put back and waits until its key is accepted."""


class RefusedForItself(Exception):
    """The provider refused this call while it accepted the key for others; the message is its reply."""


_Alert = tuple[UUID, str]
"""The experiment and the path of an alert."""


@dataclass(frozen=True, slots=True)
class Pass:
    """The right to call through the gates; `until` is when a call that tries a closed gate is over at the latest."""

    names: Sequence[str] = ()
    until: datetime | None = None

    @property
    def is_a_try(self) -> bool:
        return self.until is not None


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A refusal that may concern only its own call."""

    called_at: datetime
    reason: str
    fault: str


class Keys:
    """The gates of the keys that this process uses, in memory. The gates in the database hold the truth."""

    def __init__(self, database: Database, clock: Clock, settings: WorkerSettings) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings
        self._first_alone = settings.first_calls_alone
        self._gates: dict[str, Gate] = {}
        self._in_doubt: dict[UUID, _Doubt] = {}
        self._stopped: dict[UUID, datetime] = {}
        self._told = Told()

    async def enter(self, lease: drafts.Lease) -> Pass:
        """The pass for the call of this draft; give it to `leave` in the end.

        Raises:
            WaitsForKey: another draft tries the key or the model first.
            RefusedForItself: the call that was in doubt failed for reasons of its own.
            Closed: this experiment makes no calls for now.
        """
        if lease.provider == MOCK_PROVIDER:
            return Pass()
        self._check_stopped(lease)
        model = lease.agent.model
        names: Sequence[str] = gate_names(account_of(lease.provider, model.model), model.model, model.base_url)
        if not self._first_alone:
            # Only a first call has a gate for its model.
            names = names[:1]
        self._settle_doubt(lease, names[0])
        if all(self._gate_of(name).is_open for name in names):
            return Pass(names)
        return await self._try(lease, names)

    async def leave(self, way: Pass) -> None:
        """Release a try that was not made; while Postgres is away it stays taken until it would have been over."""
        if way.until is not None:
            with suppress(Unavailable):
                async with self._database.transaction() as session:
                    await called_keys.leave(session, way.names, self._clock.now(), way.until)

    async def note(self, lease: drafts.Lease, way: Pass, attempt: Attempt) -> Outcome:
        """Record the outcome of a call. A draft that waits or is in doubt is put back, with its call.

        Only a failed call, or one that opens a gate again, needs the database.
        """
        if lease.provider == MOCK_PROVIDER:
            return "goes on"
        status = attempt.reply.status
        if status in KEY_FAULTS or self._is_turned_down_at_once(way, attempt.reply):
            return await self._record_refusal(lease, way, attempt)
        if _asks_for_a_long_wait(attempt.reply) and await self._wait_as_asked(lease, way.names[0], attempt):
            self._in_doubt.pop(lease.draft_id, None)
            return "waits"
        passed = way.names
        if status in PROVES_NOTHING:
            if way.is_a_try and any(self._gate_of(name).paused_at for name in way.names):
                return await self._try_in_vain(lease, way, attempt)
            passed = [name for name in way.names if self._gate_of(name).is_new]
        self._in_doubt.pop(lease.draft_id, None)
        await self._record_acceptance(passed, attempt.started_at)
        return "goes on"

    def _is_turned_down_at_once(self, way: Pass, reply: ModelReply) -> bool:
        """Whether a first call is refused in a way that all calls would be: the run stops before it makes them."""
        is_first = not all(self._gate_of(name).is_tried for name in way.names)
        return is_first and reply.status == "bad_request" and reply.http_status in _OF_ALL_CALLS

    async def look(self) -> None:
        """Read what other processes have found out, and report which keys were accepted here meanwhile."""
        now = self._clock.now()
        self._in_doubt = {id: doubt for id, doubt in self._in_doubt.items() if now - doubt.called_at < _DOUBT_LASTS}
        async with self._database.transaction() as session:
            found = await called_keys.gates(session)
        for gate in found:
            mine = self._gate_of(gate.name).accepted_at
            self._gates[gate.name] = gate
            if mine is not None:
                await self._record_acceptance([gate.name], mine)

    async def have_tried(self) -> None:
        """Announce a draft for each closed gate that is due for a try; one process gets through."""
        now = self._clock.now()
        for name in [gate.name for gate in self._gates.values() if not gate.is_open and may_try(gate, now)]:
            async with self._database.transaction() as session:
                await called_keys.release_one(session, name, now)

    def _gate_of(self, name: str) -> Gate:
        return self._gates.get(name) or Gate(name, is_tried=not self._first_alone)

    def _check_stopped(self, lease: drafts.Lease) -> None:
        until = self._stopped.get(lease.experiment_id)
        if until is not None and until > self._clock.now():
            raise Closed("the key that was refused", _STOPPED.total_seconds())

    async def _try(self, lease: drafts.Lease, names: Sequence[str]) -> Pass:
        """The one try of closed gates; a pass without a try for drafts that need not wait."""
        now = self._clock.now()
        until = now + self._longest_try(lease)
        alert: _Alert | None = None
        async with self._database.transaction() as session:
            gates, closed = await called_keys.enter(session, names, now, until, first_alone=self._first_alone)
            waits = closed is not None and await self._holds(session, lease, closed, now)
            if closed is not None and waits:
                await called_keys.wait_before(session, lease, closed, now)
                alert = await self._tell(session, lease, closed, now)
        self._note_told(alert)
        self._learn(gates)
        if waits:
            raise WaitsForKey
        is_a_try = closed is None and any(not gate.is_open for gate in gates)
        return Pass(names, until if is_a_try else None)

    def _longest_try(self, lease: drafts.Lease) -> timedelta:
        """How long a try of a gate takes at most, its wait for room included; after it the worker is taken for dead."""
        model, settings = lease.agent.model, self._settings
        timeout = settings.timeout_of(account_of(lease.provider, model.model), model)
        return timedelta(seconds=timeout + settings.endpoint_patience_seconds) + _TRY_MARGIN

    async def _holds(self, session: Session, lease: drafts.Lease, closed: Gate, now: datetime) -> bool:
        """Whether the draft waits for the gate. While a first call is tried, all drafts wait; after a refusal, until
        the run has had the time to stop."""
        if not closed.is_tried and (closed.paused_at is None or now < closed.paused_at + _STOPPED):
            return True
        return await self._can_wait(session, lease)

    async def _can_wait(self, session: Session, lease: drafts.Lease) -> bool:
        """Whether the draft can wait without holding up a conversation or a person."""
        if lease.ask_id is None:
            return False
        is_shared = parts_of(lease.stage).state is not None
        return not await called_keys.is_awaited(session, lease.member_id, lease.stage.id, is_shared=is_shared)

    def _settle_doubt(self, lease: drafts.Lease, key: str) -> None:
        """Do not repeat a call that failed for reasons of its own; always repeat one that did not connect."""
        doubt = self._in_doubt.get(lease.draft_id)
        if doubt is None or doubt.fault == "unreachable":
            return
        if was_refused_for_itself(self._gate_of(key), doubt.called_at):
            self._in_doubt.pop(lease.draft_id)
            raise RefusedForItself(doubt.reason)

    async def _record_acceptance(self, names: Sequence[str], called_at: datetime) -> None:
        """The call came through: record it here, and in the rows of closed gates."""
        before = [self._gate_of(name) for name in names]
        self._learn([after_acceptance(gate, called_at) for gate in before])
        doubtful = [gate.name for gate in before if not gate.is_open or gate.refusals]
        if not doubtful:
            return
        now = self._clock.now()
        async with self._database.transaction() as session:
            locked = [await self._lock_gate(session, name) for name in doubtful]
            after = [after_acceptance(gate, called_at) for gate in locked]
            for was, gate in zip(locked, after, strict=True):
                await called_keys.keep(session, gate)
                if gate.is_open and not was.is_open:
                    await called_keys.release(session, gate, now)
                    if was.paused_at is not None:
                        await resolve_alerts(session, KEY_PAUSED, now, path=_alert_path(was))
        self._learn(after)

    async def _record_refusal(self, lease: drafts.Lease, way: Pass, attempt: Attempt) -> Outcome:
        """Write gates, call and draft in one transaction, so that the process that opens a gate finds the draft."""
        now, reply, called_at = self._clock.now(), attempt.reply, attempt.started_at
        came_back = {"fault": reply.status, "reason": reply.error or reply.status, "asked": lease.member_path}
        async with self._database.transaction() as session:
            key, *others = [await self._lock_gate(session, name) for name in way.names]
            # This process has seen it and not yet written it, because the gate was open.
            key = with_acceptance(key, self._gate_of(key.name).accepted_at)
            is_at_fault = reply.status in KEY_FAULTS
            refused = [gate for gate in (key, *others) if not gate.is_open or (is_at_fault and gate is key)]
            after = [after_refusal(gate, called_at, **came_back, now=now, was_a_try=way.is_a_try) for gate in refused]
            for gate in after:
                await called_keys.keep(session, gate)
            paused = next((gate for gate in after if gate.paused_at is not None), None)
            outcome = await self._outcome(session, lease, key, paused)
            await self._put_back(session, lease, attempt, outcome, paused, now)
            alert = None if paused is None else await self._tell(session, lease, paused, now)
        self._note_told(alert)
        self._learn(after)
        if paused is not None and not paused.is_tried:
            self._stopped[lease.experiment_id] = now + _STOPPED
        if outcome == "in doubt":
            self._in_doubt[lease.draft_id] = _Doubt(called_at, _why_refused(attempt), reply.status)
        else:
            self._in_doubt.pop(lease.draft_id, None)
        log.warning("key.refused", key=key.name, fault=reply.status, is_paused=paused is not None)
        return outcome

    async def _wait_as_asked(self, lease: drafts.Lease, name: str, attempt: Attempt) -> bool:
        """Pause the key until the provider takes calls again; False for drafts that cannot wait."""
        now, reply = self._clock.now(), attempt.reply
        until = attempt.finished_at + timedelta(seconds=reply.retry_after_seconds or 0)
        told = {"fault": reply.status, "reason": _why_refused(attempt), "asked": lease.member_path}
        async with self._database.transaction() as session:
            if not await self._can_wait(session, lease):
                return False
            key = after_long_wait(await self._lock_gate(session, name), until=until, now=now, **told)
            await called_keys.keep(session, key)
            await drafts.save_call(session, call_row(lease, attempt))
            await called_keys.wait_before(session, lease, key, now, free_calls=1)
            alert = await self._tell(session, lease, key, now)
        self._note_told(alert)
        self._learn([key])
        log.warning("key.waits", key=name, fault=reply.status, until=until.isoformat())
        return True

    async def _outcome(self, session: Session, lease: drafts.Lease, key: Gate, paused: Gate | None) -> Outcome:
        was_first = paused is not None and not paused.is_tried
        if not was_first and not await self._can_wait(session, lease):
            return "goes on"
        if paused is not None:
            return "waits"
        before = self._in_doubt.get(lease.draft_id)
        if before is None or key.accepted_at is None or key.accepted_at <= before.called_at:
            return "in doubt"
        # Refused a second time, while the key was accepted for others.
        return "goes on" if before.fault == "unreachable" else "is its own"

    async def _put_back(
        self,
        session: Session,
        lease: drafts.Lease,
        attempt: Attempt,
        outcome: Outcome,
        paused: Gate | None,
        now: datetime,
    ) -> None:
        if outcome not in ("waits", "in doubt"):
            return
        await drafts.save_call(session, call_row(lease, attempt))
        if paused is not None:
            await called_keys.wait_before(session, lease, paused, now, free_calls=1)
            return
        again_at = now + timedelta(seconds=DOUBT_SECONDS)
        await drafts.give_back(session, lease, again_at, _why_refused(attempt), counts=False, free_calls=1)

    async def _try_in_vain(self, lease: drafts.Lease, way: Pass, attempt: Attempt) -> Outcome:
        """Leave the gates closed after a call that proves nothing; the draft waits if it can."""
        now, asked_for = self._clock.now(), timedelta(seconds=attempt.reply.retry_after_seconds or 0)
        next_try_at = max(attempt.started_at + TRY_EVERY, attempt.finished_at + asked_for)
        async with self._database.transaction() as session:
            gates = [await self._lock_gate(session, name) for name in way.names]
            paused = [replace(gate, next_try_at=next_try_at) for gate in gates if gate.paused_at is not None]
            for gate in paused:
                await called_keys.keep(session, gate)
            waits = bool(paused) and await self._can_wait(session, lease)
            if waits:
                await drafts.save_call(session, call_row(lease, attempt))
                await called_keys.wait_before(session, lease, paused[0], now, free_calls=1)
        self._learn(paused)
        return "waits" if waits else "goes on"

    async def _tell(self, session: Session, lease: drafts.Lease, gate: Gate, now: datetime) -> _Alert | None:
        """Raise the alert of a paused key once in each experiment that uses it; to be noted after the commit."""
        if gate.paused_at is None:
            return None
        told = lease.experiment_id, _alert_path(gate)
        if told in self._told:
            return None
        await raise_alert(
            session,
            experiment_id=lease.experiment_id,
            path=_alert_path(gate),
            alert_type=KEY_PAUSED,
            text=paused_in_words(gate),
            now=now,
        )
        return told

    def _note_told(self, alert: _Alert | None) -> None:
        if alert is not None:
            self._told.add(*alert)

    async def _lock_gate(self, session: Session, name: str) -> Gate:
        return await called_keys.locked_gate(session, name, is_tried=not self._first_alone)

    def _learn(self, gates: Sequence[Gate]) -> None:
        self._gates.update({gate.name: gate for gate in gates})


def _asks_for_a_long_wait(reply: ModelReply) -> bool:
    wait = reply.retry_after_seconds
    return reply.status in WAITS and wait is not None and timedelta(seconds=wait) > LONG_WAIT


def _why_refused(attempt: Attempt) -> str:
    return attempt.reply.error or attempt.reply.status


def _alert_path(gate: Gate) -> str:
    return f"key:{gate.name}/{gate.paused_at:%Y%m%dT%H%M%S.%f}"
