"""What is drawn for a participant of a survey, where it is: rows, their levels, and the order of questions and options.
The same for page, prompt and data."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from random import Random
from typing import Any, Final

from parley_lab.base import rules
from parley_lab.base.errors import Problem
from parley_lab.kinds import Column, Json, OwnView
from parley_lab.kinds.questions import rows_in_data
from parley_lab.kinds.questions.choices import OptionsQuestion
from parley_lab.kinds.questions.drawn_rows import CHANCE, arrange, asked_of, number_of, profiles_of, row_id_of
from parley_lab.kinds.questions.numeric_questions import GridQuestion, NumberQuestion
from parley_lab.kinds.questions.own_order import ORDER, own_chance
from parley_lab.kinds.questions.questions import BaseQuestion
from parley_lab.kinds.questions.rows import Order
from parley_lab.kinds.stages.survey.config import SurveyStage

ORDER_COLUMN: Final = "order"
"""The column with the order of the questions and, after the id of a question, of its options or lines."""


def ordered(stage: SurveyStage, view: OwnView) -> SurveyStage:
    """The stage in the reader's order. Answers are checked against the file's own order."""
    return _in_order(asked_of(stage, view), view)


def _in_order(stage: SurveyStage, view: OwnView) -> SurveyStage:
    if not stage.is_shuffled or CHANCE not in view.draws:
        return stage
    questions: Sequence[BaseQuestion] = stage.questions
    numbers = _numbers(stage, view)
    if stage.shuffle_options:
        questions = [
            _with_shuffled_options(one, stage.order, numbers[one.id], own_chance(view, f"options/{one.id}"))
            for one in questions
        ]
    if stage.shuffle_grids:
        questions = [
            _with_shuffled_rows(one, stage.order, numbers[one.id], own_chance(view, f"grids/{one.id}"))
            for one in questions
        ]
    if stage.shuffle_questions:
        questions = [one for row in by_row(questions) for one in _shuffled_in(row, stage, numbers[row[0].id], view)]
    return stage.model_copy(update={"questions": tuple(questions)})


def _numbers(stage: SurveyStage, view: OwnView) -> dict[str, int]:
    """The number of the order in a Latin square for each question: another one for each question and row, so that no
    participant has the same order throughout."""
    first = number_of(view)
    places = {asks: place for place, asks in enumerate(dict.fromkeys(map(_asks, stage.questions)))}
    return {one.id: first + places[_asks(one)] + (one.row.number - 1 if one.row else 0) for one in stage.questions}


def _asks(question: BaseQuestion) -> str:
    """The question's id in the file."""
    return question.id if question.row is None else question.row.asks


def by_row(questions: Sequence[BaseQuestion]) -> list[list[BaseQuestion]]:
    """The questions of each row; without rows all of them."""
    return [list(row) for _, row in groupby(questions, lambda one: row_id_of(one))]


def _shuffled_in(row: Sequence[BaseQuestion], stage: SurveyStage, number: int, view: OwnView) -> list[BaseQuestion]:
    row_id = row_id_of(row[0])
    rng = own_chance(view, f"questions/{row_id}" if row_id else "questions")
    if stage.order == "latin":
        units = arrange(_units(row), "latin", number, rng)
        return [one for unit in units for one in arrange(unit, "latin", number, rng)]
    return _shuffled(_units(row), stage.id, rng)


def _with_shuffled_options(question: BaseQuestion, order: Order, number: int, rng: Random) -> BaseQuestion:
    if not isinstance(question, OptionsQuestion):
        return question
    return question.model_copy(update={"options": tuple(arrange(question.options, order, number, rng))})


def _with_shuffled_rows(question: BaseQuestion, order: Order, number: int, rng: Random) -> BaseQuestion:
    if not isinstance(question, GridQuestion):
        return question
    return question.model_copy(update={"rows": tuple(arrange(question.rows, order, number, rng))})


def _units(questions: Sequence[BaseQuestion]) -> list[list[BaseQuestion]]:
    """The questions of each group together, and all others alone, in the order of the file."""
    units: dict[str, list[BaseQuestion]] = {}
    for one in questions:
        units.setdefault(f"question/{one.id}" if one.group is None else f"group/{one.group}", []).append(one)
    return [*units.values()]


def _shuffled(units: Sequence[list[BaseQuestion]], here: str, rng: Random) -> list[BaseQuestion]:
    """Drawn one by one among the units whose rules read no question of a remaining one."""
    left, placed = list(units), list[BaseQuestion]()
    while left:
        waiting = {one.id for unit in left for one in unit}
        # Groups that read each other are in the order of the file.
        free = [unit for unit in left if waiting.isdisjoint(_read_of_others(unit, here))] or left[:1]
        chosen = rng.choice(free)
        left.remove(chosen)
        placed += chosen if len(chosen) == 1 else _shuffled([[one] for one in chosen], here, rng)
    return placed


def _read_of_others(unit: Sequence[BaseQuestion], here: str) -> set[str]:
    """The questions of this page that the unit reads beside its own."""
    return {name for one in unit for name in _looked_at(one, here)} - {one.id for one in unit}


def _looked_at(question: BaseQuestion, here: str) -> set[str]:
    """The questions of this page that the question's rule and bounds read."""
    found = () if question.show_if is None else rules.comparisons(question.show_if)
    bounds = question.answered_bounds.values() if isinstance(question, NumberQuestion) else ()
    read = [*(one for _, one in found), *bounds]
    return {one.question for one in read if one.question is not None and one.stage in (None, here)}


def latin_problems(stage: SurveyStage) -> Iterator[Problem]:
    """Reasons why the survey cannot have the orders of Latin squares."""
    if stage.order != "latin":
        return
    if not stage.is_shuffled:
        expected = "`shuffle_questions`, `shuffle_options` or `shuffle_grids` beside it; for rows `order` of `rows`"
        yield Problem("order", "'latin'", expected)
    for index, question in enumerate(stage.questions) if stage.shuffle_questions else ():
        if read := sorted(_looked_at(question, stage.id)):
            found = f"a rule or bound that reads {read[0]!r}, with `order: latin`"
            expected = "an order of the file or a drawn one: each question must be able to come first"
            yield Problem(f"questions[{index}]", found, expected)
            return


def with_order(stage: SurveyStage, view: OwnView, page: Mapping[str, Json]) -> dict[str, Json]:
    """The page with the order in which it was answered, and with the rows that were asked, each with its levels."""
    if not stage.is_drawn or CHANCE not in view.draws:
        return dict(page)
    had = ordered(stage, view)
    order: dict[str, Any] = {}
    if tasks := profiles_of(stage, view):
        order["profiles"] = [list(map(dict, profiles)) for profiles in tasks]
        order["attributes"] = list(tasks[0][0])
    elif stage.is_drawn_of_rows:
        order |= rows_in_data.drawn_fields(had)
    if stage.shuffle_questions:
        order["questions"] = [one.id for one in had.questions]
    if stage.shuffle_grids:
        grids = [one for one in had.questions if isinstance(one, GridQuestion)]
        order["grids"] = {one.id: [row.id for row in one.rows] for one in grids}
    if stage.shuffle_options:
        order["options"] = {one.id: list(one.option_ids) for one in had.questions if isinstance(one, OptionsQuestion)}
    return {**page, ORDER: order}


def columns(stage: SurveyStage) -> list[Column]:
    of_page = [Column("order", "The questions in their order", "text", derived=True)] if stage.shuffle_questions else []
    shuffled = [one for one in stage.questions if stage.shuffle_options and isinstance(one, OptionsQuestion)]
    of_options = (
        Column(f"{one.id}.{ORDER_COLUMN}", f"{one.label} (order of options)", "text", derived=True) for one in shuffled
    )
    grids = [one for one in stage.questions if stage.shuffle_grids and isinstance(one, GridQuestion)]
    of_grids = (
        Column(f"{one.id}.{ORDER_COLUMN}", f"{one.label} (order of rows)", "text", derived=True) for one in grids
    )
    return [*rows_in_data.columns(stage), *of_page, *of_options, *of_grids]


def cells(page: Mapping[str, Json]) -> dict[str, Json]:
    order = page.get(ORDER, {})
    of_page = {"order": " ".join(order["questions"])} if "questions" in order else {}
    within = {**order.get("options", {}), **order.get("grids", {})}
    of_questions = {f"{name}.{ORDER_COLUMN}": " ".join(ids) for name, ids in within.items()}
    return {**rows_in_data.cells(page), **of_page, **of_questions}
