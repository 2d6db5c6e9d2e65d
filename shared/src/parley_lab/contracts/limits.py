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

    `first_tokens`: what the first call in its queue still needs; fewer are of no use. `owed_tokens`: used beyond what
    was taken; below zero, taken and not used, without a known time. `returned`: unused requests and tokens, by the
    second in which they were taken.
    """

    worker: str
    held: int = 0
    wanted: int = 0
    requests: int = 0
    tokens: int = 0
    first_tokens: int = 0
    owed_tokens: int = 0
    returned: Sequence[tuple[int, int, int]] = ()


@dataclass(frozen=True, slots=True)
class Grant:
    """The share of the worker from now on: its calls, of which it keeps at most `most_calls` at the end, and rates.

    `wait_seconds`: when to ask again for the rest.
    """

    calls: int
    most_calls: int
    second: int
    requests: int
    tokens: int
    wait_seconds: float


def exchange(state: Json, limit: Limit, demand: Demand, now: float) -> tuple[Json, Grant]:
    """Meet the demand as far as possible; returns the new state and the worker's share.

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
    requests, requests_wait = _rate(
        limit.requests_per_minute, spent, 0, demand.requests, min(1, demand.requests), rivals, now
    )
    tokens, tokens_wait = _rate(limit.tokens_per_minute, spent, 1, demand.tokens, demand.first_tokens, rivals, now)
    second = int(now)
    used = spent.setdefault(second, [0, 0])
    used[0] += requests
    used[1] += tokens + max(0, demand.owed_tokens)
    wants = demand.wanted > 0
    if wants or calls:
        others[demand.worker] = {"calls": calls, "wants": wants, "since": since, "until": now + LEASE_SECONDS}
    after = {"holders": others, "spent": {str(at): amounts for at, amounts in spent.items() if any(amounts)}}
    missing_calls = RECHECK_SECONDS if demand.wanted > calls - demand.held else 0.0
    wait = max(missing_calls, requests_wait, tokens_wait)
    return after, Grant(calls, most_calls, second, requests, tokens, wait)


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


def _rate(
    limit: int | None, spent: Mapping[int, Sequence[int]], which: int, wanted: int, first: int, rivals: int, now: float
) -> tuple[int, float]:
    """The granted part of a rate, and the seconds until there is enough for the first call in the queue."""
    if limit is None or wanted <= 0:
        return max(0, wanted), 0.0
    first = min(first, limit)
    left = limit - sum(amounts[which] for amounts in spent.values())
    fair = max(first, math.ceil(left / (1 + rivals)))
    granted = min(wanted, left, fair)
    if granted >= first:
        return granted, 0.0
    for second in sorted(spent):
        left += spent[second][which]
        if left >= first:
            return 0, max(RECHECK_SECONDS, second + 1 + WINDOW_SECONDS - now)
    return 0, WINDOW_SECONDS
