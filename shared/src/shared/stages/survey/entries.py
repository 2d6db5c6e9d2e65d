"""Questions that are asked one by one: which are due, what an answer to one is, and the page that all come to.

An entry is the answer to one question, stored under a key of its own. Which questions are shown is decided anew after
every answer: one that is hidden is never asked.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from pydantic import Field, create_model

from shared import rules
from shared.errors import InvalidInput, Problem
from shared.stage import Answered, Json, OwnView
from shared.stages.survey.answers import PageReply, Pages, found_in_words, is_shown
from shared.stages.survey.config import SurveyStage
from shared.stages.survey.questions import BaseQuestion, ChoiceQuestion, ChoicesQuestion, Unfit

_PREFIX: Final = "question:"


def key_of(question: BaseQuestion) -> str:
    """The key under which the answer to this question is stored."""
    return f"{_PREFIX}{question.id}"


def question_of(stage: SurveyStage, key: str) -> BaseQuestion | None:
    """The question that an ask with this key is about; None when it is about the whole page."""
    return next((question for question in stage.questions if key_of(question) == key), None)


def given(stage: SurveyStage, view: OwnView) -> dict[str, Json]:
    """What the reader has answered so far, by question."""
    keys = {question.id: key_of(question) for question in stage.questions}
    return {question_id: view.own[key] for question_id, key in keys.items() if key in view.own}


def due(stage: SurveyStage, pages: Pages, entries: Mapping[str, Json]) -> list[BaseQuestion]:
    """The questions to be asked now: the next one, or all whose rule can be decided; empty when nothing is left."""
    wanted: list[BaseQuestion] = []
    undecided: set[str] = set()
    for question in stage.questions:
        if question.id in entries:
            continue
        if _waits_for(question, stage, undecided):
            undecided.add(question.id)
        elif is_shown(question, entries, stage, pages):
            wanted.append(question)
            undecided.add(question.id)
            if stage.ask == "sequential":
                return wanted
    return wanted


def _waits_for(question: BaseQuestion, stage: SurveyStage, undecided: set[str]) -> bool:
    if question.show_if is None:
        return False
    return any(
        (comparison.stage or stage.id) == stage.id and comparison.question in undecided
        for _, comparison in rules.comparisons(question.show_if)
    )


def check(question: BaseQuestion, answer: Json) -> Json:
    """The answer to one question as it is stored.

    Raises:
        InvalidInput: it does not fit.
    """
    try:
        return question.stored(answer)
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
    described = Field(alias=question.id, description=f"{question.title} Answer with {question.hint()}.")
    fields: dict[str, Any] = {"answer": (question.reply_type(), described)}
    return create_model("SurveyReply", __base__=PageReply, **fields)


def answered(question: BaseQuestion, answer: Json) -> Answered:
    """The line of the long table for this question; the answer may be missing."""
    has_options = isinstance(question, ChoiceQuestion | ChoicesQuestion)
    return Answered(
        field=question.id,
        label=question.title,
        type="json" if isinstance(question, ChoicesQuestion) else question.columns()[0].type,
        value=answer,
        text=question.in_words(answer) if has_options and answer is not None else None,
        is_correct=question.is_correct(answer),
        asked_as=key_of(question),
    )


def in_words(stage: SurveyStage, question: BaseQuestion, view: OwnView) -> str:
    """What a prompt shows when this question is asked: in a sequence what was answered before, then the question."""
    asked = f"Question:\n- {question.title} [{question.hint()}]"
    entries = given(stage, view) if stage.ask == "sequential" else {}
    lines = [f"- {one.title} {one.given_in_words(entries[one.id])}" for one in stage.questions if one.id in entries]
    return "\n".join(["Your answers so far:", *lines, "", asked]) if lines else asked
