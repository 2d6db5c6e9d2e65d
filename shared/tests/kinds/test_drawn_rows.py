"""Rows that are drawn, in the kinds beside a survey that ask about rows: page, prompt and data of a seat agree."""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import Profile
from parley_lab.design import validate
from parley_lab.kinds import PAGE, Ask, Done, Member, OwnView, Substitute, UnusableReply
from parley_lab.kinds.questions.own_order import ORDER, without_order
from parley_lab.kinds.scripted import filled
from parley_lab.kinds.stages import kind_of, parts_of, read_stage
from parley_lab.kinds.view import first_seat
from parley_lab.testing.views import lab, own

Json = Any
TOPICS = ("peak", "tower")
ITEMS = [
    {"id": f"r{number}", "what": f"thing {number}", "topic": TOPICS[number % 2], "low": number, "high": 100 + number}
    for number in range(8)
]
LEVELS = {"anchor": ["low", "high"]}
DRAWN: dict[str, Json] = {"items": ITEMS, "shuffle": True, "take": 4, "by": "topic", "levels": LEVELS}
LATIN: dict[str, Json] = {"items": ITEMS, "shuffle": True, "order": "latin", "levels": LEVELS}
GUESS = {"id": "guess", "kind": "number", "title": "Is {{row.what}} more than {{row.anchor}}?"}
KINDS = {"comprehension": {**GUESS, "correct": "{{row.anchor}}"}, "survey_per_participant": GUESS}
ANA, BEN, CID = (
    Member(UUID(int=number), f"c1/m{number}", "participant", "agent", Profile(name=name), seat=number)
    for number, name in enumerate(("Ana", "Ben", "Cid"), start=1)
)
of_each_kind = pytest.mark.parametrize("kind", [*KINDS])


def stage_of(kind: str, rows: Json = DRAWN, **fields: Json) -> Json:
    return read_stage({"id": "page", "kind": kind, "rows": rows, "questions": [KINDS[kind]], **fields})


def draws_of(stage: Json, seed: int = 1) -> dict[str, Json]:
    draws = parts_of(stage).draws
    assert draws is not None
    return draws.draw([ANA, BEN, CID], {}, Random(seed))


def view_of(stage: Json, me: Member = ANA, seed: int = 1, **fields: Json) -> OwnView:
    others = [one for one in (ANA, BEN, CID) if one.id != me.id]
    return own(me, *others, draws=draws_of(stage, seed), **fields)


def ask_of(stage: Json) -> Ask:
    return Ask(ANA.id, "attempt:1" if stage.kind == "comprehension" else PAGE, "")


def form_of(stage: Json, view: OwnView) -> Json:
    question = parts_of(stage).questions.question(view, ask_of(stage))  # type: ignore[union-attr]  # it asks
    return question.form()  # type: ignore[union-attr]


def without_tag(name: str) -> str:
    """`r1.guess` for `p2_r1.guess`."""
    return name.partition("_")[2] or name


@of_each_kind
@given(seed=st.integers(0, 10**6), rows=st.sampled_from([DRAWN, LATIN]), me=st.sampled_from([ANA, BEN, CID]))
def test_page_form_prompt_and_data_are_about_the_same_rows(kind: str, seed: int, rows: Json, me: Member) -> None:
    stage = stage_of(kind, rows)
    view = view_of(stage, me, seed)
    questions, data = parts_of(stage).questions, parts_of(stage).data
    assert questions is not None

    shown = kind_of(stage).page(stage, view).model_dump()["questions"]
    asked = questions.question(view, ask_of(stage))
    assert asked is not None
    fields = [without_tag(name) for name in asked.form().json_schema()["properties"]]
    prompt = kind_of(stage).prompt(stage, view, ask_of(stage))[0].text
    given = asked.check(filled(asked.form(), Random(seed)))
    lines = data.answered(PAGE, given)
    cells = data.cells(given)

    titles = {one["id"]: one["title"] for one in shown}
    assert list(dict.fromkeys(fields)) == list(titles)
    assert [title for title in titles.values() if f"- {title} [" in prompt] == list(titles.values())
    assert prompt.count("more than") == len(titles)
    assert asked.check(given) == given
    assert questions.shown(given) == without_order(given)
    places = {row_id: place for place, row_id in enumerate([name.partition(".")[0] for name in titles], start=1)}
    for line in lines:
        assert line.row is not None
        assert line.label.startswith(titles[without_tag(line.field)])
        assert cells[f"{line.row.id}.place"] == line.row.place == places[line.row.id]
        assert cells[f"{line.row.id}.anchor"] == line.row.levels["anchor"]
    assert {line.row.id for line in lines if line.row} == {*places}
    assert set(cells) <= {column.name for column in data.columns()}
    if rows is DRAWN:
        topics = {item["id"]: item["topic"] for item in ITEMS}
        assert Counter(topics[one] for one in places) == dict.fromkeys(TOPICS, 2)
    assert len({*Counter(given[ORDER]["levels"][one]["anchor"] for one in places).values()}) == 1


@of_each_kind
@given(seed=st.integers(0, 10**6))
def test_a_person_an_agent_and_a_script_are_asked_the_same(kind: str, seed: int) -> None:
    stage = stage_of(kind)
    asked = []
    for player in ("person", "agent", "script"):
        view = view_of(stage, replace(ANA, player=player), seed)
        asked.append((form_of(stage, view).json_schema(), kind_of(stage).page(stage, view).model_dump()["questions"]))

    assert asked[0] == asked[1] == asked[2]


@given(seed=st.integers(0, 10**6))
def test_an_answer_is_right_by_the_drawn_level_of_its_row(seed: int) -> None:
    stage = stage_of("comprehension")
    view = view_of(stage, seed=seed)
    right = {one.id: one.row.values["anchor"] for one in _rows_of(stage, view)}
    asked = parts_of(stage).questions.question(view, ask_of(stage))  # type: ignore[union-attr]
    first = next(iter(right))
    given = [asked.check({**right, first: -1}), asked.check(right)]  # type: ignore[union-attr]

    done = kind_of(stage).completion(stage, replace(view, own={"attempt:1": given[0], "attempt:2": given[1]}))
    entries = {(ANA.id, "attempt:1"): given[0], (ANA.id, "attempt:2"): given[1]}
    table = parts_of(stage).data.table
    assert table is not None
    rows = [*table.rows(lab(ANA, given=entries, draws=view.draws))]

    assert isinstance(done, Done)
    assert parts_of(stage).data.cells(done.page)["passed"] is True
    assert {line.is_correct for line in parts_of(stage).data.answered(PAGE, done.page)} == {True}
    assert [row["question"] for row in rows if not row["is_correct"]] == [first]
    assert len(rows) == 8
    scripts = parts_of(stage).scripts
    assert scripts is not None
    script = replace(ANA, player="script")
    assert [*scripts.play(lab(script, draws=view.draws), Random).values()] == [given[1]]


def _rows_of(stage: Json, view: OwnView) -> list[Json]:
    by_id = {one.id: one for row in stage.variants.values() for one in row}
    levels = form_of(stage, view).json_schema()["properties"]
    of_level = {one.title: one for row in stage.variants.values() for one in row}
    assert set(levels) <= set(by_id)
    return [of_level[field["title"]] for field in levels.values()]


@pytest.mark.parametrize("how", ["sequential", "independent"])
def test_the_page_of_an_agent_that_was_asked_about_each_alone_has_its_rows(how: str) -> None:
    stage = stage_of("survey_per_participant", ask=how)
    questions = parts_of(stage).questions
    assert questions is not None
    entries: dict[str, Json] = {}
    while due := questions.due(view_of(stage, own=entries)):
        question = questions.question(view_of(stage, own=entries), due[0])
        assert question is not None
        entries[due[0].key] = question.check(filled(question.form(), Random(1)))
    (line, *_) = parts_of(stage).data.answered(*next(iter(entries.items())))

    done = kind_of(stage).completion(stage, view_of(stage, own=entries))

    assert isinstance(done, Done)
    assert len(done.page[ORDER]["rows"]) == 4  # type: ignore[index]
    assert (line.row.place, line.row.levels, line.text) == (None, {}, None)  # type: ignore[union-attr]
    table = parts_of(stage).data.table
    assert table is not None
    assert len([*table.rows(lab(ANA, BEN, CID, given={(ANA.id, PAGE): done.page}, draws=draws_of(stage)))]) == 2 * 4


@of_each_kind
def test_a_script_answers_a_question_in_each_row_and_one_row_otherwise(kind: str) -> None:
    stage = stage_of(kind, {"items": ITEMS[:2], "shuffle": True, "levels": LEVELS})
    scripts = parts_of(stage).scripts
    assert scripts is not None
    script = {"answers": {"guess": 7, "r1.guess": 8}}
    me = replace(ANA, player="script", script={"page": script})
    view = view_of(stage, me)

    assert scripts.problems(script) == []
    assert [one.where for one in scripts.problems({"answers": {"gess": 7}})] == ["answers.gess"]
    if kind == "comprehension":
        (given,) = scripts.play(lab(me, draws=view.draws), Random).values()
    else:
        given = scripts.page(view, Random(1))
    assert {without_tag(name): value for name, value in without_order(given).items()} == {"r0.guess": 7, "r1.guess": 8}


@of_each_kind
def test_what_was_filled_in_by_half_and_what_a_model_never_answered_keeps_the_rows(kind: str) -> None:
    stage = stage_of(kind)
    question = parts_of(stage).questions.question(view_of(stage), ask_of(stage))  # type: ignore[union-attr]
    assert question is not None
    names = list(question.form().json_schema()["properties"])
    instead = question.without_answer([UnusableReply("", {names[0]: 5}, "no")])
    begun = question.filled_in({names[0]: 5}, {})

    assert isinstance(instead, Substitute)
    assert instead.value[ORDER]["rows"]
    assert instead.value[names[0]] == 5
    assert begun is None or begun.value[ORDER]["rows"]


@pytest.mark.parametrize(
    ("kind", "rows", "where"),
    [
        ("comprehension", {"attributes": {"price": [1, 2]}}, "stages[0].rows.attributes"),
        ("survey_per_participant", {"attributes": {"price": [1, 2]}}, "stages[0].rows.attributes"),
        ("comprehension", {**DRAWN, "take": 9}, "stages[0].rows.take"),
        ("survey_per_participant", {**DRAWN, "take": 3}, "stages[0].rows.take"),
        ("comprehension", {**DRAWN, "by": "colour"}, "stages[0].rows.by"),
        ("comprehension", {**DRAWN, "levels": {"place": ["low", "high"]}}, "stages[0].rows.levels.place"),
    ],
)
def test_draws_that_cannot_be_are_refused_where_they_are_written(kind: str, rows: Json, where: str) -> None:
    asked = {name: part for name, part in KINDS[kind].items() if name != "correct"}
    right = {"correct": 1} if kind == "comprehension" else {}
    stage = {"id": "page", "kind": kind, "rows": rows, "questions": [{**asked, **right}]}
    file = {"parley": 1, "name": "A", "stages": [stage], "cohorts": [{"seats": [{"open": True, "count": 2}]}]}

    with pytest.raises(InvalidInput) as refused:
        validate(file)

    assert where in [one.where for one in refused.value.problems]


@pytest.mark.parametrize("path", ["c2/m3", "c2/m3.2", "c2/m3-2", "c2/m3-12"])
def test_a_seat_that_is_given_again_keeps_its_number(path: str) -> None:
    assert first_seat(path) == "c2/m3"
