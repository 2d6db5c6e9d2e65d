"""Answers to a page of questions: which questions count, whether every answer fits, and what a model is to fill in."""

import json
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator, create_model

from parley_lab.base import rules
from parley_lab.base.errors import MOST_PROBLEMS, InvalidInput, Problem
from parley_lab.base.replies import Reply
from parley_lab.base.rules import PageAnswer
from parley_lab.contracts.models import HINT_FORM, Hint
from parley_lab.kinds import Form, Json, OwnView
from parley_lab.kinds.parts import FilledIn
from parley_lab.kinds.questions.numeric_questions import GridQuestion, NumberQuestion
from parley_lab.kinds.questions.questions import BaseQuestion, CheckQuestion, Unfit
from parley_lab.kinds.questions.sheet import QuestionPage

Pages = Mapping[str, PageAnswer]
Source = Literal["given", "begun", "default"]
"""Where an answer on a page that was not sent is from: given to one question, filled in, or from the file."""
_Sources = Sequence[tuple[Source, Mapping[str, Json]]]


class PageReply(Reply):
    """Base of the shapes of a page; `pages` are the answers of earlier stages that the shape was made for."""

    pages: ClassVar[Pages] = {}


def earlier_pages(view: OwnView) -> Pages:
    """The reader's page answers of earlier stages, by stage."""
    return {stage_id: answer for stage_id, answer in view.earlier.items() if isinstance(answer, Mapping)}


def possible_questions(stage: QuestionPage, pages: Pages) -> list[BaseQuestion]:
    """The questions that may be shown, with the bounds that earlier answers give; those whose rule is false whatever is
    answered here are left out."""
    return [
        bounded(question, {}, pages)
        for question in stage.questions
        if question.show_if is None or not rules.is_out_of_reach(question.show_if, pages, stage.id)
    ]


def bounded(question: BaseQuestion, answers: PageAnswer, pages: Pages) -> BaseQuestion:
    """The question with the bounds that answers set: answers that were given on this page or on earlier ones."""
    return question.bounded(answers, pages) if isinstance(question, NumberQuestion) else question


def check(stage: QuestionPage, answer: Json, pages: Pages, missing: Collection[str] = ()) -> dict[str, Json]:
    """The answer as it is stored: one value for every question that is shown, nothing for the others.

    missing: the questions without a usable reply; their answer is null.

    Raises:
        InvalidInput: with all problems.
    """
    if not isinstance(answer, Mapping):
        found = Problem("", type(answer).__name__, "an object with one entry per question")
        raise InvalidInput("These answers cannot be used.", [found])
    known = {question.id for question in stage.questions}
    unknown = [str(key) for key in answer if key not in known]
    if len(unknown) > MOST_PROBLEMS:
        found = Problem("", f"{len(unknown)} answers to no question here", "one for each question")
        raise InvalidInput("These answers cannot be used.", [found])
    stored, problems = _split(stage, answer, pages, missing)
    problems += [Problem(key, "an answer", "no such question here") for key in unknown]
    problems = problems or [*wrong_totals(stage, stored, missing)]
    if problems:
        raise InvalidInput("Some answers cannot be used.", problems)
    return stored


def wrong_totals(stage: QuestionPage, stored: PageAnswer, missing: Collection[str] = ()) -> Iterator[Problem]:
    """What groups of numbers should come to and do not, at the last question of each; not of answers that are missing.

    A group of which nothing is shown, or nothing had to be answered and was, comes to nothing.
    """
    for shown, unfit in _find_missed_totals(stage, stored, missing):
        found = f"{rules.as_text(unfit.params['sum'])} in all"
        yield Problem(shown[-1], found, unfit.expected, code=unfit.code, params=unfit.params)


def _find_missed_totals(
    stage: QuestionPage, stored: PageAnswer, missing: Collection[str]
) -> Iterator[tuple[Sequence[str], Unfit]]:
    """Yield the questions of each total that their answers miss, and why the sum does not fit."""
    for total, asked in stage.totals():
        shown = [one for one in asked if one in stored]
        if not any(stored[one] is not None for one in shown) or any(one in missing for one in shown):
            continue
        try:
            total.required([stored[one] for one in shown])
        except Unfit as unfit:
            yield shown, unfit


def form_totals(stage: QuestionPage, asked: Collection[str], named: Callable[[str], str] = str) -> tuple[Json, ...]:
    """The totals of these questions as forms have them; `named`: what a question is called in the form."""
    found = ((total, [named(one) for one in ids if one in asked]) for total, ids in stage.totals())
    return tuple({**total.model_dump(), "fields": fields} for total, fields in found if fields)


def together(stage: QuestionPage, asked: Collection[str]) -> list[str]:
    """What groups of numbers come to, in lines of a prompt."""
    summed = ((total, [one for one in ids if one in asked]) for total, ids in stage.totals())
    return [f"The answers to {', '.join(ids)} are {total.in_words()}." for total, ids in summed if ids]


def fitting(stage: QuestionPage, form: Form) -> dict[str, Hint]:
    """How numbers of the page fit together, for the mock; empty where none do."""
    is_free = not stage.totals() and not any(
        _is_bounded(one) or (isinstance(one, GridQuestion) and one.total is not None) for one in stage.questions
    )
    return {} if is_free else {HINT_FORM: json.dumps(form.json_schema())}


NOT_FILLED_IN: Final = "not answered before the time was up"
"""Why an answer is missing on a page that was not sent."""


def filled_in(
    stage: QuestionPage,
    pages: Pages,
    *,
    given: Mapping[str, Json],
    begun: Mapping[str, Json],
    default: Mapping[str, Json],
) -> FilledIn:
    """A page that was not sent, question by question: the first answer that fits, else null.

    Numbers that miss their total count by the `default` for all of them, or not at all. `given`: to questions that were
    asked one by one.
    """
    sources: _Sources = (("given", given), ("begun", begun), ("default", default))
    by_default: dict[str, str] = {}
    apart: dict[str, str] = {}
    while True:
        found = _fill_in(stage, pages, sources, by_default, apart)
        missed = [*_find_missed_totals(stage, found.value, found.missing)]
        for shown, unfit in missed:
            is_of_default = any(one in by_default for one in shown)
            (apart if is_of_default else by_default).update(dict.fromkeys(shown, f"expected were {unfit.expected}"))
        half = [
            asked for _, asked in stage.totals() if any(one in by_default and one in found.missing for one in asked)
        ]
        left = {one: by_default[one] for asked in half for one in asked if one in by_default and one not in apart}
        if not missed and not left:
            return found
        apart |= left


def _fill_in(
    stage: QuestionPage, pages: Pages, sources: _Sources, by_default: Container[str], apart: Mapping[str, str]
) -> FilledIn:
    """The page with the default for some questions, and without an answer to those `apart`, for their reasons."""
    kept: dict[str, Json] = {}
    marks: dict[str, Literal["begun", "default"]] = {}
    missing: dict[str, str] = {}
    for question in stage.questions:
        name = question.id
        if not is_shown(question, kept, stage, pages):
            continue
        usable = () if name in apart else sources[-1:] if name in by_default else sources
        source, kept[name] = _first_that_fits(bounded(question, kept, pages), usable)
        if source is None:
            missing[name] = apart.get(name, NOT_FILLED_IN)
        elif source != "given":
            marks[name] = source
    return FilledIn(kept, marks, missing)


def keep_usable(stage: QuestionPage, answer: Mapping[str, Json], pages: Pages) -> dict[str, Json]:
    """Put null in place of answers that do not fit, and of those that miss a total together.

    A question that only such answers bring up gets no answer.
    """
    kept: dict[str, Json] = filled_in(stage, pages, given={}, begun=answer, default={}).value
    return kept


def _first_that_fits(question: BaseQuestion, sources: _Sources) -> tuple[Source | None, Json]:
    for source, values in sources:
        value = values.get(question.id)
        # Fields that were never touched are null.
        if value is not None:
            with suppress(Unfit):
                return source, question.answered(value)
    return None, None


def without_hidden(stage: QuestionPage, reply: PageReply) -> dict[str, Json]:
    """What a model answered, for the questions that its own answers bring up."""
    return shown_of(stage, reply.model_dump(by_alias=True), reply.pages)


def shown_of(stage: QuestionPage, given: Mapping[str, Json], pages: Pages) -> dict[str, Json]:
    """Of these answers those to questions that they bring up themselves."""
    kept: dict[str, Json] = {}
    for question in stage.questions:
        if question.id in given and is_shown(question, kept, stage, pages):
            kept[question.id] = given[question.id]
    return kept


def reply_model(stage: QuestionPage, pages: Pages) -> type[PageReply]:
    """One required field per question that may be shown, named by the question's id."""
    if all(question.show_if is None and not _is_bounded(question) for question in stage.questions):
        # What was answered before does not matter.
        return _reply_model_without_rules(tuple(stage.questions))
    fields = {
        f"answer_{index}": reply_field(question, stage, pages, name=question.id)
        for index, question in enumerate(possible_questions(stage, pages))
    }
    model = create_model("SurveyReply", __base__=PageReply, **fields)
    model.pages = pages
    return model


def _is_bounded(question: BaseQuestion) -> bool:
    return isinstance(question, NumberQuestion) and bool(question.answered_bounds)


# Making the shape takes longer than all the rest of a prompt, and many agents are asked the same questions.
@lru_cache(maxsize=1024)
def _reply_model_without_rules(questions: tuple[BaseQuestion, ...]) -> type[PageReply]:
    fields: dict[str, Any] = {
        f"answer_{index}": (question.reply_field(), Field(alias=question.id, description=_asked(question)))
        for index, question in enumerate(questions)
    }
    return create_model("SurveyReply", __base__=PageReply, **fields)


def reply_field(question: BaseQuestion, stage: QuestionPage, pages: Pages, *, name: str, about: str = "") -> Any:
    """The field of this name for one question, and what a model is told of it, after whom it is about."""
    text = f"About {about}: " if about else ""
    described = Field(alias=name, description=f"{text}{_instruction(question, stage, pages)}")
    expected = question.reply_field()
    # Whether such an answer counts is known only with the others: it is looked at then.
    return (Annotated[expected, _LATER] if question.show_if else expected, described)


def _whatever(value: object, validate: ValidatorFunctionWrapHandler) -> object:
    try:
        return validate(value)
    except ValidationError:
        return value


_LATER: Final = WrapValidator(_whatever)


def _instruction(question: BaseQuestion, stage: QuestionPage, pages: Pages) -> str:
    rule = told_rule(question, stage, pages)
    if rule is None or rules.holds(rule, pages, stage.id):
        return _asked(question)
    return f"{_asked(question)} Counts only if: {rules.in_words(rule)}."


def _asked(question: BaseQuestion) -> str:
    return f"{question.title} Answer with {question.asked()}."


def told_rule(question: BaseQuestion, stage: QuestionPage, pages: Pages) -> rules.Rule | None:
    """The rule of a question as the prompt shows it. A rule over more than answers is cut down to the part that answers
    of this page decide: an agent does not read its own arm."""
    rule = question.show_if
    if rule is None or all(one.question is not None for _, one in rules.comparisons(rule)):
        return rule
    return rules.remaining(rule, pages, stage.id)


def is_shown(question: BaseQuestion, answers: PageAnswer, stage: QuestionPage, pages: Pages) -> bool:
    """Whether the question comes up, given the answers on this page so far and those of earlier pages."""
    return question.show_if is None or rules.holds(question.show_if, {**pages, stage.id: answers}, stage.id)


def _split(
    stage: QuestionPage, answer: PageAnswer, pages: Pages, missing: Collection[str]
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
            stored[question.id] = bounded(question, stored, pages).answered(value)
        except Unfit as unfit:
            code = "answer_this" if value is None else unfit.code
            params = {} if value is None else unfit.params
            problems.append(Problem(question.id, found_in_words(value), unfit.expected, code=code, params=params))
    return stored, problems


def found_in_words(value: Json) -> str:
    return "no answer" if value is None else repr(value)[:80]
