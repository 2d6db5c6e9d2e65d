"""Experiments that name personas of a library."""

from copy import deepcopy
from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import Persona
from parley_lab.design import named_personas, validate

FILE: dict[str, Any] = {
    "parley": 1,
    "name": "A talk",
    "stages": [{"id": "talk", "kind": "group_chat"}],
    "personas": [{"id": "ada", "text": "The file's own Ada"}],
    "cohorts": [{"seats": [{"persona": "ada"}, {"persona": "ben"}], "mediators": ["mo"]}],
}
LIBRARY = {
    "ada": Persona(id="ada", text="The library's Ada"),
    "ben": Persona(id="ben", text="The library's Ben"),
    "mo": Persona(id="mo"),
    "unused": Persona(id="unused"),
}


def test_what_is_named_and_not_defined_comes_from_the_library_and_nothing_else_does() -> None:
    before = deepcopy(FILE)

    experiment = validate(FILE, library=LIBRARY)

    assert named_personas(FILE) == ["ben", "mo"]
    assert [(one.id, one.text) for one in experiment.personas] == [
        ("ada", "The file's own Ada"),
        ("ben", "The library's Ben"),
        ("mo", ""),
    ]
    assert before == FILE


def test_a_name_that_is_in_neither_is_an_error_that_says_so() -> None:
    with pytest.raises(InvalidInput) as refused:
        validate(FILE, library={"mo": LIBRARY["mo"]})

    [problem] = refused.value.problems
    assert problem.where == "cohorts[0].seats[1].persona"
    assert problem.found == "'ben'"
    assert "one that the persona library has" in problem.expected


@pytest.mark.parametrize("personas", [{"ada": {"text": "You bake."}}, "ada", 5])
def test_personas_that_are_no_list_are_an_error_whatever_the_library_has(personas: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        validate({**FILE, "personas": personas}, library=LIBRARY)

    assert [(one.where, one.expected) for one in refused.value.problems if one.where == "personas"] == [
        ("personas", "a list")
    ]


def test_without_a_library_every_name_has_to_be_defined() -> None:
    with pytest.raises(InvalidInput) as refused:
        validate(FILE)

    assert [one.where for one in refused.value.problems] == ["cohorts[0].seats[1].persona", "cohorts[0].mediators[0]"]


def test_a_problem_of_a_persona_of_the_library_is_told_as_such() -> None:
    library = {**LIBRARY, "ben": Persona(id="ben", text="You live in {{town}}.")}

    with pytest.raises(InvalidInput) as refused:
        validate(FILE, library=library)

    assert [one.where for one in refused.value.problems] == ["persona 'ben' of the library: text"]


def test_treatments_change_personas_of_the_library() -> None:
    treated = {**FILE, "treatments": [{"id": "warm", "personas": {"ben": {"text": "Be warm."}}}]}

    assert validate(treated, library=LIBRARY).treatments[0].personas == {"ben": {"text": "Be warm."}}


@pytest.mark.parametrize("value", [None, [], {"cohorts": 7}, {"cohorts": [{"seats": [None, {"persona": {}}]}]}])
def test_a_file_that_is_not_one_names_no_one(value: Any) -> None:
    assert named_personas(value) == []


@pytest.mark.parametrize(
    "arms",
    [
        {"treatments": [{"id": "a", "stages": {"talk": {"when_gone": "replace", "stand_in": "unused"}}}, {"id": "b"}]},
        {"factors": {"gone": {"on": {"stages": {"talk": {"when_gone": "replace", "stand_in": "unused"}}}, "off": {}}}},
    ],
)
def test_a_persona_that_only_one_arm_names_comes_from_the_library(arms: dict[str, Any]) -> None:
    experiment = validate({**FILE, **arms}, library=LIBRARY)

    assert "unused" in [one.id for one in experiment.personas]
