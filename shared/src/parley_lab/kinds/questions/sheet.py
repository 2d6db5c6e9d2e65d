"""A page of questions as an experiment file writes it, and what is wrong with one."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue

from parley_lab.base import rules
from parley_lab.base.errors import Problem
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds.questions.asked_of_rows import AskedOfRows, in_file, rows_problems
from parley_lab.kinds.questions.choices import ChoiceQuestion, ChoicesQuestion, OptionsQuestion
from parley_lab.kinds.questions.numeric_questions import GridQuestion, NumberQuestion, ScaleQuestion
from parley_lab.kinds.questions.questions import BaseQuestion, CheckQuestion, TextQuestion, Unfit

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
    on_invalid: Literal["missing", "fail"] = "missing"
    """What happens when no reply of a model answers a question as it should, after all attempts. `missing`: the answer
    is null with its reason, the page's other answers are kept, and the agent goes on. `fail`: it leaves the experiment.
    """

    @property
    def has_correct(self) -> bool:
        """Whether some answers are right and others wrong."""
        return any(question.has_correct for question in self.questions)


def problems(stage: QuestionPage, earlier: Sequence[StageConfig], *, may_draw: bool = True) -> Iterator[Problem]:
    """`where` is relative to the stage. may_draw: whether the kind draws rows."""
    of_rows = [*rows_problems(stage, may_draw=may_draw)]
    yield from of_rows or in_file(stage, _of_questions(stage, earlier))


def _of_questions(stage: QuestionPage, earlier: Sequence[StageConfig]) -> Iterator[Problem]:
    pages = (one for one in earlier if isinstance(one, QuestionPage) and one.has_one_answer_each)
    known = {one.id: {question.id: question for question in one.questions} for one in pages}
    before: dict[str, BaseQuestion] = {}
    for index, question in enumerate(stage.questions):
        where = f"questions[{index}]"
        if question.id in before:
            yield Problem(f"{where}.id", f"{question.id!r} again", "an id of its own for every question")
        for problem in question.problems():
            yield Problem(f"{where}.{problem.where}", problem.found, problem.expected)
        yield from _misled_rules(question, where, {**known, stage.id: before}, stage.id)
        before.setdefault(question.id, question)


def _misled_rules(
    question: BaseQuestion, where: str, known: Mapping[str, Mapping[str, BaseQuestion]], here: str
) -> Iterator[Problem]:
    if question.show_if is None:
        return
    for place, comparison in rules.comparisons(question.show_if, f"{where}.show_if"):
        target = comparison.stage or here
        if target not in known:
            yield Problem(f"{place}.stage", repr(comparison.stage), "the id of a survey that comes before this one")
        elif comparison.question not in known[target]:
            yield Problem(f"{place}.question", repr(comparison.question), _elsewhere(comparison, target, here, known))
        elif (possible := _value_expected(comparison, known[target][comparison.question])) is not None:
            yield Problem(f"{place}.value", json.dumps(comparison.value, ensure_ascii=False), possible)


def _elsewhere(
    comparison: rules.Comparison, target: str, here: str, known: Mapping[str, Mapping[str, BaseQuestion]]
) -> str:
    """What to type for a question that the target does not have."""
    asked_in = [stage_id for stage_id, asked in known.items() if stage_id != here and comparison.question in asked]
    if asked_in:
        return f"`stage: {asked_in[-1]}` beside it: the question is asked there"
    return "a question above this one" if target == here else f"a question of the survey {target!r}"


def _value_expected(comparison: rules.Comparison, asked: BaseQuestion) -> str | None:
    """What the value should be, where the rule is false for every answer to the question.

    `not_equals` and `not_contains` are true for every answer then, and ask whether the question was answered.
    """
    match comparison.operator:
        case "equals":
            return _answer_expected(asked, comparison.value)
        case "contains":
            return _part_expected(asked, rules.as_text(comparison.value))
        case "not_equals" | "not_contains":
            return None
    return "a number" if rules.as_number(comparison.value) is None else None


def _answer_expected(asked: BaseQuestion, value: JsonValue) -> str | None:
    try:
        asked.stored(value)
    except Unfit as unfit:
        return unfit.expected
    return None


def _part_expected(asked: BaseQuestion, text: str) -> str | None:
    if not isinstance(asked, OptionsQuestion):
        return None
    are_known = all(any(part in option_id for option_id in asked.option_ids) for part in text.split(","))
    return None if are_known else f"a part of an answer: {', '.join(asked.option_ids)}"
