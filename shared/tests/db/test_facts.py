"""What is pending is written in the same way by every statement that writes it."""

from sqlalchemy import TextClause

from shared.acts import answering, changes
from shared.db.facts import FLUSH


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
