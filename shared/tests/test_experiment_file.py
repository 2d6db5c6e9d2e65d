"""Experiment files: what is read, and what is said about those that cannot be."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InvalidInput, TooLarge
from shared.experiment import Experiment, json_schema, load, resolve, snapshot, validate
from shared.stages import kinds

ROOT = Path(__file__).parents[2]
INFO = {"id": "welcome", "kind": "info", "lines": ["Hello"]}
CHOICE = {"id": "q", "kind": "choice", "title": "Well?", "options": [{"id": "a", "text": "A"}]}
SURVEY = {"id": "ask", "kind": "survey", "questions": [CHOICE]}


def file(**changes: Any) -> dict[str, Any]:
    base = {
        "parley": 1,
        "name": "Test",
        "stages": [INFO, SURVEY],
        "personas": [{"id": "ana"}],
        "cohorts": [{"seats": [{"persona": "ana"}]}],
    }
    return copy.deepcopy({**base, **changes})


def complaints(value: Any) -> dict[str, tuple[str, str]]:
    with pytest.raises(InvalidInput) as refused:
        validate(value)
    return {problem.where: (problem.found, problem.expected) for problem in refused.value.problems}


def unreadable(text: str | bytes, name: str = "x.yaml") -> str:
    with pytest.raises(InvalidInput) as refused:
        load(text, name)
    return str(refused.value)


def test_the_demo_is_valid() -> None:
    path = ROOT / "demos" / "deliberation.yaml"

    experiment = load(path.read_bytes(), path.name)

    assert [stage.kind for stage in experiment.stages] == ["info", "survey", "group_chat", "survey"]


def test_the_published_schema_is_current() -> None:
    published = json.loads((ROOT / "docs" / "schema" / "experiment-1.json").read_text())

    assert published == json_schema(), "make it again with `python -m shared.experiment`"


def test_the_schema_knows_every_kind() -> None:
    stages = json_schema()["properties"]["stages"]["items"]

    assert set(stages["discriminator"]["mapping"]) == set(kinds())


def test_an_experiment_survives_json_and_yaml() -> None:
    experiment = validate(file())

    assert load(experiment.model_dump_json(), "x.json") == experiment
    assert load(experiment.model_dump_json(), "x.yaml") == experiment
    assert Experiment.model_validate(experiment.model_dump(mode="json")) == experiment


def test_words_that_look_like_other_things_are_texts() -> None:
    lines = (
        load(
            "{parley: 1, name: no, stages: [{id: s, kind: info, lines: [no, 12:30, 010, 2026-01-01, .nan, on]}],"
            " cohorts: [{seats: [{open: true}]}]}"
        )
        .stages[0]
        .model_dump()["lines"]
    )

    assert lines == ("no", "12:30", "010", "2026-01-01", ".nan", "on")


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("a: 1\nb: 2\na: 3", "x.yaml", "line 3, column 1: found the key 'a' twice"),
        ('{"a": 1, "a": 2}', "x.json", "twice"),
        ("a: [1", "x.yaml", "line 1"),
        ("{", "x.json", "line 1"),
        ("a: !!python/object/apply:os.system [ls]", "x.yaml", "tagged"),
        ("a: !!timestamp 2026-01-01", "x.yaml", "tagged timestamp"),
        ("a: &a [*a]", "x.yaml", "part of"),
        ("a: " + "[" * 5000, "x.yaml", "deeply"),
        ("[" * 100_000, "x.json", "deeply"),
        ('{"a": ' + "[" * 80 + "]" * 80 + "}", "x.json", "deeply"),
        ('{"a": NaN}', "x.json", "NaN"),
        ('{"a": 1e999}', "x.json", "without an end"),
        ('{"a": "\\u0000"}', "x.json", "NUL"),
        ('{"a": "\\ud800"}', "x.json", "broken"),
        ("a: " + "9" * 30, "x.yaml", "a: found an integer of 100 bits; expected an integer from -9223372036854775807"),
        ('{"a": [1, 9223372036854775808]}', "x.json", "a[1]: found an integer of 64 bits"),
        ("a: \0", "x.yaml", "x.yaml"),
        ("a: " + "9" * 5000, "x.yaml", "digits"),
        ("? [a]\n: 1", "x.yaml", "a key that is not a text"),
        ("", "x.yaml", "found nothing"),
        ("[]", "x.yaml", "a list of 0"),
        (b"\xff\xfe", "x.yaml", "UTF-8"),
    ],
)
def test_what_cannot_be_read_says_why(text: str | bytes, name: str, said: str) -> None:
    assert said in unreadable(text, name)


def test_everything_that_cannot_be_stored_is_told_at_once() -> None:
    told = unreadable(
        '{"personas": [{"attributes": {"a": 1e999, "b": 18446744073709551616}}], "name": "\\u0000"}', "x.json"
    )

    for where in ("personas[0].attributes.a: found", "personas[0].attributes.b: found", "name: found"):
        assert where in told


def test_aliases_cannot_blow_a_file_up() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]

    assert "values once all aliases are written out" in unreadable("\n".join(lines))


def test_the_beginning_of_a_name_is_taken_for_that_name() -> None:
    said = complaints(file(personas=[{"id": "ana", "chat": {"min_messages": 3}}]))

    assert said["personas[0].chat.min_messages"][1].startswith("min_messages_before_responding (did you mean that?)")


@pytest.mark.parametrize(
    "address",
    ["http://ann:hunter2@127.0.0.1/v1", "https://hunter2@models.example/v1", "https://models.example/v1?key=hunter2"],
)
def test_an_address_with_a_secret_in_it_is_refused_without_showing_it(address: str) -> None:
    persona = {"id": "ana", "model": {"base_url": address}}

    with pytest.raises(InvalidInput) as refused:
        validate(file(personas=[persona]))

    (problem,) = refused.value.problems
    assert problem.where == "personas[0].model.base_url"
    assert "without a user, a password or a query" in problem.expected
    assert "hunter2" not in str(refused.value)


def test_a_file_of_more_than_the_limit_is_refused_unread() -> None:
    with pytest.raises(TooLarge):
        load("x" * 2_000_000)
    with pytest.raises(TooLarge):
        load(b"x" * 11, max_bytes=10)


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


def test_an_undefined_variable_is_told_where_it_stands() -> None:
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


def test_a_cohort_cannot_name_a_treatment_that_is_not_there() -> None:
    cohorts = [{"seats": [{"open": True}], "treatment": "t"}]

    assert set(complaints(file(cohorts=cohorts))) == {"cohorts[0].treatment"}


def test_a_snapshot_holds_what_ran() -> None:
    persona = validate(file(personas=[{"id": "ana", "text": "secret", "attributes": {"age": 3}}])).personas[0]

    config = snapshot(persona)

    assert (config.persona_id, config.text, config.attributes) == ("ana", "secret", {"age": 3})


TALK = {"id": "talk", "kind": "group_chat"}


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


def test_a_snapshot_holds_the_prompts_of_the_arm() -> None:
    items = [{"type": "text", "text": "Hi {{who}}."}, {"type": "stage_context", "stage": "ask"}]
    replaced = {"prompts": {"survey": [{"type": "task"}]}}
    experiment = validate(
        file(
            variables={"who": "you"},
            stages=[SURVEY, TALK],
            personas=[{"id": "ana", "prompts": {"talk": items}}],
            treatments=[{"id": "t", "personas": {"ana": replaced}}],
        )
    )

    prompts = snapshot(resolve(experiment, "t").personas["ana"]).model_dump()["prompts"]

    assert prompts["talk"][0]["text"] == "Hi you."
    assert [item["type"] for item in prompts["survey"]] == ["task"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(st.text(), parts, max_size=4),
    max_leaves=10,
)
FIELDS = [*Experiment.model_fields, "kind", "questions", "lines", "seats"]


def is_answered(value: Any) -> bool:
    try:
        return isinstance(validate(value), Experiment)
    except InvalidInput as refused:
        return bool(refused.problems)


@given(st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=4))
def test_no_value_breaks_the_reader(changes: dict[str, Any]) -> None:
    """Whatever stands in a file, the answer is an experiment or a list of problems."""
    assert is_answered(file(**changes))


@given(st.dictionaries(st.sampled_from([*FIELDS, "id", "progress"]), json_values, max_size=4))
def test_no_stage_breaks_the_reader(changes: dict[str, Any]) -> None:
    assert is_answered(file(stages=[{**INFO, **changes}], treatments=[{"id": "t", "stages": {"welcome": changes}}]))


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


def test_the_least_latency_stands_before_the_most() -> None:
    said = complaints(file(personas=[{"id": "ana", "mock": {"latency_seconds": [3, 1]}}]))

    assert list(said) == ["personas[0].mock"]


@pytest.mark.parametrize("latency", ["soon", [1], [1, 2, 3], -1])
def test_a_latency_is_a_number_or_two(latency: object) -> None:
    said = complaints(file(personas=[{"id": "ana", "mock": {"latency_seconds": latency}}]))

    assert said
    assert all(where.startswith("personas[0].mock.latency_seconds") for where in said)
