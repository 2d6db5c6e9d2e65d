"""What single arms keep, and texts for single arms."""

from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import Persona
from parley_lab.design import Experiment, resolve, validate
from parley_lab.design.cells import _named_in

STAGES: list[dict[str, Any]] = [
    {"id": "start", "kind": "info", "lines": ["Hello."]},
    {"id": "harm", "kind": "info", "lines": ["{{scenario}} Harm."]},
    {"id": "help", "kind": "info", "lines": ["{{scenario}} Help."]},
    {"id": "end", "kind": "info", "lines": ["Bye."]},
]
FILE: dict[str, Any] = {
    "parley": 1,
    "name": "Cells",
    "stages": STAGES,
    "factors": {"effect": {"harmful": {"keep": ["harm"]}, "helpful": {"keep": ["help"]}}, "who": ["company", "army"]},
    "texts": {
        "scenario": {
            "harmful-company": "A company.",
            "harmful-army": "An army.",
            "helpful-company": "A good company.",
            "helpful-army": "A good army.",
        }
    },
    "cohorts": [{"seats": [{"open": True}]}],
}


def file(**changes: Any) -> Experiment:
    return validate({**FILE, **changes})


def complaint(**changes: Any) -> tuple[str, str, str]:
    with pytest.raises(InvalidInput) as refused:
        file(**changes)
    problem = refused.value.problems[0]
    return problem.where, problem.found, problem.expected


def test_an_arm_has_what_it_keeps_and_what_none_keeps_with_its_own_texts() -> None:
    experiment = file()

    arm = resolve(experiment, "harmful-army")

    assert arm.stage_ids == ("start", "harm", "end")
    assert arm.stage("harm").model_dump()["lines"] == ("An army. Harm.",)
    assert resolve(experiment, "helpful-company").stage_ids == ("start", "help", "end")
    # What was written out is read back as it is.
    assert validate(experiment.model_dump(mode="json")) == experiment


def test_a_table_of_cells_says_the_same() -> None:
    rows = [
        {"effect": "harmful", "who": "company", "scenario": "A company."},
        {"effect": "harmful", "who": "army", "scenario": "An army."},
        {"effect": "helpful", "scenario": "Good."},
    ]
    experiment = file(texts=rows)

    told = {one.id: one.variables["scenario"] for one in experiment.treatments}

    assert told["harmful-army"] == "An army."
    assert told["helpful-army"] == told["helpful-company"] == "Good."


def test_treatments_keep_as_levels_do() -> None:
    arms: list[dict[str, Any]] = [{"id": "a", "keep": ["harm"]}, {"id": "b", "keep": ["help"]}, {"id": "neither"}]
    experiment = file(factors=None, treatments=arms, texts=None, variables={"scenario": "X."})

    assert [resolve(experiment, one["id"]).stage_ids for one in arms] == [
        ("start", "harm", "end"),
        ("start", "help", "end"),
        ("start", "end"),
    ]


@pytest.mark.parametrize(
    ("changes", "where", "remedy"),
    [
        (
            {"factors": {**FILE["factors"], "effect": {"harmful": {"keep": ["hram"]}, "helpful": {}}}, "texts": None},
            "factors.effect.harmful.keep[0]",
            "harm (did you mean that?)",
        ),
        (
            {
                "factors": {
                    **FILE["factors"],
                    "effect": {"harmful": {"keep": ["harm"], "leave_out": ["harm"]}, "helpful": {}},
                },
                "texts": None,
            },
            "factors.effect.harmful.keep[0]",
            "one of the two",
        ),
        ({"texts": {"scenario": {"harmful-navy": "X"}}}, "texts.scenario.harmful-navy", "harmful-army"),
        ({"texts": [{"scenario": "X"}]}, "texts[0]", "a level of effect, who"),
        ({"texts": [{"who": "navy", "scenario": "X"}]}, "texts[0].who", "army"),
        ({"texts": [{"who": "armi", "scenario": "X"}]}, "texts[0].who", "army (did you mean that?)"),
        ({"texts": [{"efect": "harmful", "who": "army", "scenario": "X"}]}, "texts[0].efect", "effect (did you mean"),
        ({"texts": [{"who": "army", "scenario": "X"}, {"who": "army", "note": "X"}]}, "texts[1].note", "`{{note}}`"),
        ({"texts": {"file": "cells.csv"}}, "texts.file", "or send the table with this file"),
        ({"factors": None}, "texts", "`treatments` or `factors`"),
    ],
)
def test_what_no_arm_has_is_named_with_the_remedy(changes: dict[str, Any], where: str, remedy: str) -> None:
    found = complaint(**changes)

    assert found[0] == where
    assert remedy in found[2]


AGENTS: dict[str, Any] = {
    "texts": [
        {"effect": "harmful", "scenario": "X", "brief": "B"},
        {"effect": "helpful", "scenario": "Y", "brief": ""},
    ],
    "cohorts": [{"seats": [{"persona": "ada"}]}],
}


def test_a_column_may_be_named_by_a_persona_of_the_library_alone() -> None:
    library = {"ada": Persona(id="ada", text="You are Ada. {{brief}}")}

    experiment = validate({**FILE, **AGENTS}, library=library)

    assert resolve(experiment, "harmful-army").personas["ada"].text == "You are Ada. B"


def test_a_column_may_be_named_by_a_persona_of_which_only_the_name_is_known() -> None:
    validate({**FILE, **AGENTS}, library={"ada": Persona(id="ada")})


def test_a_column_that_no_persona_of_the_library_names_either_is_told() -> None:
    with pytest.raises(InvalidInput) as refused:
        validate({**FILE, **AGENTS}, library={"ada": Persona(id="ada", text="You are Ada.")})

    assert [(one.where, one.found) for one in refused.value.problems] == [("texts[0].brief", "'brief'")]


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"texts": {"file": "cells.csv"}}, "texts.file"),
        ({"texts": {"scenario": {"harmful-navy": "X"}}}, "texts.scenario.harmful-navy"),
        ({"factors": 5}, "factors"),
    ],
)
def test_texts_that_cannot_be_read_are_told_without_the_variables_that_they_would_set(changes: Any, where: str) -> None:
    stages = [*STAGES, {"id": "guess", "kind": "survey", "questions": [{"id": "g", "kind": "number", "title": "?"}]}]
    stages[-1]["questions"][0]["minimum"] = "{{scenario}}"
    stages[-1]["show_if"] = {"variable": "scenario", "value": 1}

    with pytest.raises(InvalidInput) as refused:
        file(stages=stages, **changes)

    assert [one.where for one in refused.value.problems] == [where]


def test_an_arm_without_a_text_that_it_needs_is_named() -> None:
    told = {key: text for key, text in FILE["texts"]["scenario"].items() if key != "helpful-army"}

    where, found, expected = complaint(texts={"scenario": told})

    assert (where, found) == ("stages[2].lines[0]", "`{{scenario}}`")
    assert "(in the arm 'helpful-army')" in expected


BY_CELL = [{"e": "p", "scenario": "X"}]
OTHER_ARM = {"id": "b", "keep": ["help"]}


@pytest.mark.parametrize(
    ("arms", "texts", "where"),
    [
        ([{"id": "a", "keep": ["harm"]}, {"id": "b", "leave_out": None}], None, "treatments[1].leave_out"),
        ([{"id": "a", "keep": ["harm"], "leave_out": 5}, OTHER_ARM], None, "treatments[0].leave_out"),
        ([{"id": "a", "keep": ["harm"], "leave_out": {"end": 1}}, OTHER_ARM], None, "treatments[0].leave_out"),
        ([{"id": "a", "keep": ["harm"], "leave_out": "end"}, OTHER_ARM], None, "treatments[0].leave_out"),
        ([{"id": "a", "variables": ["p"]}], {"scenario": {"a": "X"}}, "treatments[0].variables"),
        ([{"id": ["a"]}], {"scenario": {"a": "X"}}, "treatments[0].id"),
        ([{"id": "a", "levels": 3}], BY_CELL, "treatments[0].levels"),
        ([{"id": "a", "levels": {"e": ["p"]}}], BY_CELL, "treatments[0].levels.e"),
    ],
)
def test_an_arm_that_cannot_be_read_is_told_at_its_place(arms: Any, texts: Any, where: str) -> None:
    assert complaint(factors=None, treatments=arms, texts=texts, variables={"scenario": "X."})[0] == where


def test_a_cell_may_name_a_level_that_is_a_number() -> None:
    arms = [{"id": "a", "levels": {"dose": 1}}, {"id": "b", "levels": {"dose": 2.5}}]
    rows = [{"dose": 1, "scenario": "Little."}, {"dose": 2.5, "scenario": "Much."}]

    experiment = file(factors=None, treatments=arms, texts=rows)

    assert [one.variables["scenario"] for one in experiment.treatments] == ["Little.", "Much."]


def test_a_rule_over_a_part_of_a_variable_names_the_variable() -> None:
    parts = _named_in({"stages": [{"show_if": {"variable": "scenario.low", "is": 1}}]})

    assert [*parts] == ["scenario"]
