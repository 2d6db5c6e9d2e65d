"""Experiment files: what is read, and what is said about those that cannot be."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput, TooLarge
from parley_lab.design import Experiment, json_schema, load, resolve, snapshot, validate
from parley_lab.kinds.stages import kinds
from parley_lab.testing.experiment_files import INFO, SURVEY, TALK, file

ROOT = Path(__file__).parents[3]


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

    is_current = published == json_schema()
    assert is_current, "make it again with `python -m parley_lab.design > docs/schema/experiment-1.json`"


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
        ("a: 1\nb: 2\na: 3", "x.yaml", "line 3, column 1: the key 'a' is twice in one object"),
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
        (
            "a: " + "9" * 30,
            "x.yaml",
            "a: an integer of 100 bits cannot be used here. Write an integer from -9223372036854775807",
        ),
        ('{"a": [1, 9223372036854775808]}', "x.json", "a[1]: an integer of 64 bits"),
        ("a: \0", "x.yaml", "x.yaml"),
        ("a: " + "9" * 5000, "x.yaml", "digits"),
        ("? [a]\n: 1", "x.yaml", "a key that is not a text"),
        ("", "x.yaml", "this has nothing"),
        ("[]", "x.yaml", "an empty list"),
        (b"\xff\xfe", "x.yaml", "UTF-8"),
        (
            "a: 1\nb: Größe".encode("cp1252"),
            "x.yaml",
            "line 2: something that is not UTF-8 (in Windows-1252 it is 'ö') cannot be used here. "
            "Write a text in UTF-8: save it as UTF-8 in your editor",
        ),
        (
            "a: 1".encode("utf-16"),
            "x.yaml",
            "a text in UTF-16 cannot be used here. Write a text in UTF-8: save it as UTF-8",
        ),
        ("code: 1E234567", "x.yaml", 'or text in quotes: "1E234567"'),
    ],
)
def test_what_cannot_be_read_says_why(text: str | bytes, name: str, said: str) -> None:
    assert said in unreadable(text, name)


def test_everything_that_cannot_be_stored_is_told_at_once() -> None:
    told = unreadable(
        '{"personas": [{"attributes": {"a": 1e999, "b": 18446744073709551616}}], "name": "\\u0000"}', "x.json"
    )

    for where in ("personas[0].attributes.a: ", "personas[0].attributes.b: ", "name: "):
        assert where in told


def test_aliases_cannot_blow_a_file_up() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]

    assert "values once all aliases are written out" in unreadable("\n".join(lines))


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


def test_a_snapshot_holds_what_ran() -> None:
    persona = validate(file(personas=[{"id": "ana", "text": "secret", "attributes": {"age": 3}}])).personas[0]

    config = snapshot(persona)

    assert (config.persona_id, config.text, config.attributes) == ("ana", "secret", {"age": 3})


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
    """For any content of a file, the result is an experiment or a list of problems."""
    assert is_answered(file(**changes))


@given(st.dictionaries(st.sampled_from([*FIELDS, "id", "progress"]), json_values, max_size=4))
def test_no_stage_breaks_the_reader(changes: dict[str, Any]) -> None:
    assert is_answered(file(stages=[{**INFO, **changes}], treatments=[{"id": "t", "stages": {"welcome": changes}}]))
