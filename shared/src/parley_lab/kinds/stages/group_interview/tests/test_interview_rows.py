"""An interview about rows: which tasks a cohort has, in which order, and what the data say of it."""

from collections import Counter
from itertools import groupby
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import StageConfig
from parley_lab.design import validate
from parley_lab.kinds import PAGE, Done
from parley_lab.kinds.data import RowAsked
from parley_lab.kinds.stages.group_interview import flow
from parley_lab.kinds.stages.group_interview.config import GroupInterviewStage
from parley_lab.kinds.stages.group_interview.rules import KIND, InterviewDraws
from parley_lab.kinds.stages.group_interview.transcript import lines
from parley_lab.testing.interviews import LABELS, PLAYERS, Course

ITEMS = [
    {"id": name, "what": f"the {name}", "topic": topic}
    for name, topic in (("bus", "road"), ("tram", "rail"), ("bike", "road"), ("train", "rail"))
]
RANGE = {"type": "range", "low": 0, "high": 10}
TASKS: list[dict[str, Any]] = [
    {
        "id": "talk",
        "type": "discussion",
        "variable": "talk",
        "text": "What about {{row.what}}?",
        "show_if": {"row": "topic", "value": "rail"},
    },
    {
        "id": "much",
        "type": "private_question",
        "variable": "coins",
        "variable_type": "integer",
        "questions": [{"role": role, "text": "How much for {{row.what}}?", "options": RANGE} for role in LABELS],
    },
]


def interview(rows: Any, tasks: list[dict[str, Any]] = TASKS) -> GroupInterviewStage:
    roles = [{"label": label} for label in LABELS]
    return GroupInterviewStage.model_validate({"id": "plans", "roles": roles, "rows": rows, "tasks": tasks})


def where(stage: StageConfig) -> list[str]:
    return [one.where for one in KIND.problems(stage, [])]  # type: ignore[arg-type]  # an interview


def play(stage: GroupInterviewStage) -> Course:
    course = Course(stage)
    while asks := course.asks:
        for ask in asks:
            course.answer(ask, "7")
    return course


def test_tasks_come_once_for_each_row_where_their_rules_are_true() -> None:
    course = play(interview(ITEMS[:2]))

    said = [one for one in lines(course.stage, course.view.draws, course.view.state, None) if one.is_read_out]
    done = KIND.completion(course.stage, course.own(PLAYERS[0].id))

    assert [(one.task_id, one.text.partition("?")[0]) for one in said] == [
        ("bus.much", "How much for the bus"),
        ("tram.talk", "What about the tram"),
        ("tram.much", "How much for the tram"),
    ]
    assert isinstance(done, Done)
    data = KIND.parts(course.stage).data
    assert data.cells(done.page)["tram.coins"] == 7
    rows = {one.field: one.row for one in data.answered(PAGE, done.page)}
    assert rows == {
        "bus.coins": RowAsked("bus", "coins", 1),
        "tram.talk": RowAsked("tram", "talk", 2),
        "tram.coins": RowAsked("tram", "coins", 2),
    }


@given(st.integers(0, 10**6), st.sampled_from([None, 2, 4]), st.booleans())
def test_a_cohort_has_the_rows_that_were_drawn_for_it_each_with_all_its_tasks(
    seed: int, take: int | None, shuffle: bool
) -> None:
    by = {} if take is None else {"take": take, "by": "topic"}
    stage = interview({"items": ITEMS, "shuffle": shuffle, **by}, [{**one, "show_if": None} for one in TASKS])

    draws = InterviewDraws(stage).draw(PLAYERS, {}, Random(seed))
    asked = flow.tasks_in_order(stage, draws)

    rows = [one for one, _ in groupby(one.row.id for one in asked if one.row)]
    assert [one.id for one in asked] == [f"{row}.{task}" for row in rows for task in ("talk", "much")]
    assert len(set(rows)) == len(rows) == (take or 4)
    assert set(Counter(one.row.values["topic"] for one in asked if one.row).values()) == {len(rows)}
    assert shuffle or rows == [one["id"] for one in ITEMS if one["id"] in rows]
    assert [flow.place_of(stage, one, draws) for one in asked[::2]] == (
        [*range(1, len(rows) + 1)] if shuffle or take else [None] * 4
    )
    assert InterviewDraws(stage).draw(PLAYERS, draws, Random(seed + 1)) == draws


def test_the_place_of_a_drawn_row_is_in_the_data() -> None:
    course = play(interview({"items": ITEMS, "shuffle": True, "take": 2}))

    done = KIND.completion(course.stage, course.own(PLAYERS[1].id))
    data = KIND.parts(course.stage).data

    assert isinstance(done, Done)
    cells, answered = data.cells(done.page), data.answered(PAGE, done.page)
    assert {line.row.place for line in answered if line.row} == {1, 2}
    assert all(cells[f"{line.row.id}.place"] == line.row.place for line in answered if line.row)
    assert {*cells} <= {column.name for column in data.columns()}


def test_it_is_written_as_the_file_has_it_and_without_rows_as_it_always_was() -> None:
    stage = interview({"items": ITEMS, "shuffle": True})

    written = stage.model_dump(mode="json", exclude_defaults=True)

    assert [one["id"] for one in written["tasks"]] == ["talk", "much"]
    assert GroupInterviewStage.model_validate(stage.model_dump(mode="json")) == stage
    assert "rows" not in KIND.example().model_dump(mode="json")


@pytest.mark.parametrize(
    ("stage", "place"),
    [
        (interview({"items": ITEMS, "levels": {"size": ["what", "topic"]}}), "rows.levels"),
        (interview({"items": ITEMS, "shuffle": True, "order": "latin"}), "rows.order"),
        (interview({"attributes": {"price": [1, 2]}}), "rows.attributes"),
        (interview(ITEMS, [{**TASKS[0], "text": "{{row.colour}}?"}]), "tasks[0].text"),
        (interview(ITEMS, [{**TASKS[0], "show_if": {"row": "colour", "value": 1}}]), "tasks[0].show_if.row"),
        (interview({"items": ITEMS, "shuffle": True}, [{**TASKS[1], "variable": "place"}]), "tasks"),
        (interview(ITEMS, [TASKS[0], {**TASKS[1], "id": "talk"}]), "tasks[1].id"),
    ],
)
def test_what_a_group_cannot_have_says_where(stage: GroupInterviewStage, place: str) -> None:
    assert place in where(stage)


def test_the_columns_of_a_task_are_known_to_rules_only_where_there_are_rows() -> None:
    stage = interview(ITEMS).model_dump(mode="json")
    file = {"parley": 1, "name": "A", "stages": [stage], "cohorts": [{"seats": [{"open": True, "count": 3}]}]}
    validate(file)

    without = {**stage, "rows": None, "tasks": [{**TASKS[0], "text": "So?"}]}
    with pytest.raises(InvalidInput) as refused:
        validate({**file, "stages": [without]})

    assert [one.where for one in refused.value.problems] == ["stages[0].tasks[0].show_if.row"]
