"""Answers to a page of questions: which questions count, whether every answer fits, and what a model is to fill in."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator, create_model

from shared import rules
from shared.errors import InvalidInput, Problem
from shared.replies import Reply
from shared.rules import PageAnswer
from shared.stage import Json, OwnView
from shared.stages.survey.config import SurveyStage
from shared.stages.survey.questions import BaseQuestion, CheckQuestion, Unfit

Pages = Mapping[str, PageAnswer]


class PageReply(Reply):
    """Base of the shapes of a page; `pages` are the answers of earlier stages that the shape was made for."""

    pages: ClassVar[Pages] = {}


def earlier_pages(view: OwnView) -> Pages:
    """The reader's page answers of earlier stages, by stage."""
    return {stage_id: answer for stage_id, answer in view.earlier.items() if isinstance(answer, Mapping)}


def possible_questions(stage: SurveyStage, pages: Pages) -> list[BaseQuestion]:
    """The questions that may be shown; those whose rule is false whatever is answered here are left out."""
    return [
        question
        for question in stage.questions
        if question.show_if is None or not rules.is_out_of_reach(question.show_if, pages, stage.id)
    ]


def check(stage: SurveyStage, answer: Json, pages: Pages, missing: Collection[str] = ()) -> dict[str, Json]:
    """The answer as it is stored: one value for every question that is shown, nothing for the others.

    missing: the questions of which no usable reply came; null stands for them.

    Raises:
        InvalidInput: with all problems.
    """
    if not isinstance(answer, Mapping):
        found = Problem("", type(answer).__name__, "an object with one entry per question")
        raise InvalidInput("These answers cannot be used.", [found])
    stored, problems = _split(stage, answer, pages, missing)
    known = {question.id for question in stage.questions}
    problems += [Problem(str(key), "an answer", "no such question here") for key in answer if key not in known]
    if problems:
        raise InvalidInput("Some answers cannot be used.", problems)
    return stored


def without_hidden(stage: SurveyStage, reply: PageReply) -> dict[str, Json]:
    """What a model answered, for the questions that its own answers bring up."""
    given: dict[str, Json] = reply.model_dump(by_alias=True)
    kept: dict[str, Json] = {}
    for question in stage.questions:
        if question.id in given and is_shown(question, kept, stage, reply.pages):
            kept[question.id] = given[question.id]
    return kept


def reply_model(stage: SurveyStage, pages: Pages) -> type[PageReply]:
    """One required field per question that may be shown, named by the question's id."""
    fields: dict[str, Any] = {}
    for index, question in enumerate(possible_questions(stage, pages)):
        described = Field(alias=question.id, description=_instruction(question, stage, pages))
        expected = question.reply_type()
        # Whether such an answer counts is known only with the others: it is looked at then.
        fields[f"answer_{index}"] = (Annotated[expected, _LATER] if question.show_if else expected, described)
    model = create_model("SurveyReply", __base__=PageReply, **fields)
    model.pages = pages
    return model


def _whatever(value: object, validate: ValidatorFunctionWrapHandler) -> object:
    try:
        return validate(value)
    except ValidationError:
        return value


_LATER: Final = WrapValidator(_whatever)


def _instruction(question: BaseQuestion, stage: SurveyStage, pages: Pages) -> str:
    text = f"{question.title} Answer with {question.hint()}."
    rule = question.show_if
    if rule is None or rules.holds(rule, pages, stage.id):
        return text
    return f"{text} Counts only if: {rules.in_words(rule)}."


def is_shown(question: BaseQuestion, answers: PageAnswer, stage: SurveyStage, pages: Pages) -> bool:
    """Whether the question comes up, given the answers on this page so far and those of earlier pages."""
    return question.show_if is None or rules.holds(question.show_if, {**pages, stage.id: answers}, stage.id)


def _split(
    stage: SurveyStage, answer: PageAnswer, pages: Pages, missing: Collection[str]
) -> tuple[dict[str, Json], list[Problem]]:
    stored: dict[str, Json] = {}
    problems: list[Problem] = []
    for question in stage.questions:
        value = answer.get(question.id)
        if not is_shown(question, stored, stage, pages):
            if value is not None:
                problems.append(Problem(question.id, "an answer", "none, because this question is not shown"))
            continue
        if value is None and question.id in missing:
            stored[question.id] = None
            continue
        if value is None and isinstance(question, CheckQuestion):
            value = False
        try:
            stored[question.id] = question.stored(value)
        except Unfit as unfit:
            problems.append(Problem(question.id, found_in_words(value), unfit.expected))
    return stored, problems


def found_in_words(value: Json) -> str:
    return "no answer" if value is None else repr(value)[:80]
