"""Mistakes in files that would only be seen in the run, or never: each is told at its place, with what to do."""

import json
from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import Stay
from parley_lab.design import Experiment, load, stays
from parley_lab.kinds.stages import kinds, parts_of, read_stage

WHY = {"id": "why", "kind": "text", "title": "Why?"}
ASK = {
    "id": "ask",
    "kind": "survey",
    "questions": [WHY, {"id": "age", "kind": "number", "title": "Age?", "minimum": 18}],
}
TALK = {"id": "talk", "kind": "group_chat"}
FILE: dict[str, Any] = {
    "parley": 1,
    "name": "Mistakes",
    "stages": [ASK, TALK],
    "personas": [{"id": "ana"}, {"id": "robot", "player": "script"}],
    "cohorts": [{"seats": [{"open": True}], "mediators": ["ana"]}],
}


def complaints(**changes: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as refused:
        load(json.dumps({**FILE, **changes}), "study.json")
    return [(one.where, one.expected) for one in refused.value.problems]


def asking(**fields: Any) -> dict[str, Any]:
    return {"stages": [{**ASK, **fields}, TALK]}


def default(**answer: Any) -> dict[str, Any]:
    return asking(stay={"at_most_seconds": 5, "then": "go_on", "default": answer})


def paying(**fields: Any) -> dict[str, Any]:
    return {"stages": [ASK, {"id": "pay", "kind": "payout", "items": [{"id": "come", "stage": "ask", **fields}]}]}


def mediating(*stages: str) -> dict[str, Any]:
    return {"personas": [{"id": "ana", "mediates_in": stages}]}


def grid(rows: int) -> dict[str, Any]:
    lines = [{"id": f"r{number}", "text": "Row"} for number in range(rows)]
    return asking(questions=[{"id": "g", "kind": "grid", "title": "Grid", "rows": lines}])


def in_an_arm(**fields: Any) -> dict[str, Any]:
    """The stage `ask` with other fields in one arm."""
    return {"treatments": [{"id": "a", "stages": {"ask": fields}}]}


WAITS = {"wait_for_all": True, "at_most_seconds": 60, "then": "fill"}
FIRST = "stages[0]"
MEANT = "(did you mean that?)"
MONEY = "an amount, such as 2.50"
TAG = "the tag of a language, such as en, de or pt-BR"
RESERVED = "another name: 'answers' is what is known of each reader"
ARRIVING = {"made": "on_arrival", "seats": [{"persona": "ana"}]}
GROUPED = {"made": "on_arrival", "groups_of": 2, "seats": [{"open": True, "count": 4}]}


@pytest.mark.parametrize(
    ("changes", "where", "expected"),
    [
        (default(wy="x", age=20), f"{FIRST}.stay.default.wy", "why (did you mean that?), or another field"),
        (default(why="x", age=3), f"{FIRST}.stay.default.age", "a number, at least 18"),
        (default(why="x"), f"{FIRST}.stay.default.age", "a number, at least 18"),
        (
            paying(base=1, rate=2),
            "stages[1].items[0].rate",
            "`points`, the column of numbers that is paid at this rate",
        ),
        (paying(base="much"), "stages[1].items[0].base", MONEY),
        (paying(base="3,00"), "stages[1].items[0].base", "3.00, with a point"),
        (paying(base="-1,5"), "stages[1].items[0].base", "-1.5, with a point"),
        (paying(base="1,000"), "stages[1].items[0].base", "1000 or 1.000: both can be meant"),
        (asking(stay={"at_most_seconds": "2,5"}), f"{FIRST}.stay.at_most_seconds", "2.5, with a point"),
        (paying(base=True), "stages[1].items[0].base", MONEY),
        (paying(questions={"why": "x"}), "stages[1].items[0].questions.why", MONEY),
        (paying(base="0.1234567"), "stages[1].items[0].base", "an amount with at most 6 decimals"),
        (
            asking(stand_in="ana"),
            f"{FIRST}.stand_in",
            "`when_gone: replace`, which it is for; or leave it out",
        ),
        (asking(stand_in="robot", when_gone="replace"), f"{FIRST}.stand_in", "one that a model speaks for"),
        ({"variables": {"answers": "x"}}, "variables.answers", RESERVED),
        ({"treatments": [{"id": "a", "variables": {"answers": 1}}]}, "treatments[0].variables.answers", RESERVED),
        (grid(51), f"{FIRST}.questions[0].rows", "a list with at most 50 entries"),
        (
            {"attention_checks": {"every_seconds": 30, "seconds": 31}},
            "attention_checks.seconds",
            "at most every_seconds, which is 30: one check at a time",
        ),
        (
            {"completion": {"completed": {"redirect": "prolific.com"}}},
            "completion.completed.redirect",
            "an address that begins with http:// or https://, without spaces",
        ),
        ({"completion": {"completed": {"code": 123456}}}, "completion.completed.code", 'text, in quotes: "123456"'),
        ({"name": False}, "name", 'text, in quotes: "false"'),
        ({"language": "german!"}, "language", TAG),
        ({"language": "english"}, "language", TAG),
        ({"language": "deut-DE"}, "language", TAG),
        (mediating("zz"), "personas[0].mediates_in[0]", "one of talk"),
        (
            mediating("tlk"),
            "personas[0].mediates_in[0]",
            "talk (did you mean that?), or another stage with a conversation",
        ),
        (mediating("ask"), "personas[0].mediates_in[0]", "one of talk"),
        (
            {**mediating("ask"), "stages": [ASK]},
            "personas[0].mediates_in[0]",
            "nothing: no stage of the experiment has a conversation, so a mediator has no place",
        ),
        (
            {"allocation": {"method": "simple"}},
            "allocation",
            "`treatments` or `factors` beside it; or leave it out",
        ),
        (
            {"treatments": [{"id": "a"}, {"id": "b"}], "allocation": {"block_cycles": 2}},
            "allocation.block_cycles",
            "`method: blocked` beside it: complete draws no blocks of so many cycles",
        ),
        (
            {"variables": {"town": "Chur"}, "join": {"text": "About {{town}} and {{nothing}}."}},
            "join.text",
            "the words themselves: nothing is filled in before people join",
        ),
        (
            in_an_arm(when_gone="replace"),
            "treatments[0]",
            "the id of the persona that plays on for a person who is gone",
        ),
        (
            in_an_arm(when_gone="replace", stand_in="anna"),
            "treatments[0].stages.ask.stand_in",
            f"ana {MEANT}, or another persona, or one that the persona library has",
        ),
        (
            in_an_arm(progress={**WAITS, "fill_with": "anna"}),
            "treatments[0].stages.ask.progress.fill_with",
            f"ana {MEANT}, or another persona, or one that the persona library has",
        ),
        (
            in_an_arm(progress={**WAITS, "fill_with": "robot"}),
            "treatments[0].stages.ask.progress.fill_with",
            "one that a model speaks for",
        ),
        (
            {
                **asking(progress={**WAITS, "fill_with": "ana"}),
                "treatments": [{"id": "a", "personas": {"ana": {"player": "script"}}}],
                "cohorts": [{"seats": [{"open": True}]}],
            },
            "treatments[0]",
            "one that a model speaks for",
        ),
        ({"cohorts": [ARRIVING]}, "cohorts[0].made", "a seat with `open: true`: people make the cohort by coming"),
        ({"cohorts": [GROUPED]}, "cohorts[0].groups_of", "nothing beside `made: on_arrival`"),
    ],
)
def test_a_mistake_is_told_at_its_place(changes: Any, where: str, expected: str) -> None:
    assert (where, expected) in complaints(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        default(why="x", age=20),
        paying(base=1, rate=1),
        asking(stand_in="ana", when_gone="replace"),
        {**asking(stand_in="ana"), "treatments": [{"id": "a", "stages": {"ask": {"when_gone": "replace"}}}]},
        in_an_arm(when_gone="replace", stand_in="ana"),
        in_an_arm(progress={**WAITS, "fill_with": "ana"}),
        {"variables": {"answer": "x"}},
        grid(50),
        {"attention_checks": {"every_seconds": 60}},
        {"language": "de-CH"},
        {"language": "gsw"},
        {"language": "zh-Hant-TW"},
        mediating("talk"),
    ],
)
def test_what_is_right_is_accepted(changes: Any) -> None:
    load(json.dumps({**FILE, **changes}), "study.json")


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_an_unknown_field_in_a_default_is_told_or_left_to_the_run(kind: str) -> None:
    """No kind fails when its question is asked of no one in particular; one that asks in steps takes no default."""
    stage = kinds()[kind].example().model_copy(update={"stay": Stay(then="go_on", default={"zz": 1})})
    if parts_of(stage).questions is None:
        return

    found = [one.where for one in stays.problems(stage)]

    asks_in_steps = kind in ("beauty_contest", "comprehension", "group_interview", "matrix_game", "stock_info")
    assert found == ["stay.default"] if asks_in_steps else found in ([], ["stay.default.zz"])


def test_a_text_that_is_checked_has_a_column_that_says_whether_it_was_right() -> None:
    stage = read_stage(
        {"id": "check", "kind": "comprehension", "questions": [{**WHY, "correct": "Because"}]},
    )
    data = parts_of(stage).data

    assert [one.name for one in data.columns()] == ["why", "why.correct", "attempts", "passed"]
    assert data.cells({"why": " because", "attempts": 2, "passed": True}) == {
        "why": " because",
        "why.correct": True,
        "attempts": 2,
        "passed": True,
    }


READ = {"id": "read", "kind": "info"}


@pytest.mark.parametrize(
    ("stage", "where", "found", "expected"),
    [
        ({"lines": ["Hello.", {"Note": "read this"}]}, "lines[1]", "an object with the field Note", 'Note: read this"'),
        ({"lines": [{"Rounds": 3}]}, "lines[0]", "an object with the field Rounds", 'Rounds: 3"'),
        ({"lines": [{"Note": None}]}, "lines[0]", "an object with the field Note", 'Note:"'),
        ({"lines": [{"He said": 'a "no"'}]}, "lines[0]", "an object with the field He said", """'He said: a "no"'"""),
        ({"lines": ["x"], "name": {"Part": "two"}}, "name", "an object with the field Part", 'Part: two"'),
        ({"lines": ["x"], "info": {"a": 1, "b": 2}}, "info", "an object with the fields a, b", "text"),
    ],
)
def test_a_text_that_was_read_as_an_object_gives_one_complaint(
    stage: dict[str, Any], where: str, found: str, expected: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        load(json.dumps({**FILE, "stages": [{**READ, **stage}]}), "study.json")

    told = [one for one in refused.value.problems if one.where.startswith("stages[0]")]

    assert [(one.where, one.found) for one in told] == [(f"stages[0].{where}", found)]
    assert told[0].expected.endswith(expected)


@pytest.mark.parametrize(
    ("changes", "where", "expected"),
    [
        (asking(stay=3), f"{FIRST}.stay", "an object with the fields at_least_seconds, at_most_seconds, default, then"),
        ({"limits": "many"}, "limits", "an object with the field calls"),
        ({"variables": 3}, "variables", "names with values, each written as `name: value`"),
    ],
)
def test_what_should_be_an_object_is_told_its_fields(changes: Any, where: str, expected: str) -> None:
    assert (where, expected) in complaints(**changes)


@pytest.mark.parametrize("language", ["english", "german!", "de_DE", "d", ""])
def test_a_language_that_is_no_tag_gives_one_complaint(language: str) -> None:
    assert complaints(language=language) == [("language", TAG)]


def test_a_stored_experiment_with_a_language_that_files_may_no_longer_have_is_read() -> None:
    stored = load(json.dumps(FILE), "study.json").model_dump(mode="json") | {"language": "english"}

    assert Experiment.model_validate(stored).language == "english"


@pytest.mark.parametrize("names", [5, None, [{}]])
def test_names_that_are_no_names_are_refused_with_their_place(names: object) -> None:
    rows = {"items": [{"what": "x"}], "names": names}

    found = complaints(stages=[{**ASK, "rows": rows}])

    assert any("names" in where for where, _ in found)
