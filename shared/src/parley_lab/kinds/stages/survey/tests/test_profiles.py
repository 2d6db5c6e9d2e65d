"""Tasks of profiles whose levels are drawn for each participant, as conjoint studies have them."""

from collections import Counter
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import PAGE, Ask, LabView, Member, OwnView
from parley_lab.kinds.questions.choices import ChoiceQuestion
from parley_lab.kinds.questions.drawn_rows import asked_of, profiles_of
from parley_lab.kinds.questions.own_order import OrderDraws
from parley_lab.kinds.scripted import filled
from parley_lab.kinds.stages.survey.asking import SurveyQuestions
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.kinds.stages.survey.reporting import SurveyData
from parley_lab.kinds.stages.survey.rules import KIND
from parley_lab.testing.views import own

ATTRIBUTES: dict[str, list[Any]] = {"price": [10, 20, 30], "colour": ["red", "blue"], "made_in": ["Bern", "Basel"]}
CHOOSE: dict[str, Any] = {
    "id": "choose",
    "kind": "choice",
    "title": "Which one?",
    "options": [{"id": "a", "text": "{{row.a}}"}, {"id": "b", "text": "{{row.b}}"}],
}
RATE = {"id": "rate", "kind": "scale", "title": "At {{row.a_price}}: how good?", "lower": 1, "upper": 5}
NEVER = [{"price": 10, "made_in": "Bern"}]


def survey(**rows: Any) -> SurveyStage:
    asked = {"attributes": ATTRIBUTES, "tasks": 4, "never": NEVER, "shuffle": True, **rows}
    return SurveyStage.model_validate({"id": "page", "rows": asked, "questions": [CHOOSE, RATE]})


def view_of(number: int, seed: int, **fields: Any) -> OwnView:
    me = Member(UUID(int=number), f"c1/m{number}", "participant", "agent", Profile(name=f"P{number}"))
    return own(me, draws=OrderDraws().draw([], {}, Random(seed)), **fields)


@given(st.integers(1, 200), st.integers(0, 10**6))
def test_a_task_has_different_profiles_that_are_allowed_in_one_order_of_attributes(number: int, seed: int) -> None:
    tasks = profiles_of(survey(), view_of(number, seed))

    assert len(tasks) == 4
    assert {tuple(profile) for task in tasks for profile in task} == {tuple(tasks[0][0])}
    assert sorted(tasks[0][0]) == sorted(ATTRIBUTES)
    for task in tasks:
        assert len({tuple(sorted(map(str, profile.items()))) for profile in task}) == 2
        assert not any(profile["price"] == 10 and profile["made_in"] == "Bern" for profile in task)
        assert all(profile[name] in levels for profile in task for name, levels in ATTRIBUTES.items())


def test_levels_are_as_likely_as_the_restrictions_leave_them() -> None:
    stage = survey(draw=1, tasks=2)
    drawn = [
        profile for number in range(1, 1001) for task in profiles_of(stage, view_of(number, 7)) for profile in task
    ]

    cells = Counter((profile["price"], profile["made_in"]) for profile in drawn)

    assert len(cells) == 5
    assert all(abs(count / 2000 - 1 / 5) < 0.04 for count in cells.values())


def test_what_is_asked_is_what_was_drawn_and_what_the_data_say() -> None:
    stage, view = survey(), view_of(3, 5)
    tasks, asked = profiles_of(stage, view), asked_of(stage, view)
    question = SurveyQuestions(stage).question(view, Ask(view.me.id, PAGE, "page"))
    page = question.check(filled(question.form(), Random(1)))
    data = SurveyData(stage)
    assert data.table is not None
    lines = data.table.rows(LabView(members=[view.me], answers={view.me.id: page and {PAGE: page}}))

    first = asked.questions[0]
    assert isinstance(first, ChoiceQuestion)
    assert first.options[0].text == "; ".join(f"{name.replace('_', ' ')}: {one}" for name, one in tasks[0][0].items())
    shown = KIND.page(stage, view).questions
    assert [one.title for one in shown] == [one.title for one in asked.questions]
    assert [(line["task"], line["profile"]) for line in lines] == [(task, one) for task in (1, 2, 3, 4) for one in "ab"]
    for line in lines:
        profile = tasks[line["task"] - 1]["ab".index(line["profile"])]
        assert {name: line[name] for name in ATTRIBUTES} == profile
        assert line["chosen"] == (page[f"{line['task']}.choose"] == line["profile"])
        assert line["attribute_order"] == " ".join(profile)
    titles = {line.field: line.label for line in data.answered(PAGE, page)}
    assert titles == {one.id: one.title for one in asked.questions}
    assert KIND.problems(stage, []) == []
    assert SurveyStage.model_validate(stage.model_dump(mode="json")) == stage


@pytest.mark.parametrize(
    ("rows", "where"),
    [
        ({"never": [{"size": 1}]}, "rows.never[0].size"),
        ({"never": [{"price": 11}]}, "rows.never[0].price"),
        ({"never": [{}]}, "rows.never[0]"),
        ({"attributes": {"price": [1, 2]}, "never": [], "draw": 3}, "rows.draw"),
        ({"attributes": {"price": [1, 1]}, "never": [], "draw": 1}, "rows.attributes.price"),
        ({"attributes": {"chosen": [1, 2]}, "never": []}, "rows.attributes.chosen"),
        ({"attributes": {"treatment": [1, 2]}, "never": []}, "rows.attributes.treatment"),
        ({"attributes": {"model": [1, 2]}, "never": []}, "rows.attributes.model"),
        ({"take": 1}, "rows.take"),
        ({"items": [{"what": "x"}], "attributes": {}}, "rows"),
    ],
)
def test_tasks_that_make_no_sense_say_where(rows: dict[str, Any], where: str) -> None:
    plain = [{"id": "choose", "kind": "scale", "title": "How good?"}]
    asked = {"attributes": ATTRIBUTES, "tasks": 2, "never": NEVER, **rows}
    stage = SurveyStage.model_validate({"id": "page", "rows": asked, "questions": plain})

    assert where in [one.where for one in KIND.problems(stage, [])]


@pytest.mark.parametrize(("answer", "chosen"), [("a", [True, False]), ("none", [False, False]), (None, [None, None])])
def test_a_profile_is_chosen_or_not_where_neither_can_be(answer: str | None, chosen: list[bool | None]) -> None:
    neither = {**CHOOSE, "options": [*CHOOSE["options"], {"id": "none", "text": "Neither"}]}
    rows = {"attributes": ATTRIBUTES, "tasks": 1}
    stage, view = SurveyStage.model_validate({"id": "page", "rows": rows, "questions": [neither]}), view_of(1, 1)
    page = SurveyQuestions(stage).question(view, Ask(view.me.id, PAGE, "page")).check({"1.choose": "b"})
    data = SurveyData(stage)
    assert data.table is not None

    lines = data.table.rows(LabView(members=[view.me], answers={view.me.id: {PAGE: {**page, "1.choose": answer}}}))

    assert [line["chosen"] for line in lines] == chosen
