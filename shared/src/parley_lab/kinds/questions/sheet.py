"""A page of questions as an experiment file writes it, and what is wrong with one."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from parley_lab.base import rules
from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import missing_field, or_later, repeated_id, unknown
from parley_lab.contracts.experiment import Slug, StageConfig
from parley_lab.kinds.questions.answered_bounds import impossible_bounds, on_the_page
from parley_lab.kinds.questions.asked_of_rows import AskedOfRows, columns_compared, in_file, rows_problems
from parley_lab.kinds.questions.choices import ChoiceQuestion, ChoicesQuestion, OptionsQuestion
from parley_lab.kinds.questions.numeric_questions import GridQuestion, NumberQuestion, ScaleQuestion
from parley_lab.kinds.questions.questions import BaseQuestion, CheckQuestion, TextQuestion, Unfit
from parley_lab.kinds.questions.totals import QuestionGroup, Total

AnyQuestion = Annotated[
    TextQuestion | CheckQuestion | ChoiceQuestion | ChoicesQuestion | NumberQuestion | ScaleQuestion | GridQuestion,
    Field(discriminator="kind"),
]


class QuestionPage(AskedOfRows):
    """A stage whose page has questions; kinds that ask some are made of it."""

    has_one_answer_each: ClassVar[bool] = True
    """Whether the page has one answer to each question, at which rules of later stages may look."""
    questions: tuple[AnyQuestion, ...] = Field(min_length=1)
    """The questions in their order."""
    groups: dict[Slug, QuestionGroup] = Field(default={}, exclude_if=rules.is_empty)
    """What holds of the questions of a group together, by the name that their `group` gives."""
    on_invalid: Literal["missing", "fail"] = "missing"
    """What happens when no reply of a model answers a question as it should, after all attempts. `missing`: the answer
    is null with its reason, the page's other answers are kept, and the agent goes on. `fail`: it leaves the experiment.
    """

    @model_validator(mode="before")
    @classmethod
    def _bound_on_the_page(cls, fields: Any) -> Any:
        """A bound that names this stage is one without a stage."""
        return on_the_page(fields)

    @property
    def has_correct(self) -> bool:
        """Whether some answers are right and others wrong."""
        return any(question.has_correct for question in self.questions)

    def totals(self) -> list[tuple[Total, list[str]]]:
        """The totals of groups, of each row by itself, with the ids of the questions that are added up."""
        found: list[tuple[Total, list[str]]] = []
        for name, group in self.groups.items():
            if group.total is not None:
                found += [(group.total, [one.id for one in asked]) for asked in self.split_by_row(name)]
        return found

    def split_by_row(self, group: str) -> list[list[AnyQuestion]]:
        """Each list has the questions of the group about one row."""
        by_row: dict[str, list[AnyQuestion]] = {}
        for one in self.questions:
            if one.group == group:
                by_row.setdefault("" if one.row is None else one.row.id, []).append(one)
        return [*by_row.values()]


def problems(stage: QuestionPage, earlier: Sequence[StageConfig], *, has_profiles: bool = True) -> Iterator[Problem]:
    """`where` is relative to the stage. has_profiles: whether the kind can draw profiles of attributes."""
    of_rows = [*rows_problems(stage, has_profiles=has_profiles)]
    yield from of_rows or in_file(stage, _of_questions(stage, earlier))


def _of_questions(stage: QuestionPage, earlier: Sequence[StageConfig]) -> Iterator[Problem]:
    known = asked_in(earlier)
    before: dict[str, BaseQuestion] = {}
    for index, question in enumerate(stage.questions):
        where = f"questions[{index}]"
        if question.id in before:
            yield repeated_id(f"{where}.id", question.id, "question")
        for problem in question.problems():
            yield replace(problem, where=f"{where}.{problem.where}")
        for problem in _misled_rules(question, where, {**known, stage.id: before}, stage.id):
            below = (one.id for one in stage.questions[index + 1 :])
            yield or_later(problem, below if problem.where.endswith(".question") else (), "question")
        yield from _misled_bounds(question, where, {**known, stage.id: before}, stage.id)
        if question.group is not None and question.group not in stage.groups:
            expected = one_of_groups(stage.groups)
            yield Problem(f"{where}.group", repr(question.group), expected)
        before.setdefault(question.id, question)
    yield from _of_groups(stage)


def asked_in(stages: Sequence[StageConfig]) -> dict[str, dict[str, BaseQuestion]]:
    """The questions at whose answers rules of later stages may look, by stage and id."""
    pages = (one for one in stages if isinstance(one, QuestionPage) and one.has_one_answer_each)
    return {one.id: {question.id: question for question in one.questions} for one in pages}


def are_bounded_here(stage: QuestionPage) -> bool:
    """Whether an answer on the page bounds another one."""
    numbers = (one for one in stage.questions if isinstance(one, NumberQuestion))
    return any(bound.stage is None for one in numbers for bound in one.answered_bounds.values())


def one_of_groups(groups: Mapping[str, QuestionGroup]) -> str:
    return f"one of {', '.join(groups)}" if groups else "`groups` of the stage with this name"


def _of_groups(stage: QuestionPage) -> Iterator[Problem]:
    for name, group in stage.groups.items():
        where = f"groups.{name}"
        asked = [one for one in stage.questions if one.group == name]
        if not asked:
            yield Problem(where, "a group without questions", f"`group: {name}` on its questions")
        if group.total is None:
            continue
        for problem in _check_total(group.total, stage.split_by_row(name)):
            yield replace(problem, where=f"{where}.total.{problem.where}".rstrip("."))
        for one in asked:
            if not isinstance(one, NumberQuestion | ScaleQuestion):
                yield Problem(f"{where}.total", f"the question {one.id!r}, which is no number", "numbers and scales")


def _check_total(total: Total, by_row: Sequence[Sequence[AnyQuestion]]) -> list[Problem]:
    """The total is checked for each row, up to the first row that cannot come to it."""
    for asked in by_row:
        numbers = [one for one in asked if isinstance(one, NumberQuestion | ScaleQuestion)]
        ranges = [
            one.give_range() if one.required and one.show_if is None else one.give_range().widen_to_nothing()
            for one in numbers
        ]
        if ranges and len(numbers) == len(asked) and (found := total.check(ranges)):
            return found
    return [*total.problems()]


def _misled_bounds(
    question: BaseQuestion, where: str, known: Mapping[str, Mapping[str, BaseQuestion]], here: str
) -> Iterator[Problem]:
    """Bounds that no answer before this one gives, and those that can leave no answer."""
    if not isinstance(question, NumberQuestion):
        return
    is_known = True
    for name, bound in question.answered_bounds.items():
        asked = known.get(bound.stage or here)
        if asked is None:
            expected = "the id of a survey that comes before this one"
            yield Problem(f"{where}.{name}.stage", repr(bound.stage), expected)
            is_known = False
            continue
        numbers = [one.id for one in asked.values() if isinstance(one, NumberQuestion | ScaleQuestion)]
        if bound.question not in numbers:
            whose = "above this one" if bound.stage is None else f"of the survey {bound.stage!r}"
            listed = f": {', '.join(numbers)}" if numbers else ", of which there is none"
            yield Problem(f"{where}.{name}.question", repr(bound.question), f"a number {whose}{listed}")
            is_known = False
    if is_known:
        yield from impossible_bounds(question, where, known, here)


def _misled_rules(
    question: BaseQuestion, where: str, known: Mapping[str, Mapping[str, BaseQuestion]], here: str
) -> Iterator[Problem]:
    if question.show_if is None:
        return
    yield from columns_compared(question.show_if, question.row, f"{where}.show_if")
    for place, comparison in rules.comparisons(question.show_if, f"{where}.show_if"):
        if comparison.question is not None:
            yield from misled(comparison, place, known, here)


def misled(
    comparison: rules.Comparison, place: str, known: Mapping[str, Mapping[str, BaseQuestion]], here: str
) -> Iterator[Problem]:
    """What is wrong with a comparison of an answer at this place; `known` as from `asked_in`."""
    target = comparison.stage or here
    if target not in known:
        yield _misled_stage(comparison, f"{place}.stage", [one for one in known if one != here], known)
    elif comparison.name not in known[target]:
        yield _elsewhere(comparison, f"{place}.question", target, here, known)
    elif (possible := _value_expected(comparison, known[target][comparison.name])) is not None:
        yield Problem(f"{place}.value", json.dumps(comparison.value, ensure_ascii=False), possible)


def _misled_stage(
    comparison: rules.Comparison, where: str, surveys: Sequence[str], known: Mapping[str, Mapping[str, BaseQuestion]]
) -> Problem:
    expected = "the id of a survey that comes before this one"
    listed = f"{expected}: {', '.join(surveys)}" if surveys else expected
    if comparison.stage is not None:
        return replace(unknown(where, comparison.stage, surveys, "survey before this one"), expected=listed)
    asking = [stage_id for stage_id in surveys if comparison.question in known[stage_id]]
    return missing_field(where, f"{asking[-1]}, the survey that asks {comparison.question}" if asking else listed)


def _elsewhere(
    comparison: rules.Comparison, where: str, target: str, here: str, known: Mapping[str, Mapping[str, BaseQuestion]]
) -> Problem:
    """What to type for a question that the target does not have."""
    name = str(comparison.question)
    whose = "above this one" if target == here else f"of the survey {target!r}"
    problem = replace(unknown(where, name, known[target], f"question {whose}"), expected=f"a question {whose}")
    asked_in = [stage_id for stage_id, asked in known.items() if stage_id != here and name in asked]
    if not asked_in:
        return problem
    expected = f"`stage: {asked_in[-1]}` beside it: the question is asked there"
    return replace(problem, expected=expected, hint=f"Add `stage: {asked_in[-1]}` beside it: it is asked there.")


def _value_expected(comparison: rules.Comparison, asked: BaseQuestion) -> str | None:
    """What the value should be, where the rule is false for every answer to the question.

    `not_equals` and `not_contains` are true for every answer then, and ask whether the question was answered.
    """
    match comparison.operator:
        case "equals":
            return _answer_expected(asked, comparison)
        case "contains":
            return _part_expected(asked, rules.as_text(comparison.value))
        case "not_equals" | "not_contains":
            return None
    return "a number" if rules.as_number(comparison.value) is None else None


def _answer_expected(asked: BaseQuestion, comparison: rules.Comparison) -> str | None:
    try:
        stored = asked.answered(comparison.value)
    except Unfit as unfit:
        return unfit.expected
    if stored is None:
        # No rule is true for an answer that is missing.
        return asked.hint()
    if rules.applies(comparison.model_copy(update={"given": stored})):
        return None
    return f"{json.dumps(stored, ensure_ascii=False)}, as the answer is stored"


def _part_expected(asked: BaseQuestion, text: str) -> str | None:
    if not isinstance(asked, OptionsQuestion):
        return None
    are_known = all(any(part in option_id for option_id in asked.option_ids) for part in text.split(","))
    return None if are_known else f"a part of an answer: {', '.join(asked.option_ids)}"
