"""Orders of a balanced Latin square: of rows, questions, options, rows of grids and attributes."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.latin import orders_in
from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import PAGE, Ask, Member, OwnView
from parley_lab.kinds.questions.choices import OptionsQuestion
from parley_lab.kinds.questions.drawn_rows import profiles_of
from parley_lab.kinds.questions.numeric_questions import GridQuestion
from parley_lab.kinds.questions.own_order import ORDER, OrderDraws
from parley_lab.kinds.scripted import filled
from parley_lab.kinds.stages.survey.asking import SurveyQuestions
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.kinds.stages.survey.order import ordered
from parley_lab.kinds.stages.survey.reporting import SurveyData
from parley_lab.kinds.stages.survey.rules import KIND
from parley_lab.testing.views import own

Fields = Callable[[int], dict[str, Any]]
Orders = Callable[[SurveyStage, OwnView], list[Sequence[str]]]
"""The orders that a reader has, each of things that everybody has."""


def make_items(count: int) -> list[dict[str, str]]:
    return [{"id": f"x{number}", "text": f"X {number}"} for number in range(count)]


def of_rows(count: int) -> dict[str, Any]:
    asked = [{"id": "much", "kind": "number", "title": "{{row.text}}?"}]
    return {"rows": {"items": make_items(count), "shuffle": True, "order": "latin"}, "questions": asked}


def of_attributes(count: int) -> dict[str, Any]:
    attributes = {f"x{number}": [1, 2, 3] for number in range(count)}
    asked = [{"id": "much", "kind": "number", "title": "{{row.a}}?"}]
    return {"rows": {"attributes": attributes, "tasks": 2, "shuffle": True, "order": "latin"}, "questions": asked}


def of_questions(count: int) -> dict[str, Any]:
    asked = [{"id": one["id"], "kind": "number", "title": one["text"]} for one in make_items(count)]
    return {"questions": asked, "shuffle_questions": True, "order": "latin"}


def of_options(count: int) -> dict[str, Any]:
    choice = {"kind": "choice", "title": "Which?", "options": make_items(count)}
    grid = {"id": "grid", "kind": "grid", "title": "How much?", "rows": make_items(count)}
    asked = [{"id": "one", **choice}, {"id": "two", **choice}, grid]
    return {"questions": asked, "shuffle_options": True, "shuffle_grids": True, "order": "latin"}


def row_orders(stage: SurveyStage, view: OwnView) -> list[Sequence[str]]:
    return [[one.row.id for one in ordered(stage, view).questions if one.row]]


def attribute_orders(stage: SurveyStage, view: OwnView) -> list[Sequence[str]]:
    return [[*profile] for task in profiles_of(stage, view) for profile in task]


def question_orders(stage: SurveyStage, view: OwnView) -> list[Sequence[str]]:
    return [[one.id for one in ordered(stage, view).questions]]


def orders_within(stage: SurveyStage, view: OwnView) -> list[Sequence[str]]:
    asked = ordered(stage, view).questions
    grids = [[row.id for row in one.rows] for one in asked if isinstance(one, GridQuestion)]
    return [*(one.option_ids for one in asked if isinstance(one, OptionsQuestion)), *grids]


WAYS = [
    (of_rows, row_orders),
    (of_attributes, attribute_orders),
    (of_questions, question_orders),
    (of_options, orders_within),
]


def stage_of(fields: dict[str, Any]) -> SurveyStage:
    return SurveyStage.model_validate({"id": "page", **fields})


def view_of(path: str, seed: int) -> OwnView:
    me = Member(UUID(int=1), path, "participant", "agent", Profile(name="P"))
    return own(me, draws=OrderDraws().draw([], {}, Random(seed)))


@pytest.mark.parametrize(("fields", "orders"), WAYS)
@given(
    count=st.integers(2, 7),
    cycles=st.integers(1, 2),
    begin=st.integers(1, 30),
    path=st.sampled_from(["c{}/m1", "c7/m{}"]),
    seed=st.integers(0, 10**6),
)
def test_a_latin_square_balances_places_and_neighbours_over_whole_cycles(
    fields: Fields, orders: Orders, count: int, cycles: int, begin: int, path: str, seed: int
) -> None:
    stage, seats = stage_of(fields(count)), cycles * orders_in(count)

    by_seat = [orders(stage, view_of(path.format(number), seed)) for number in range(begin, begin + seats)]

    ids = [f"x{number}" for number in range(count)]
    assert KIND.problems(stage, []) == []
    for had in zip(*by_seat, strict=True):
        assert all(sorted(order) == ids for order in had)
        places = Counter((place, one) for order in had for place, one in enumerate(order))
        neighbours = Counter(pair for order in had for pair in pairwise(order))
        assert set(places.values()) == {seats // count}
        assert set(neighbours.values()) == {seats // count}


def test_the_questions_of_a_page_have_different_orders_of_options() -> None:
    found = orders_within(stage_of(of_options(4)), view_of("c1/m1", 1))

    assert len({tuple(order) for order in found}) == 3


@pytest.mark.parametrize("fields", [of_rows(4), of_questions(4), of_options(4), of_attributes(4)])
def test_the_order_of_a_square_is_the_same_in_form_page_prompt_and_data(fields: dict[str, Any]) -> None:
    stage, view = stage_of(fields), view_of("c2/m2", 5)
    question = SurveyQuestions(stage).question(view, Ask(view.me.id, PAGE, "page"))

    page = question.check(filled(question.form(), Random(1)))

    asked = ordered(stage, view).questions
    had = [one.id for one in asked]
    assert [field.name for field in question.form().fields] == had
    assert [one.id for one in KIND.page(stage, view).questions] == had
    prompt = KIND.prompt(stage, view, Ask(view.me.id, PAGE, "page"))[0].text
    assert [line for line in prompt.splitlines() if line.startswith("- ")] == [
        f"- {one.title} [{one.asked()}]" for one in asked
    ]
    cells, order = SurveyData(stage).cells(page), page[ORDER]
    if "rows" in order:
        assert [cells[f"{row_id}.place"] for row_id in order["rows"]] == [1, 2, 3, 4]
    if "questions" in order:
        assert cells["order"].split() == had
    assert SurveyStage.model_validate(stage.model_dump(mode="json")) == stage


RULED = [
    {"id": "a", "kind": "number", "title": "A"},
    {"id": "b", "kind": "number", "title": "B", "maximum": {"question": "a"}},
]


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({**of_questions(3), "shuffle_questions": False}, "order"),
        ({"questions": RULED, "shuffle_questions": True, "order": "latin"}, "questions[1]"),
        ({**of_rows(3), "rows": {**of_rows(3)["rows"], "shuffle": False}}, "rows.order"),
        ({**of_rows(3), "rows": {**of_rows(3)["rows"], "take": 2}}, "rows.take"),
    ],
)
def test_a_square_that_cannot_be_balanced_is_refused_with_its_place(fields: dict[str, Any], where: str) -> None:
    assert where in [one.where for one in KIND.problems(stage_of(fields), [])]


@pytest.mark.parametrize("fields", [of_rows(4), of_questions(4), of_options(4)])
def test_a_seat_that_is_given_again_keeps_its_order(fields: dict[str, Any]) -> None:
    stage = SurveyStage.model_validate({"id": "page", **fields})

    def had(path: str) -> Any:
        me = Member(UUID(int=1), path, "participant", "agent", Profile(name="P"))
        asked = ordered(stage, own(me, draws=OrderDraws().draw([], {}, Random(3)))).questions
        options = [one.option_ids for one in asked if isinstance(one, OptionsQuestion)]
        return [one.id for one in asked], options

    assert had("c1/m2.2") == had("c1/m2.3") == had("c1/m2")
    assert had("c1/m2") != had("c1/m3")
