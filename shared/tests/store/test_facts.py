"""Two statements store a page alike, and a reader knows which events a statement has counted."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from parley_lab.answers import answering, going_on
from parley_lab.store.facts import Counted, position_after


def test_a_page_is_stored_alike_with_a_quiet_move_and_without() -> None:
    quietly, alone = going_on._GO_ON_QUIETLY.text, answering._PAGE.text
    for column in ("member_id", "stage_id", "key"):
        alone = alone.replace(f":{column}", f"p.{column.removeprefix('member_')}")

    for begin, end in (("SELECT jsonb_object_agg", "e.key <> p.key)"), ("ON CONFLICT", "completed_at IS NULL")):
        pieces = [one[one.index(begin) : one.index(end)].split() for one in (quietly, alone)]
        assert pieces[0] == pieces[1]


HERE, ELSEWHERE = UUID(int=1), UUID(int=2)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3))), st.data())
def test_a_reader_who_writes_has_seen_no_event_of_others_that_came_later(
    writes: list[tuple[bool, int]], data: st.DataObject
) -> None:
    """`writes` of the cohort in their order: whether the reader's own, and how many events."""
    position = data.draw(st.integers(0, sum(number for _, number in writes)))
    numbered: list[tuple[bool, int]] = []
    counted: list[Counted] = []
    for is_own, number in writes:
        before = len(numbered)
        numbered += [(is_own, before + one) for one in range(1, number + 1)]
        if is_own:
            counted += [(str(ELSEWHERE), before, before + 9), (str(HERE), before, before + number)]

    seen = position_after(counted, HERE, position)

    assert seen >= position
    assert all(is_own for is_own, number in numbered if position < number <= seen)


def test_a_reader_has_seen_their_own_events() -> None:
    counted = [(str(HERE), 4, 6), (str(HERE), 6, 7)]

    assert [position_after(counted, HERE, position) for position in (3, 4, 6)] == [3, 7, 7]
