"""One question by itself: the check of its answer, the shape of a reply, and its line in the long table."""

from functools import lru_cache
from typing import Any

from pydantic import Field, create_model

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.kinds import PAGE, Json
from parley_lab.kinds.data import Answered, RowAsked
from parley_lab.kinds.questions.answers import PageReply, found_in_words
from parley_lab.kinds.questions.choices import ChoiceQuestion, ChoicesQuestion
from parley_lab.kinds.questions.numeric_questions import GridQuestion
from parley_lab.kinds.questions.questions import BaseQuestion, Unfit

_IN_WORDS = (ChoiceQuestion, ChoicesQuestion, GridQuestion)
"""Whose answers the long table also has in words."""


def check(question: BaseQuestion, answer: Json) -> Json:
    """The answer to one question as it is stored.

    Raises:
        InvalidInput: it does not fit.
    """
    try:
        return question.answered(answer)
    except Unfit as unfit:
        problem = Problem(question.id, found_in_words(answer), unfit.expected)
        raise InvalidInput("This answer cannot be used.", [problem]) from unfit


def reply_model(question: BaseQuestion) -> type[PageReply]:
    """One required field, named by the question's id."""
    # Without its rule, which may hold what cannot be hashed and does not matter here.
    return _reply_model(question.model_copy(update={"show_if": None}))


# Making the shape takes longer than all the rest of a prompt, and many agents are asked the same questions.
@lru_cache(maxsize=1024)
def _reply_model(question: BaseQuestion) -> type[PageReply]:
    described = Field(alias=question.id, description=f"{question.title} Answer with {question.asked()}.")
    fields: dict[str, Any] = {"answer": (question.reply_field(), described)}
    return create_model("SurveyReply", __base__=PageReply, **fields)


def answered(question: BaseQuestion, answer: Json, *, asked_as: str = PAGE) -> Answered:
    """The line of the long table for this question; the answer may be missing."""
    is_told = isinstance(question, _IN_WORDS) and answer is not None
    return Answered(
        field=question.id,
        label=question.label,
        type="json" if isinstance(question, ChoicesQuestion | GridQuestion) else question.columns()[0].type,
        value=answer,
        text=question.in_words(answer) if is_told else None,
        is_correct=question.is_correct(answer),
        asked_as=asked_as,
        row=None if (row := question.row) is None else RowAsked(row.id, row.asks, row.number, row.levels),
    )
