"""What is pending is written in the same way by every statement that writes it, and what its events are numbered."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import TextClause

from parley_lab.answers import answering, going_on
from parley_lab.drafts import calls, drafts
from parley_lab.store.facts import FLUSH, Counted, position_after
from parley_lab.talk import stored_changes as changes
from parley_lab.talk.typing_hints import TYPING_CHANNEL


def from_given(statement: TextClause) -> str:
    return statement.text[statement.text.index("given AS (") :].rstrip()


def test_statements_that_write_what_is_pending_with_a_change_end_alike() -> None:
    end = from_given(FLUSH)

    assert from_given(changes._CHANGE) == end
    assert from_given(answering._ANSWER_SHARED_ASK) == end


def test_answers_are_stored_alike_with_what_is_pending_and_without() -> None:
    begin, _, _ = answering._ANSWER_SHARED_ASK.text.partition("), written AS (")
    alone, _, _ = answering._ANSWER_BY_REPLIES.text.partition(")\n    SELECT (SELECT array_agg(id) FROM answered)")

    assert begin == alone


def test_a_call_is_recorded_alike_with_what_became_of_it_and_without() -> None:
    alone = calls.INSERT_CALL.split()
    columns, _, _ = calls.INSERT_CALL.partition("VALUES")
    saved, answered = drafts._SAVE_REPLY.text.split(), answering._ANSWER_BY_REPLIES.text.split()

    begun = saved.index("INSERT")
    assert saved[begun : begun + len(alone)] == alone
    begun = answered.index("INSERT")
    assert answered[begun : begun + len(columns.split())] == columns.split()


def test_a_reply_looks_twice_whether_its_thread_awaits_it_and_tells_the_channel_that_is_heard() -> None:
    told, awaits = drafts._SAVE_REPLY.text, "(t.turn_state -> 'late' ? d.trigger_key"
    looks = [" ".join(part.partition("t.last_spoken_trigger))")[0].split()) for part in told.split(awaits)[1:]]

    assert looks == [looks[0]] * 2
    assert f"pg_notify('{TYPING_CHANNEL}'" in told


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
