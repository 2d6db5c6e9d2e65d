"""Limits that workers share: whatever they demand and whenever they die, no more is given than there is."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley_lab.base.errors import SettingsInvalid
from parley_lab.contracts.limits import LEASE_SECONDS, PERMIT_SECONDS, Demand, Limit, exchange, names_of, read_limits

START = 1_000_000.0
TOKENS = Limit(tokens_per_minute=1_000)
KEY = Limit(concurrent_calls=7, requests_per_minute=20, tokens_per_minute=1_000)


@dataclass
class Worker:
    """One that keeps to the rules; it may die at any time."""

    name: str
    calls: int = 0
    most_calls: int = 0
    leased_until: float = 0.0
    lots: list[tuple[int, float, int, int]] = field(default_factory=list)


STEPS = st.lists(
    st.tuples(
        st.sampled_from("abcd"),
        st.floats(0, 20),
        st.integers(0, 12),
        st.integers(0, 30),
        st.integers(0, 1_500),
        st.floats(0, PERMIT_SECONDS),
        st.booleans(),
    ),
    max_size=40,
)


@settings(max_examples=300)
@given(STEPS)
def test_no_set_of_workers_gets_more_than_there_is(steps: list[tuple[str, float, int, int, int, float, bool]]) -> None:
    state: Any = {}
    now = START
    workers: dict[str, Worker] = {}
    used: list[tuple[float, int, int]] = []
    for name, pause, wanted, requests, tokens, use_after, dies in steps:
        now += pause
        worker = workers.setdefault(name, Worker(name))
        returned = [(second, r, t) for second, until, r, t in worker.lots if until <= now]
        worker.lots = [lot for lot in worker.lots if lot[1] > now]
        held = min(worker.calls, worker.most_calls) if now < worker.leased_until else 0
        demand = Demand(name, held, wanted, requests, tokens, min(tokens, 200), returned=returned)

        state, grant = exchange(state, KEY, demand, now)

        worker.calls, worker.most_calls, worker.leased_until = grant.calls, grant.most_calls, now + LEASE_SECONDS
        if use_after < 1:
            worker.lots.append((grant.second, now + PERMIT_SECONDS, grant.requests, grant.tokens))
        else:
            used.append((now + use_after, grant.requests, grant.tokens))
        if dies:
            workers[name] = Worker(name)
        in_flight = sum(each.calls for each in workers.values() if now < each.leased_until)
        assert in_flight <= 7
    for at, _, _ in used:
        within = [one for one in used if at - 60 < one[0] <= at]
        assert sum(requests for _, requests, _ in within) <= 20
        assert sum(tokens for _, _, tokens in within) <= 1_000


def test_a_worker_alone_gets_everything_and_gives_back_what_it_has_not_used() -> None:
    state, first = exchange({}, KEY, Demand("a", wanted=9, requests=25, tokens=3_000, first_tokens=100), START)
    state, none = exchange(state, KEY, Demand("b", wanted=1, requests=1, tokens=10, first_tokens=10), START + 1)
    back = Demand("a", held=0, returned=[(first.second, 5, 400)])
    state, _ = exchange(state, KEY, back, START + 3)

    _, again = exchange(state, KEY, Demand("b", wanted=1, requests=9, tokens=900, first_tokens=10), START + 3)

    assert (first.calls, first.requests, first.tokens) == (7, 20, 1_000)
    assert (none.calls, none.requests, none.tokens) == (0, 0, 0)
    assert none.wait_seconds > 50
    assert (again.calls, again.requests, again.tokens) == (1, 5, 400)


def test_the_minute_is_over_for_what_was_taken_a_minute_ago() -> None:
    demand = Demand("a", wanted=1, requests=20)
    state, _ = exchange({}, KEY, demand, START)
    _, early = exchange(state, KEY, demand, START + 62)

    _, late = exchange(state, KEY, demand, START + 63)

    assert (early.requests, late.requests) == (0, 20)
    _, asked = exchange(state, KEY, demand, START + 10)
    assert asked.wait_seconds == pytest.approx(53)


def test_tokens_that_were_guessed_wrong_are_put_right() -> None:
    state, _ = exchange({}, KEY, Demand("a", tokens=600, first_tokens=600), START)
    more, _ = exchange(state, KEY, Demand("a", owed_tokens=300), START + 1)
    less, _ = exchange(state, KEY, Demand("a", owed_tokens=-500), START + 1)

    _, after_more = exchange(more, KEY, Demand("b", tokens=900, first_tokens=1), START + 2)
    _, after_less = exchange(less, KEY, Demand("b", tokens=900, first_tokens=1), START + 2)

    assert (after_more.tokens, after_less.tokens) == (100, 900)


@settings(max_examples=15)
@given(st.integers(1, 1_000), st.lists(st.integers(1, 300), min_size=1, max_size=4), st.integers(2, 9))
def test_a_call_of_any_size_gets_in_a_minute_after_those_that_had_no_room_before_it(
    size: int, others: list[int], every: int
) -> None:
    state: Any = {}
    used: list[tuple[int, int]] = []
    served_at = None
    longest = (len(others) + 1) * 64 + 2 * every
    for second in range(0, 70 + longest, every):
        for number, tokens in enumerate(others):
            asked = Demand(f"w{number}", tokens=tokens, first_tokens=tokens, reserve_tokens=tokens, least_tokens=1)
            state, grant = exchange(state, TOKENS, asked, START + second)
            used.append((second, grant.tokens))
        if second >= 70 and served_at is None:
            big = Demand("big", tokens=size, first_tokens=size, reserve_tokens=size)
            state, grant = exchange(state, TOKENS, big, START + second)
            used.append((second, grant.tokens))
            served_at = second if grant.tokens else None

    assert served_at is not None
    for second, _ in used:
        assert sum(tokens for at, tokens in used if second - 60 < at <= second) <= 1_000


def test_calls_go_on_beside_one_that_waits_for_its_tokens() -> None:
    state, _ = exchange({}, TOKENS, Demand("a", tokens=500, first_tokens=500), START)
    big = Demand("big", tokens=830, first_tokens=800, next_tokens=30, least_tokens=30, reserve_tokens=800)
    state, beside = exchange(state, TOKENS, big, START + 1)
    small = Demand("b", tokens=300, first_tokens=10, least_tokens=10)
    state, other = exchange(state, TOKENS, small, START + 2)
    state, shut = exchange(state, TOKENS, small, START + 3)
    _, served = exchange(state, TOKENS, big, START + 63)

    assert (beside.tokens, beside.next_wait_seconds, beside.least_wait_seconds) == (30, 0, 0)
    assert other.tokens == 170
    assert shut.tokens == 0
    assert shut.least_wait_seconds == pytest.approx(61)
    assert served.tokens == 800


def test_places_of_a_dead_worker_are_free_when_its_lease_has_run_out() -> None:
    state, _ = exchange({}, KEY, Demand("dead", wanted=7), START)
    demand = Demand("alive", wanted=3)
    state, early = exchange(state, KEY, demand, START + LEASE_SECONDS - 1)

    _, late = exchange(state, KEY, demand, START + LEASE_SECONDS)

    assert (early.calls, late.calls) == (0, 3)


def test_a_worker_that_waits_is_given_its_share_by_those_who_have_more() -> None:
    state, greedy = exchange({}, KEY, Demand("greedy", wanted=50), START)
    state, waits = exchange(state, KEY, Demand("poor", wanted=50), START + 1)
    state, told = exchange(state, KEY, Demand("greedy", held=greedy.calls, wanted=43), START + 2)
    state, shrunk = exchange(state, KEY, Demand("greedy", held=told.most_calls, wanted=43), START + 3)

    _, served = exchange(state, KEY, Demand("poor", wanted=50), START + 3)

    assert (greedy.calls, waits.calls) == (7, 0)
    assert told.most_calls == 4
    assert shrunk.calls == 4
    assert served.calls == 3


def test_the_longest_wait_is_served_first_when_there_are_fewer_places_than_workers() -> None:
    one = Limit(concurrent_calls=1)
    state: Any = {}
    served: defaultdict[str, int] = defaultdict(int)
    holder = None
    for turn in range(60):
        for name in ("a", "b", "c"):
            # The worker that has the place ends its call before it speaks again.
            holder = None if holder == name else holder
            state, grant = exchange(state, one, Demand(name, held=0, wanted=5), START + turn)
            if grant.calls:
                assert holder is None
                holder = name
                served[name] += 1

    assert min(served.values()) >= 15


@pytest.mark.parametrize(
    ("account", "model", "names"),
    [
        ("openai", "gpt-4.1-mini", ("openai/gpt-4.1-mini", "openai")),
        ("openai", "openai/gpt-4.1-mini", ("openai/gpt-4.1-mini", "openai")),
        ("anthropic", "anthropic/claude", ("anthropic/claude", "anthropic")),
    ],
)
def test_a_call_is_under_the_limits_of_its_key_and_of_its_model(
    account: str, model: str, names: tuple[str, str]
) -> None:
    assert names_of(account, model) == names


def test_limits_come_from_the_environment() -> None:
    written = '{"openai": {"concurrent_calls": 8}, "openai/gpt-4.1": {"requests_per_minute": 60}}'

    assert read_limits({"PARLEY_LIMITS": written}) == {
        "openai": Limit(concurrent_calls=8),
        "openai/gpt-4.1": Limit(requests_per_minute=60),
    }
    assert read_limits({}) == {}
    assert read_limits({"PARLEY_LIMITS": " "}) == {}


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("{", "the whole"),
        ("[]", "the whole"),
        ('{"openai": 5}', "openai"),
        ('{"openai": {"calls": 5}}', "openai.calls"),
        ('{"openai": {"concurrent_calls": 0}}', "openai.concurrent_calls"),
    ],
)
def test_limits_that_cannot_be_read_stop_the_start_and_name_the_place(written: str, place: str) -> None:
    with pytest.raises(SettingsInvalid, match=f"PARLEY_LIMITS: {place}"):
        read_limits({"PARLEY_LIMITS": written})
