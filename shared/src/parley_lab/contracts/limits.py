"""Limits of a provider's key that all workers of a lab share: their configuration, and the share of each worker. Pure.

A worker leases calls in flight, and takes requests and tokens for the next two seconds, in blocks. What is taken counts
as used at once, so that all workers together stay within the limit; unused parts are returned.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from parley_lab.base.errors import SettingsInvalid

LIMITS_VARIABLE: Final = "PARLEY_LIMITS"
PERMIT_SECONDS: Final = 2.0
"""For how long a request or token that was taken may be used."""
WINDOW_SECONDS: Final = 60.0 + PERMIT_SECONDS
"""For how long a request or token counts: whatever is used within 60 seconds was taken within this time."""
LEASE_SECONDS: Final = 30.0
"""The lease of a silent worker expires after so long, and its calls no longer count."""
RECHECK_SECONDS: Final = 0.25
RETURN_SECONDS: Final = 15.0
"""Room is kept for so long beyond the wait of a call that was sent away to come again."""

_LEAST_APART_SECONDS: Final = 1e-3

Json = Any


class Limit(BaseModel):
    """The limits of one key, or of one model with that key; a limit that is left out does not apply."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    concurrent_calls: int | None = Field(default=None, ge=1, le=100_000)
    requests_per_minute: int | None = Field(default=None, ge=1, le=10_000_000)
    tokens_per_minute: int | None = Field(default=None, ge=1, le=10_000_000_000)


def read_limits(environ: Mapping[str, str]) -> dict[str, Limit]:
    """The limits by name: an account (`openai`) or a model of it (`openai/gpt-4.1-mini`).

    Raises:
        SettingsInvalid: the variable is not JSON of that shape; the message names every place.
    """
    written = environ.get(LIMITS_VARIABLE, "").strip()
    if not written:
        return {}
    try:
        return TypeAdapter(dict[str, Limit]).validate_json(written)
    except ValidationError as error:
        wrong = [
            f"  {LIMITS_VARIABLE}: {'.'.join(map(str, each['loc'])) or 'the whole'}: {each['msg']}"
            for each in error.errors(include_input=False, include_url=False)
        ]
        raise SettingsInvalid("These settings are missing or wrong:\n" + "\n".join(wrong)) from error


def names_of(account: str, model: str) -> tuple[str, str]:
    """The names of the limits of a call, the narrower one first."""
    return (model if model.startswith(f"{account}/") else f"{account}/{model}"), account


@dataclass(frozen=True, slots=True)
class Demand:
    """The calls and requests that one worker has, returns and wants. It keeps `held` calls; `wanted` are in addition.

    `first_tokens`: what the first call in its queue still needs. `next_tokens`: what the smallest of the others needs;
    fewer are of no use. `least_tokens`: the size of the smallest calls lately. `reserve_tokens`: the size of the call
    for which room is kept while there is none; 0: for no call. `owed_tokens`: used beyond what was taken; below zero,
    taken and not used, without a known time. `returned`: unused requests and tokens, by the second in which they were
    taken.
    """

    worker: str
    held: int = 0
    wanted: int = 0
    requests: int = 0
    tokens: int = 0
    first_tokens: int = 0
    owed_tokens: int = 0
    returned: Sequence[tuple[int, int, int]] = ()
    reserve_tokens: int = 0
    next_tokens: int = 0
    least_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Grant:
    """The share of the worker from now on: its calls, of which it keeps at most `most_calls` at the end, and rates.

    `wait_seconds`: when to ask again for the first call in the queue. `next_wait_seconds`: for the smallest of the
    others. `least_wait_seconds`: when there is room for small calls.
    """

    calls: int
    most_calls: int
    second: int
    requests: int
    tokens: int
    wait_seconds: float
    next_wait_seconds: float
    least_wait_seconds: float


def exchange(state: Json, limit: Limit, demand: Demand, now: float) -> tuple[Json, Grant]:
    """Meet the demand as far as possible; returns the new state and the worker's share.

    A call for whose tokens there is no room reserves them: other calls may take what is left beside it, and it gets in
    once the tokens of the last minute have expired. Reservations are served one at a time, the oldest first.

    state: as stored under this limit's name; `{}` at first. now: seconds.
    """
    others = {
        name: holder
        for name, holder in state.get("holders", {}).items()
        if holder["until"] > now and name != demand.worker
    }
    rivals = sum(1 for holder in others.values() if holder["wants"])
    since = _waiting_since(state.get("holders", {}).get(demand.worker), demand, now)
    calls, most_calls = _calls(limit, others, demand, since)
    spent = _spent(state, demand, now)
    requests, requests_wait = _share_requests(limit.requests_per_minute, spent, demand.requests, rivals, now)
    reserved = _read_reservations(state, demand, now)
    tokens, tokens_waits = _share_tokens(limit.tokens_per_minute, spent, reserved, demand, rivals, now)
    second = int(now)
    used = spent.setdefault(second, [0, 0])
    used[0] += requests
    used[1] += tokens + max(0, demand.owed_tokens)
    wants = demand.wanted > 0
    if wants or calls:
        others[demand.worker] = {"calls": calls, "wants": wants, "since": since, "until": now + LEASE_SECONDS}
    after = {"holders": others, "spent": {str(at): amounts for at, amounts in spent.items() if any(amounts)}}
    if reserved:
        after["reserved"] = reserved
    missing_calls = RECHECK_SECONDS if demand.wanted > calls - demand.held else 0.0
    waits = (max(missing_calls, requests_wait, tokens_wait) for tokens_wait in tokens_waits)
    return after, Grant(calls, most_calls, second, requests, tokens, *waits)


def _waiting_since(before: Json, demand: Demand, now: float) -> float | None:
    """Since when the worker has wanted a call and had none."""
    if demand.held or not demand.wanted:
        return None
    is_waiting = before is not None and before["since"] is not None and before["until"] > now
    return float(before["since"]) if is_waiting else now


def _calls(limit: Limit, others: Mapping[str, Json], demand: Demand, since: float | None) -> tuple[int, int]:
    """How many calls the worker has now, and how many it may keep."""
    if limit.concurrent_calls is None:
        return demand.held + demand.wanted, demand.held + demand.wanted
    waiting = [holder["since"] for holder in others.values() if holder["since"] is not None]
    rivals = sum(1 for holder in others.values() if holder["wants"])
    free = max(0, limit.concurrent_calls - demand.held - sum(holder["calls"] for holder in others.values()))
    # A worker without calls goes first, the longest wait before the others.
    ahead = sum(1 for at in waiting if since is None or at < since)
    share = math.ceil(limit.concurrent_calls / (1 + rivals))
    granted = max(0, min(demand.wanted, free - ahead, share - demand.held))
    calls = demand.held + granted
    if len(waiting) > free - granted:
        return calls, max(0, min(share, calls - 1))
    return calls, share


def _spent(state: Json, demand: Demand, now: float) -> dict[int, list[int]]:
    """Requests and tokens in the window, by the second in which they were taken."""
    spent = {
        int(at): [int(amounts[0]), int(amounts[1])]
        for at, amounts in state.get("spent", {}).items()
        if int(at) > now - WINDOW_SECONDS - 1
    }
    for second, requests, tokens in demand.returned:
        if second in spent:
            spent[second] = [max(0, spent[second][0] - requests), max(0, spent[second][1] - tokens)]
    credit = max(0, -demand.owed_tokens)
    for second in sorted(spent):
        # From the oldest, which expire first, so that a return cannot be used to gain more.
        taken = min(credit, spent[second][1])
        spent[second][1] -= taken
        credit -= taken
    return spent


def _read_reservations(state: Json, demand: Demand, now: float) -> dict[str, Json]:
    """The reservations of tokens by worker; a worker that keeps room for no call has none."""
    return {
        name: dict(kept)
        for name, kept in state.get("reserved", {}).items()
        if kept["until"] > now and (name != demand.worker or demand.reserve_tokens)
    }


def _share_requests(
    limit: int | None, spent: Mapping[int, Sequence[int]], wanted: int, rivals: int, now: float
) -> tuple[int, float]:
    """The granted requests, and the seconds until there is one."""
    if limit is None or wanted <= 0:
        return max(0, wanted), 0.0
    left = limit - sum(amounts[0] for amounts in spent.values())
    granted = min(wanted, left, max(1, math.ceil(left / (1 + rivals))))
    return (granted, 0.0) if granted >= 1 else (0, _seconds_until(1, left, spent, 0, now))


def _share_tokens(
    limit: int | None,
    spent: Mapping[int, Sequence[int]],
    reserved: dict[str, Json],
    demand: Demand,
    rivals: int,
    now: float,
) -> tuple[int, tuple[float, float, float]]:
    """The granted tokens, and the waits of the first call, the smallest of the others, and small calls in general.

    Adds the worker's reservation to `reserved`, or removes it.
    """
    if limit is None:
        return max(0, demand.tokens), (0.0, 0.0, 0.0)
    first, following, least = (
        min(each, limit) for each in (demand.first_tokens, demand.next_tokens, demand.least_tokens)
    )
    left = limit - sum(amounts[1] for amounts in spent.values())
    share = math.ceil(left / (1 + rivals))
    room = _Room(limit, left, spent, reserved, now)
    first_wait = room.seconds_until(first, demand.worker)
    if first_wait == 0:
        if demand.first_tokens:
            reserved.pop(demand.worker, None)
        most = max(first, min(room.beside(), share))
    else:
        if demand.reserve_tokens:
            kept = reserved.setdefault(demand.worker, _new_reservation(spent, reserved, now))
            kept |= {"tokens": min(demand.reserve_tokens, limit), "until": now + first_wait + RETURN_SECONDS}
        most = min(room.beside(), max(following, share)) if following else 0
        most = most if most >= following else 0
    wanted = demand.tokens if first_wait == 0 else max(following, demand.tokens - demand.first_tokens)
    granted = max(0, min(wanted, most))
    after = _Room(limit, left - granted, spent, reserved, now, granted)
    next_wait = 0.0 if granted >= following + (first if first_wait == 0 else 0) else after.seconds_until(following)
    return granted, (first_wait, next_wait, after.seconds_until(least))


def _new_reservation(spent: Mapping[int, Sequence[int]], reserved: Mapping[str, Json], now: float) -> dict[str, float]:
    """The last in turn, whatever the clocks of other workers say; `before`: what was taken in its second before it."""
    latest = max((kept["since"] for kept in reserved.values()), default=0.0)
    since = max(now, latest + _LEAST_APART_SECONDS)
    return {"since": since, "before": spent.get(int(since), (0, 0))[1]}


@dataclass(frozen=True, slots=True)
class _Room:
    """The tokens that are left, and the reservation that is served next; `granted` of this moment are in `left`."""

    limit: int
    left: int
    spent: Mapping[int, Sequence[int]]
    reserved: Mapping[str, Json]
    now: float
    granted: int = 0

    def beside(self) -> int:
        """The tokens for calls other than the one that has reserved."""
        return self.left if self._turn() is None else min(self.left, self._beside_turn())

    def seconds_until(self, tokens: int, worker: str | None = None) -> float:
        """When so many tokens are there for a call; `worker`: for the one that this worker has reserved for, if any."""
        turn = self._turn()
        is_own = turn is None or turn == worker
        if tokens <= max(0, self.left if is_own else self.beside()):
            return 0.0
        expired = _seconds_until(tokens, self.left, self.spent, 1, self.now)
        if is_own or turn is None or tokens <= self._beside_turn():
            return expired
        kept = self.reserved[turn]
        served = float(kept["since"]) + 1 + WINDOW_SECONDS
        return max(RECHECK_SECONDS, (served if served > self.now else float(kept["until"])) - self.now)

    def _turn(self) -> str | None:
        return min(self.reserved, key=lambda name: self.reserved[name]["since"], default=None)

    def _beside_turn(self) -> int:
        """The tokens for calls since the reservation, so that it fits when all that was taken before has expired."""
        kept = self.reserved[str(self._turn())]
        since = int(kept["since"])
        after = sum(amounts[1] for second, amounts in self.spent.items() if second > since)
        in_its_second = max(0, self.spent.get(since, (0, 0))[1] - kept["before"])
        return int(self.limit - kept["tokens"] - after - in_its_second - self.granted)


def _seconds_until(wanted: int, left: int, spent: Mapping[int, Sequence[int]], which: int, now: float) -> float:
    """When so many are left, as what was taken expires."""
    for second in sorted(spent):
        left += spent[second][which]
        if left >= wanted:
            return max(RECHECK_SECONDS, second + 1 + WINDOW_SECONDS - now)
    return WINDOW_SECONDS
