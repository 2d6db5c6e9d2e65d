"""The order in which a participant has questions and options, where it is drawn."""

from collections.abc import Sequence
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import PAGE, Ask, Done, Member, OwnView
from parley_lab.kinds.questions.numeric_questions import GridQuestion
from parley_lab.kinds.questions.own_order import ORDER, OrderDraws
from parley_lab.kinds.questions.questions import BaseQuestion
from parley_lab.kinds.scripted import filled
from parley_lab.kinds.stages.survey.asking import SurveyQuestions
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.kinds.stages.survey.order import ordered, with_order
from parley_lab.kinds.stages.survey.reporting import SurveyData
from parley_lab.kinds.stages.survey.rules import KIND
from parley_lab.testing.views import own

OPTIONS = [{"id": one, "text": one.upper()} for one in "abcd"]
QUESTIONS: list[dict[str, Any]] = [
    {"id": "town", "kind": "choice", "title": "Town", "options": OPTIONS},
    {"id": "trips", "kind": "choices", "title": "Trips", "options": OPTIONS, "max_chosen": 4},
    {"id": "age", "kind": "number", "title": "Age"},
    {
        "id": "why",
        "kind": "text",
        "title": "Reason",
        "show_if": {"question": "age", "operator": "not_equals", "value": 0},
    },
    {"id": "so", "kind": "check", "title": "So?", "show_if": {"question": "why", "operator": "contains", "value": "x"}},
]


def survey(**fields: Any) -> SurveyStage:
    both = {"shuffle_questions": True, "shuffle_options": True}
    return SurveyStage.model_validate({"id": "page", "questions": QUESTIONS, **both, **fields})


def member(number: int, player: Any = "agent") -> Member:
    return Member(UUID(int=number), f"c1/m{number}", "participant", player, Profile(name=f"P{number}"))


def view_of(number: int, seed: int = 1, **fields: Any) -> OwnView:
    return own(member(number), draws=OrderDraws().draw([], {}, Random(seed)), **fields)


def ids(questions: Sequence[BaseQuestion]) -> list[str]:
    return [one.id for one in questions]


@given(st.integers(1, 500), st.integers(0, 10**6))
def test_a_rule_looks_only_at_questions_before_its_own(number: int, seed: int) -> None:
    had = ids(ordered(survey(), view_of(number, seed)).questions)

    assert sorted(had) == sorted(ids(survey().questions))
    assert had.index("age") < had.index("why") < had.index("so")


def test_each_participant_has_an_order_of_its_own_and_keeps_it() -> None:
    orders = {tuple(ids(ordered(survey(), view_of(number)).questions)) for number in range(1, 40)}

    assert len(orders) > 5
    assert ordered(survey(), view_of(7)) == ordered(survey(), view_of(7))


def test_page_form_prompt_and_shape_of_the_reply_have_the_same_order() -> None:
    stage, view = survey(), view_of(3)
    ask = Ask(view.me.id, PAGE, "page")
    question = SurveyQuestions(stage).question(view, ask)

    had = ids(ordered(stage, view).questions)
    shown = KIND.page(stage, view).model_dump()["questions"]
    lines = KIND.prompt(stage, view, ask)[0].text.splitlines()[1:]
    options = [option["id"] for option in next(one for one in shown if one["id"] == "town")["options"]]

    assert [one["id"] for one in shown] == had
    assert list(question.form().json_schema()["properties"]) == had
    assert list(question.reply_model().model_json_schema()["properties"]) == had
    assert [line.split(" ")[1] for line in lines] == [one["title"].split(" ")[0] for one in shown]
    assert question.reply_model().model_json_schema()["properties"]["town"]["enum"] == options
    assert options != list("abcd")


def test_the_order_is_stored_and_in_the_columns_and_answers_are_in_the_order_of_the_file() -> None:
    stage, view = survey(), view_of(3)
    question = SurveyQuestions(stage).question(view, Ask(view.me.id, PAGE, "page"))

    page = question.check({"town": "b", "trips": ["d", "a"], "age": 0})

    had = ordered(stage, view)
    data = SurveyData(stage)
    assert page["trips"] == ["a", "d"]
    assert page[ORDER]["questions"] == ids(had.questions)
    assert question.check(page) == page
    cells = data.cells(page)
    assert cells["order"] == " ".join(ids(had.questions))
    assert sorted(cells["town.order"].split()) == list("abcd")
    assert set(cells) <= {column.name for column in data.columns()}
    assert ORDER not in KIND.page(stage, own(view.me, draws=view.draws, own={PAGE: page})).answers
    assert ORDER not in SurveyQuestions(stage).shown(page)


@pytest.mark.parametrize("how", ["sequential", "independent"])
def test_asked_one_by_one_the_page_has_the_order_too(how: str) -> None:
    stage, entries, asked = survey(ask=how), dict[str, Any](), list[str]()
    while due := SurveyQuestions(stage).due(view := view_of(5, own=entries)):
        question = SurveyQuestions(stage).question(view, due[0])
        entries[due[0].key] = question.check(filled(question.form(), Random(1)))
        asked.append(due[0].key.removeprefix("question:"))

    done = KIND.completion(stage, view_of(5, own=entries))

    assert isinstance(done, Done)
    assert done.page is not None
    had = done.page[ORDER]["questions"]
    if how == "sequential":
        assert asked == [one for one in had if one in asked]


def test_a_question_may_not_have_the_name_of_the_column_of_the_order() -> None:
    named = [{**QUESTIONS[0], "id": "order"}]

    assert [one.where for one in KIND.problems(survey(questions=named), [])] == ["questions[0].id"]
    assert KIND.problems(survey(questions=named, shuffle_questions=False), []) == []


GRID = {"id": "g", "kind": "grid", "title": "G", "rows": [{"id": one, "text": one} for one in "abcde"]}


@given(st.integers(1, 500), st.integers(0, 10**6))
def test_questions_of_a_group_stay_together_and_rows_of_grids_are_shuffled(number: int, seed: int) -> None:
    asked = [
        {"id": f"{group}{place}", "kind": "check", "title": "T", "group": group} for group in "ab" for place in "123"
    ]
    stage = survey(questions=[*asked, GRID], groups={"a": {}, "b": {}}, shuffle_grids=True)

    had = ordered(stage, view_of(number, seed)).questions

    assert sorted(ids(had)) == sorted(ids(stage.questions))
    places = sorted(place for place, one in enumerate(had) if one.group == "a")
    assert places == [*range(places[0], places[0] + 3)]
    (grid,) = (one for one in had if isinstance(one, GridQuestion))
    assert sorted(row.id for row in grid.rows) == [*"abcde"]


def test_the_order_of_rows_is_in_the_data() -> None:
    stage = survey(questions=[GRID], shuffle_questions=False, shuffle_options=False, shuffle_grids=True)
    view = view_of(3)

    page = with_order(stage, view, {"g": dict.fromkeys("abcde", 1)})

    (grid,) = ordered(stage, view).questions
    assert isinstance(grid, GridQuestion)
    assert SurveyData(stage).cells(page)["g.order"] == " ".join(row.id for row in grid.rows)
    assert "g.order" in [one.name for one in SurveyData(stage).columns()]


BY: dict[str, Any] = {"id": "by", "kind": "choices", "title": "By?"}
NAMES = [{"id": "bus", "text": "Bus"}, {"id": "order", "text": "By order"}]


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"questions": [{**BY, "options": NAMES}], "shuffle_options": True}, "questions[0].options[1].id"),
        (
            {"questions": [{**BY, "kind": "grid", "rows": NAMES}], "shuffle_grids": True},
            "questions[0].rows[1].id",
        ),
        (
            {"questions": [{**BY, "options": NAMES}], "rows": [{"id": "a"}, {"id": "b"}], "shuffle_options": True},
            "questions[0].options[1].id",
        ),
        ({"questions": [{**BY, "options": NAMES}]}, None),
        ({"questions": [{**BY, "kind": "choice", "options": NAMES}], "shuffle_options": True}, None),
        ({"questions": [{**BY, "kind": "grid", "rows": NAMES}], "shuffle_options": True}, None),
    ],
)
def test_no_column_of_a_question_has_the_name_of_that_of_its_order(fields: dict[str, Any], where: str | None) -> None:
    stage = SurveyStage.model_validate({"id": "page", **fields})

    problems = KIND.problems(stage, [])

    names = [one.name for one in SurveyData(stage).columns()]
    assert [one.where for one in problems] == ([] if where is None else [where])
    assert (len(names) == len(set(names))) == (where is None)
