"""Designs that cannot be: every problem is told, with its place."""

from typing import Any

import pytest

from parley_lab.design import validate
from parley_lab.design.allocation import allocate
from parley_lab.kinds.stages import kinds
from parley_lab.testing.experiment_files import CHOICE, INFO, SURVEY, TALK, complaints, file


def test_the_beginning_of_a_name_is_taken_for_that_name() -> None:
    said = complaints(file(personas=[{"id": "ana", "chat": {"min_messages": 3}}]))

    assert said["personas[0].chat.min_messages"][1].startswith("min_messages_before_responding (did you mean that?)")


def test_all_problems_are_told_at_once_with_their_place() -> None:
    broken = file(
        parley=2,
        nam="x",
        stages=[
            {**INFO, "kind": "inf"},
            {**INFO, "id": "A b"},
            {"id": "welcome", "kind": "group_chat", "time_limit_seconds": -1, "progress": {"wait": True}},
            {**SURVEY, "questions": [{**CHOICE, "options": 5}, {"id": "s"}]},
            {"id": "last"},
            5,
        ],
        cohorts=[{"seats": [{"persona": "bob"}, {"open": True, "persona": "ana"}, {}], "mediators": ["eve"]}],
    )
    del broken["name"]

    said = complaints(broken)

    assert set(said) == {
        "parley",
        "nam",
        "name",
        "stages[0].kind",
        "stages[1].id",
        "stages[2].id",
        "stages[2].time_limit_seconds",
        "stages[2].progress.wait",
        "stages[3].questions[0].options",
        "stages[3].questions[1].kind",
        "stages[4].kind",
        "stages[5]",
        "cohorts[0].seats[0].persona",
        "cohorts[0].seats[1]",
        "cohorts[0].seats[2]",
        "cohorts[0].mediators[0]",
    }
    assert said["parley"] == ("2", "1")
    assert "did you mean" in said["stages[0].kind"][1]
    assert "info" in said["stages[0].kind"][1]
    assert said["nam"] == ("an unknown field", "name (did you mean that?), or another field")
    assert said["stages[3].questions[0].options"] == ("5", "a list")
    assert said["stages[2].time_limit_seconds"] == ("-1", "more than 0")


@pytest.mark.parametrize("part", ["stages", "personas", "cohorts", "treatments"])
def test_ids_are_given_once(part: str) -> None:
    one = {"stages": INFO, "personas": {"id": "ana"}, "treatments": {"id": "t"}}
    cohort = {"id": "c", "seats": [{"open": True}]}

    said = complaints(file(**{part: [one.get(part, cohort)] * 2}))

    assert f"{part}[1].id" in said


def test_an_unreasonable_number_of_members_is_refused() -> None:
    assert "cohorts" in complaints(file(cohorts=[{"seats": [{"open": True, "count": 10_000}], "count": 10_000}]))


def test_problems_of_a_stage_have_the_path_of_the_stage() -> None:
    stages = [INFO, {**SURVEY, "questions": [{**CHOICE, "correct": "z"}]}]

    assert complaints(file(stages=stages)) == {"stages[1].questions[0].correct": ("'z'", "one of the options a")}


def test_an_undefined_variable_is_told_where_it_is() -> None:
    said = complaints(
        file(
            variables={"town": "Altmere"},
            stages=[{**INFO, "lines": ["{{town}}", "{{twon}}"]}],
            personas=[{"id": "ana", "text": "{{who}}", "model": {"extra_body": {"t": "{{left alone}}"}}}],
        )
    )

    assert said == {
        "stages[0].lines[1]": ("`{{twon}}`", "one of the variables town"),
        "personas[0].text": ("`{{who}}`", "one of the variables town"),
    }


def test_a_variable_must_be_set_by_every_arm() -> None:
    treatments = [{"id": "t", "variables": {"x": 1}}, {"id": "u"}]

    said = complaints(file(stages=[{**INFO, "lines": ["{{x}}"]}], treatments=treatments))

    assert set(said) == {"stages[0].lines[0]"}


@pytest.mark.parametrize(
    ("treatment", "where"),
    [
        ({"stages": {"nowhere": {}}}, "stages.nowhere"),
        ({"personas": {"nobody": {}}}, "personas.nobody"),
        ({"leave_out": ["nowhere"]}, "leave_out[0]"),
        ({"leave_out": ["welcome", "ask"]}, "leave_out"),
        ({"order": {"b": ["welcome"]}}, "order.b"),
        ({"stages": {"welcome": {"id": "other"}}}, "stages.welcome.id"),
        ({"stages": {"welcome": {"lines": []}}}, "stages.welcome.lines"),
        ({"stages": {"welcome": {"linse": []}}}, "stages.welcome.linse"),
        ({"stages": {"ask": {"questions": [{**CHOICE, "correct": "z"}]}}}, "stages.ask.questions[0].correct"),
        ({"stages": {"ask": {"questions": [{**CHOICE, "opt": 1}]}}}, "stages.ask.questions[0].opt"),
        ({"personas": {"ana": {"chat": {"words_per_minute": -1}}}}, "personas.ana.chat.words_per_minute"),
        ({"model": {"temperature": 9}}, "model.temperature"),
        ({"stages": {"welcome": {"lines": ["{{x}}"]}}}, "stages.welcome.lines[0]"),
    ],
)
def test_a_treatment_that_cannot_be_applied_says_where(treatment: dict[str, Any], where: str) -> None:
    assert set(complaints(file(treatments=[{"id": "t", **treatment}]))) == {f"treatments[0].{where}"}


def test_a_treatment_that_takes_a_question_away_from_a_rule_is_a_problem() -> None:
    rule = {"stage": "ask", "question": "q", "value": "a"}
    later = {"id": "later", "kind": "survey", "questions": [{"id": "w", "kind": "text", "title": "W", "show_if": rule}]}
    stages = [SURVEY, later]

    assert validate(file(stages=stages)).stages
    assert set(complaints(file(stages=stages, treatments=[{"id": "t", "leave_out": ["ask"]}]))) == {"treatments[0]"}


def test_a_treatment_names_a_block_completely() -> None:
    blocks = [{**INFO, "id": name, "block": "b"} for name in ("x", "y", "z")]

    said = complaints(file(stages=blocks, treatments=[{"id": "t", "order": {"b": ["x", "y"]}}]))

    assert said == {"treatments[0].order.b": ("x, y", "each of x, y, z once")}


@pytest.mark.parametrize("kind", ["info", "group_chat", "matrix_game"])
def test_only_a_stage_that_asks_for_itself_has_an_audience(kind: str) -> None:
    stage = {**kinds()[kind].example().model_dump(mode="json"), "audience": "cohort"}

    where = complaints(file(stages=[stage]))

    assert where["stages[0].audience"][0] == "cohort"


def test_a_cohort_cannot_name_a_treatment_that_is_not_there() -> None:
    cohorts = [{"seats": [{"open": True}], "treatment": "t"}]

    assert set(complaints(file(cohorts=cohorts))) == {"cohorts[0].treatment"}


INTERVIEW = {
    "id": "interview",
    "kind": "group_interview",
    "roles": [{"label": "A"}, {"label": "B"}],
    "tasks": [{"id": "talk", "type": "discussion", "text": "Well?", "variable": "talk"}],
}


@pytest.mark.parametrize(
    ("draws", "where"),
    [
        ({"interview": {"speakers": ["B", "A"], "tasks": ["talk"]}}, []),
        ({"interview": {"speakers": ["B", "B"]}}, ["cohorts[0].draws.interview.speakers"]),
        ({"interview": {"names": ["B"]}}, ["cohorts[0].draws.interview.names"]),
        ({"welcome": {"speakers": ["B", "A"]}}, ["cohorts[0].draws.welcome"]),
        ({"game": {"rounds": 3}}, ["cohorts[0].draws.game.rounds"]),
        ({"nowhere": {}}, ["cohorts[0].draws"]),
    ],
)
def test_what_a_cohort_settles_is_checked_by_the_kind_of_its_stage(draws: dict[str, Any], where: list[str]) -> None:
    game = {"id": "game", "kind": "matrix_game"}
    pair = {"seats": [{"persona": "ana"}, {"persona": "ana"}], "draws": draws}
    value = file(stages=[INFO, INTERVIEW, game], cohorts=[pair])

    assert sorted(complaints(value) if where else []) == where
    assert where or validate(value).cohorts[0].draws == draws


@pytest.mark.parametrize(
    ("prompts", "where"),
    [
        ({"tlk": []}, "prompts.tlk"),
        ({"talk": [{"type": "tsk"}]}, "prompts.talk[0].type"),
        ({"talk": [{"type": "text", "txt": "Hi."}]}, "prompts.talk[0].txt"),
        ({"talk": [{"type": "text", "text": "{{nobody}}"}]}, "prompts.talk[0].text"),
        ({"group_chat": [{"type": "stage_context", "stage": "tlk"}]}, "prompts.group_chat[0].stage"),
        (
            {
                "talk": [
                    {
                        "type": "group",
                        "items": [{"type": "task", "show_if": {"stage": "no", "question": "q", "value": 1}}],
                    }
                ]
            },
            "prompts.talk[0].items[0].show_if.stage",
        ),
        (
            {"talk": [{"type": "task", "show_if": {"all": [{"stage": "ask", "question": "r", "value": 1}]}}]},
            "prompts.talk[0].show_if.all[0].question",
        ),
        ({"talk": [{"type": "task", "show_if": {"question": "q", "value": 1}}]}, "prompts.talk[0].show_if.question"),
        ({"talk": [{"type": "group", "items": [], "shuffle": {"seed": "room"}}]}, "prompts.talk[0].shuffle.seed"),
    ],
)
def test_a_prompt_that_leads_nowhere_is_a_problem_with_its_place(prompts: dict[str, Any], where: str) -> None:
    said = complaints(file(stages=[SURVEY, TALK], personas=[{"id": "ana", "prompts": prompts}]))

    assert where in {place.removeprefix("personas[0].") for place in said}


def test_a_mock_script_is_checked_with_the_file() -> None:
    script = {
        "stage_lines": {"welcom": ["Hello."]},
        "after_lines": "plausibel",
        "silence": 2,
        "latency_seconds": [3, 1],
        "failures": [{"status": "ok"}, {"status": "timeout", "attempts": [0]}],
    }

    said = complaints(file(personas=[{"id": "ana", "mock": script}]))

    assert set(said) == {
        "personas[0].mock.after_lines",
        "personas[0].mock.silence",
        "personas[0].mock.failures[0].status",
        "personas[0].mock.failures[1].attempts[0]",
    }
    assert "plausible" in said["personas[0].mock.after_lines"][1]


def test_a_mock_script_names_stages_that_there_are() -> None:
    script = {"stage_lines": {"welcome": ["Hello."]}, "failures": [{"status": "timeout", "stages": ["talk"]}]}

    said = complaints(file(personas=[{"id": "ana", "mock": script}]))

    assert set(said) == {"personas[0].mock.stage_lines.welcome", "personas[0].mock.failures[0].stages[0]"}


def test_the_least_latency_is_before_the_most() -> None:
    said = complaints(file(personas=[{"id": "ana", "mock": {"latency_seconds": [3, 1]}}]))

    assert list(said) == ["personas[0].mock"]


@pytest.mark.parametrize("latency", ["soon", [1], [1, 2, 3], -1])
def test_a_latency_is_a_number_or_two(latency: object) -> None:
    said = complaints(file(personas=[{"id": "ana", "mock": {"latency_seconds": latency}}]))

    assert said
    assert all(where.startswith("personas[0].mock.latency_seconds") for where in said)


@pytest.mark.parametrize(
    ("page", "where"),
    [
        ({"parameters": ["STUDY ID"]}, "join.parameters[0]"),
        ({"parameters": [""]}, "join.parameters[0]"),
        ({"parameters": ["a" * 65]}, "join.parameters[0]"),
        ({"parameters": [f"P{number}" for number in range(21)]}, "join.parameters"),
        ({"parameters": ["STUDY_ID", "SESSION_ID", "STUDY_ID"]}, "join.parameters[2]"),
        ({"parameters": ["STUDY_ID", "PROLIFIC_PID"]}, "join.parameters[1]"),
        ({"parameters": ["pid"], "external_id": "pid"}, "join.parameters[0]"),
        ({"parameters": ["new"]}, "join.parameters[0]"),
        ({"parameters": "STUDY_ID"}, "join.parameters"),
    ],
)
def test_parameters_of_the_link_are_named_once_and_mean_nothing_else(page: dict[str, Any], where: str) -> None:
    assert list(complaints(file(join=page))) == [where]


def test_twenty_parameters_of_the_link_can_be_kept() -> None:
    names = ["STUDY_ID", "utm.source", "session-id", *(f"P{number}" for number in range(17))]

    assert validate(file(join={"parameters": names, "external_id": ""})).join.parameters == tuple(names)


def test_a_file_without_parameters_is_stored_as_the_version_before_stores_it() -> None:
    page = validate(file(join={"title": "Buses"})).model_dump(mode="json")["join"]

    assert page == {"title": "Buses", "text": "", "external_id": "PROLIFIC_PID"}


_ASKED: list[dict[str, Any]] = [
    {
        "id": "goes",
        "kind": "choice",
        "title": "Goes?",
        "options": [{"id": "y", "text": "Yes"}, {"id": "n", "text": "No"}],
    },
    {"id": "sure", "kind": "scale", "title": "Sure?", "lower": 1, "upper": 7},
    {"id": "age", "kind": "number", "title": "Age?", "integer": True},
    {"id": "ok", "kind": "check", "title": "OK?"},
    {"id": "why", "kind": "text", "title": "Why?"},
    {"id": "free", "kind": "text", "title": "And?", "min_chars": 0, "max_chars": 9, "required": False},
    {
        "id": "by",
        "kind": "choices",
        "title": "By?",
        "options": [{"id": "bus", "text": "Bus"}, {"id": "tram", "text": "Tram"}],
    },
]


def _ruled(rule: dict[str, Any]) -> dict[str, Any]:
    last = {"id": "last", "kind": "text", "title": "Last?", "show_if": rule}
    return file(stages=[{"id": "ask", "kind": "survey", "questions": [*_ASKED, last]}])


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"question": "goes", "value": "yes"}, "one of: y (Yes), n (No)"),
        ({"question": "goes", "value": True}, "one of: y (Yes), n (No)"),
        ({"question": "sure", "value": "5"}, "a whole number from 1 to 7"),
        ({"question": "sure", "value": 8}, "a whole number from 1 to 7"),
        ({"question": "age", "value": "18"}, "a whole number"),
        ({"question": "ok", "value": "yes"}, "true or false"),
        ({"question": "goes", "value": None}, "one of: y (Yes), n (No)"),
        ({"question": "age", "operator": "greater_than", "value": "eighteen"}, "a number"),
        ({"question": "goes", "operator": "contains", "value": "yes"}, "a part of an answer: y, n"),
        ({"question": "by", "operator": "contains", "value": "train"}, "a part of an answer: bus, tram"),
        ({"question": "by", "value": ["tram", "bus"]}, '["bus", "tram"], as the answer is stored'),
        ({"question": "why", "value": "rain "}, '"rain", as the answer is stored'),
        ({"question": "free", "value": ""}, "text of 0 to 9 characters"),
    ],
)
def test_a_rule_whose_value_is_no_answer_to_its_question_says_what_is_one(rule: dict[str, Any], expected: str) -> None:
    said = complaints(_ruled({"any": [rule]}))

    assert {where: wanted for where, (_, wanted) in said.items()} == {
        "stages[0].questions[7].show_if.any[0].value": expected
    }


@pytest.mark.parametrize(
    "rule",
    [
        {"question": "goes", "value": "y"},
        {"question": "goes", "operator": "not_equals", "value": "nothing"},
        {"question": "by", "operator": "not_contains", "value": "nothing"},
        {"question": "sure", "value": 7},
        {"question": "sure", "operator": "greater_than", "value": "4"},
        {"question": "sure", "operator": "less_than", "value": 100},
        {"question": "age", "value": 18.0},
        {"question": "ok", "value": False},
        {"question": "why", "value": "rain"},
        {"question": "why", "operator": "contains", "value": "rain"},
        {"question": "age", "operator": "contains", "value": 1},
        {"question": "by", "value": ["bus", "tram"]},
        {"question": "by", "operator": "contains", "value": "bus,tram"},
    ],
)
def test_a_rule_whose_value_can_be_an_answer_is_taken(rule: dict[str, Any]) -> None:
    assert validate(_ruled(rule)).stages


def seats_of(cohort_id: str | None, count: int = 1, **fields: Any) -> dict[str, Any]:
    named = {} if cohort_id is None else {"id": cohort_id}
    return {**named, "count": count, "seats": [{"persona": "ana"}], **fields}


@pytest.mark.parametrize(
    ("cohorts", "where", "found"),
    [
        (
            [seats_of("pilot", 3), seats_of("pilot-2")],
            "cohorts[1].id",
            "'pilot-2', as a cohort of cohorts[0] is called",
        ),
        (
            [seats_of("pilot-1"), seats_of("pilot", 3)],
            "cohorts[0].id",
            "'pilot-1', as a cohort of cohorts[1] is called",
        ),
        (
            [seats_of("pilot", seats=[{"persona": "ana", "count": 4}], groups_of=2), seats_of("pilot-2")],
            "cohorts[1].id",
            "'pilot-2', as a cohort of cohorts[0] is called",
        ),
        ([seats_of(None, 3), seats_of("c2")], "cohorts[1].id", "'c2', as a cohort of cohorts[0] is called"),
        ([seats_of("pilot", 3), seats_of("pilot-4")], "", ""),
        ([seats_of("pilot", 3), seats_of("pilot-02")], "", ""),
        ([seats_of("pilot"), seats_of("pilot-1"), seats_of("pilot-1-1", 3)], "", ""),
        ([seats_of("c1"), seats_of(None)], "", ""),
    ],
)
def test_two_cohorts_have_no_name_in_common(cohorts: list[dict[str, Any]], where: str, found: str) -> None:
    value = file(cohorts=cohorts)

    if where:
        assert complaints(value)[where] == (found, "an id that no other cohort has as its name")
    else:
        names = [one.name for one in allocate(validate(value), 1)]
        assert len(names) == len(set(names))
