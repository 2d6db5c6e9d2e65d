"""When keys are paused, tried and trusted: whatever the order in which calls go out and come back."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.contracts.key_rules import (
    MOST_REFUSALS,
    SAME_TIME,
    TRY_EVERY,
    UNREACHABLE,
    Gate,
    after_acceptance,
    after_long_wait,
    after_refusal,
    gate_names,
    is_known_to_work,
    may_try,
    paused_in_words,
    tried_by_one,
    was_refused_for_itself,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
MOMENTS = st.integers(0, 600).map(lambda seconds: START + timedelta(seconds=seconds))
CALLS = st.lists(st.tuples(MOMENTS, st.booleans()), max_size=30)


def refused(gate: Gate, at: datetime, *, was_a_try: bool = False) -> Gate:
    return after_refusal(gate, at, fault="auth_error", reason="HTTP 401", asked="c1/m1", now=at, was_a_try=was_a_try)


def noted(gate: Gate, calls: list[tuple[datetime, bool]]) -> Gate:
    for at, is_accepted in calls:
        gate = after_acceptance(gate, at) if is_accepted else refused(gate, at)
    return gate


def test_the_third_refusal_in_a_row_pauses_the_key() -> None:
    gates = [Gate("openai")]
    for second in range(MOST_REFUSALS):
        gates.append(refused(gates[-1], START + timedelta(seconds=second)))

    assert [gate.is_open for gate in gates] == [True, True, True, False]
    assert gates[-1].next_try_at == START + timedelta(seconds=2) + TRY_EVERY


def test_an_accepted_call_between_refused_ones_keeps_the_key_open() -> None:
    moments = [START + timedelta(seconds=second) for second in range(6)]
    calls = [(at, number % 3 == 2) for number, at in enumerate(moments)]

    assert noted(Gate("openai"), calls).is_open


def test_a_call_that_went_out_before_the_key_was_withdrawn_says_nothing_for_it() -> None:
    paused = noted(Gate("openai"), [(START + timedelta(seconds=5), False)] * 3)

    assert not after_acceptance(paused, START).is_open
    assert after_acceptance(paused, START + timedelta(seconds=6)).is_open


def test_the_first_call_that_is_refused_closes_the_gate_for_good() -> None:
    first = tried_by_one(Gate("openai", is_tried=False), START + timedelta(seconds=90))

    gate = refused(first, START, was_a_try=True)

    assert (gate.is_open, gate.is_tried, gate.paused_at) == (False, False, START)


@given(CALLS)
def test_a_call_that_is_made_last_and_accepted_opens_the_key_whatever_was_before(
    calls: list[tuple[datetime, bool]],
) -> None:
    gate = noted(Gate("openai"), calls)

    assert after_acceptance(gate, START + timedelta(seconds=601)).is_open


@given(CALLS, MOMENTS)
def test_a_refusal_that_is_older_than_an_accepted_call_closes_nothing(
    calls: list[tuple[datetime, bool]], at: datetime
) -> None:
    gate = noted(Gate("openai"), calls)

    if is_known_to_work(gate, at):
        assert refused(gate, at).is_open
        assert refused(gate, at).refusals == gate.refusals


@given(CALLS, MOMENTS)
def test_only_a_refusal_that_stayed_alone_is_the_calls_own(calls: list[tuple[datetime, bool]], at: datetime) -> None:
    gate = refused(noted(Gate("openai"), calls), at)

    if was_refused_for_itself(gate, at):
        near = [one for one, is_accepted in calls if not is_accepted and abs(one - at) < SAME_TIME]
        assert gate.is_open
        assert near == []


def test_a_burst_of_refusals_between_accepted_calls_is_nobodys_own() -> None:
    moments = [START + timedelta(milliseconds=10 * number) for number in range(8)]
    burst = [(at, False) for at in moments[1:-1]]

    gate = noted(Gate("openai"), [(moments[0], True), (moments[-1], True), *burst])

    assert gate.is_open
    assert not any(was_refused_for_itself(gate, at) for at, _ in burst)


@given(st.lists(MOMENTS, min_size=1, max_size=20))
def test_of_many_that_want_to_try_a_closed_gate_one_gets_through_in_its_time(moments: list[datetime]) -> None:
    gate = Gate("openai", is_tried=False)
    tries = []
    for now in sorted(moments):
        if may_try(gate, now):
            gate = tried_by_one(gate, now + TRY_EVERY)
            tries.append(now)

    assert all(later - earlier >= TRY_EVERY for earlier, later in pairwise(tries))


def test_a_key_at_another_address_and_a_model_have_gates_of_their_own() -> None:
    assert gate_names("openai", "gpt-4.1", None) == ("openai", "openai/gpt-4.1")
    assert gate_names("anthropic", "anthropic/claude", None) == ("anthropic", "anthropic/claude")
    assert gate_names("openai", "tiny", "http://10.0.0.5/v1") == (
        "openai at http://10.0.0.5/v1",
        "openai/tiny at http://10.0.0.5/v1",
    )


@pytest.mark.parametrize(
    ("fault", "is_tried", "told"),
    [
        ("auth_error", True, "The key of openai is paused since 00:00:00 UTC: No such key. Answers that need it wait;"),
        ("auth_error", False, "The first call with the key of openai was refused at 00:00:00 UTC: No such key."),
        (UNREACHABLE, True, "openai is not reached since 00:00:00 UTC: No such key. Answers that need it wait;"),
        (UNREACHABLE, False, "The first call to openai could not connect at 00:00:00 UTC: No such key."),
    ],
)
def test_no_one_at_an_address_is_not_told_as_a_refused_key(fault: str, is_tried: bool, told: str) -> None:
    for reason in ("No such key", "No such key."):
        gate = Gate("openai", is_tried=is_tried, paused_at=START, fault=fault, reason=reason)

        assert told in paused_in_words(gate)


def waiting(gate: Gate, seconds: int) -> Gate:
    until = START + timedelta(seconds=seconds)
    return after_long_wait(gate, until=until, fault="rate_limited", reason="enough", asked="c1/m1", now=START)


@given(st.integers(61, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_key_that_waits_is_tried_when_its_wait_is_over_and_not_before(wait: int, later: int, again: int) -> None:
    # Another call comes back with a shorter wait.
    gate = waiting(waiting(Gate("openai", is_tried=False), wait), min(wait, again))

    assert gate.waits
    assert may_try(gate, START + timedelta(seconds=later)) == (later >= wait)
    assert after_acceptance(gate, START + timedelta(seconds=later + 1)).is_open
    assert not after_acceptance(gate, START).is_open


@pytest.mark.parametrize(
    ("hours", "told"),
    [(2, "openai is waiting until 14:05 UTC,"), (26, "openai is waiting until 14:05 UTC on 02 January,")],
)
def test_a_wait_is_told_with_its_end(hours: int, told: str) -> None:
    noon = datetime(2030, 1, 1, 12, 5, tzinfo=UTC)
    gate = Gate("openai", paused_at=noon, fault="rate_limited", next_try_at=noon + timedelta(hours=hours))

    assert told in paused_in_words(gate)
