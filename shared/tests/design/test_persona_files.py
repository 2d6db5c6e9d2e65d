"""Persona files: read, refused, and written without loss."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput
from parley_lab.base.looks import is_seen
from parley_lab.design import read_persona, read_personas, write_personas
from parley_lab.design.personas import Format

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30)
CONFUSING = st.sampled_from(
    ["no", "12:30", "1e5", "010", "<<", "~", "", " a ", "a\nb\n", "a: b", "- x", "\x85", "{{x}}"]
)
SLUG = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,8}", fullmatch=True)
NUMBER = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
WORDS = TEXT | CONFUSING
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | WORDS, lambda part: st.lists(part) | st.dictionaries(WORDS, part)
)
ITEM = st.fixed_dictionaries({"type": st.just("text"), "text": WORDS}) | st.sampled_from(
    [{"type": "profile_info"}, {"type": "stage_context", "stage": "all", "info": True}, {"type": "task"}]
)
ITEMS = st.lists(
    ITEM
    | st.fixed_dictionaries(
        {
            "type": st.just("group"),
            "items": st.lists(ITEM, max_size=2),
            "shuffle": st.none() | st.just({"seed": "cohort"}),
        }
    ),
    max_size=3,
)
NAMES = WORDS.filter(lambda name: not name or is_seen(name))
PERSONA = st.fixed_dictionaries(
    {"id": SLUG},
    optional={
        "profile": st.fixed_dictionaries({}, optional={"name": NAMES, "avatar": WORDS, "pronouns": WORDS}),
        "text": WORDS,
        "role": WORDS,
        "goal": WORDS,
        "backstory": WORDS,
        "attributes": st.dictionaries(WORDS, st.none() | st.booleans() | NUMBER | WORDS, max_size=4),
        "model": st.fixed_dictionaries(
            {},
            optional={
                "temperature": st.floats(0, 2),
                "stop": st.lists(WORDS, max_size=4),
                "extra_body": st.dictionaries(WORDS, JSON, max_size=3),
            },
        ),
        "chat": st.fixed_dictionaries(
            {}, optional={"max_responses": st.none() | st.integers(0, 9), "initial_message": WORDS}
        ),
        "prompts": st.dictionaries(SLUG, ITEMS, max_size=2),
        "prompt_token_budget": st.none() | st.integers(1, 10**6),
    },
)
PERSONAS = st.lists(PERSONA, max_size=4, unique_by=lambda persona: str(persona["id"]))


@pytest.mark.parametrize("form", ["yaml", "json"])
@given(values=PERSONAS)
def test_what_was_written_is_read_as_the_same_personas(form: Format, values: list[dict[str, Any]]) -> None:
    personas = read_personas(json.dumps({"parley": 1, "personas": values}), "personas.json")

    again = read_personas(write_personas(personas, form), f"personas.{form}")

    assert again == personas
    assert write_personas(again, form) == write_personas(personas, form)


def test_unknown_fields_are_refused_with_their_places() -> None:
    with pytest.raises(InvalidInput) as refused:
        read_personas("parley: 1\npersonas: [{id: ada, txt: Hello}, {id: ben, modle: {}}]\nstages: []\n", "all.yaml")

    assert [problem.where for problem in refused.value.problems] == ["personas[0].txt", "personas[1].modle", "stages"]


def test_an_id_is_in_a_file_once() -> None:
    with pytest.raises(InvalidInput) as refused:
        read_personas("parley: 1\npersonas: [{id: ada}, {id: ben}, {id: ada}]\n", "all.yaml")

    assert [(one.where, one.found) for one in refused.value.problems] == [
        ("personas[2].id", "'ada', as in personas[0]")
    ]


def test_one_persona_takes_its_id_from_its_place() -> None:
    assert read_persona("text: Hello", "persona.yaml", "ada").id == "ada"
    with pytest.raises(InvalidInput, match=r"id: \"ben\" cannot be used here. Write 'ada', or nothing"):
        read_persona("id: ben", "persona.yaml", "ada")


@pytest.mark.parametrize("content", ["", "[]", "7", "parley: 1"])
def test_what_is_no_persona_file_is_refused(content: str) -> None:
    with pytest.raises(InvalidInput):
        read_personas(content, "all.yaml")
