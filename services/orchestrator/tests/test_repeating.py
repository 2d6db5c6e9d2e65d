"""The watchdog announces overdue work, and does not flood a queue without consumers."""

from hypothesis import given
from hypothesis import strategies as st

from parley_lab.contracts.hints import Hint
from parley_lab.orchestrator.service import LONGEST_PAUSE_SECONDS, Repeater

HINTS = [Hint("work", "draft.wanted", f"00000000-0000-0000-0000-00000000000{digit}") for digit in range(3)]


def test_what_is_overdue_is_announced_at_once() -> None:
    assert Repeater(5).due(HINTS, 0.0) == HINTS


def test_what_stays_overdue_is_announced_ever_more_rarely() -> None:
    repeater = Repeater(5)

    announced = [second for second in range(100) if repeater.due(HINTS[:1], float(second))]

    assert announced == [0, 5, 15, 35, 75]


def test_what_was_done_in_between_is_announced_at_once_again() -> None:
    repeater = Repeater(5)
    repeater.due(HINTS[:1], 0.0)
    repeater.due([], 1.0)

    assert repeater.due(HINTS[:1], 2.0) == HINTS[:1]


@given(st.lists(st.sets(st.sampled_from(HINTS)), max_size=60))
def test_nothing_overdue_is_forgotten_for_longer_than_the_longest_pause(looks: list[set[Hint]]) -> None:
    repeater = Repeater(5)
    for second, overdue in enumerate(looks):
        repeater.due(overdue, float(second))

    assert set(repeater.due(HINTS, len(looks) + LONGEST_PAUSE_SECONDS)) == set(HINTS)
