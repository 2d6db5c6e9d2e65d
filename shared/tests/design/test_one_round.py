"""Everything that is wrong in a file is told in one round, with lines and ids."""

from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.design import load, misspelt_personas
from parley_lab.design.persona_table import csv_table

FILE = """
parley: 1
name: All at once
seed: 0
variables: { town: Altmere }
stages:
  - id: welcome
    kind: info
    lines: ["Welcome to {{city}}."]
  - id: before
    kind: survey
    question: 7
    questions:
      - { id: free, kind: scale, title: "Free?" }
      - { id: why, kind: text, title: "Why?", show_if: { question: fre, operator: equals, value: 1 } }
  - id: broken
    kind: survey
    name: "In {{village}}"
    questions:
      - { id: a, kind: scael, title: "A?" }
  - id: after
    kind: survey
    questions:
      - { id: b, kind: text, title: "B?", show_if: { stage: broken, question: a, value: 1 } }
      - { id: c, kind: text, title: "C?", show_if: { stage: befor, question: free, value: 1 } }
personas:
  - { id: ana, text: "You live in {{twon}}.", model: { provider: opnai } }
  - { id: ben, txt: Hello, prompts: { befroe: [{ type: task }] } }
treatments:
  - { id: t, stages: { aftr: { name: x } }, leave_out: [nothing] }
cohorts:
  - seats: [{ persona: ana }, { persona: bob }]
    treatment: u
"""


def problems(text: str) -> list[Problem]:
    with pytest.raises(InvalidInput) as refused:
        load(text, "x.yaml")
    return list(refused.value.problems)


def test_types_references_variables_personas_and_providers_are_told_in_one_round() -> None:
    assert sorted(problem.where for problem in problems(FILE)) == [
        "cohorts[0].seats[1].persona",
        "cohorts[0].treatment",
        "personas[0].model.provider",
        "personas[0].text",
        "personas[1].prompts.befroe",
        "personas[1].txt",
        "stages[0].lines[0]",
        "stages[1].question",
        "stages[1].questions[1].show_if.question",
        "stages[2].name",
        "stages[2].questions[0].kind",
        "stages[3].questions[1].show_if.stage",
        "treatments[0].leave_out[0]",
        "treatments[0].stages.aftr",
    ]


def test_places_have_lines_and_ids() -> None:
    at = {problem.where: problem.at for problem in problems(FILE)}

    assert at["stages[2].questions[0].kind"] == "line 20, stages[2] (broken).questions[0] (a).kind"
    assert at["personas[1].txt"] == "line 28, personas[1] (ben)"
    assert at["cohorts[0].seats[1].persona"] == "line 32, cohorts[0].seats[1].persona"
    assert "line 28, personas[1] (ben): there is no field txt. Did you mean text?" in "\n".join(
        map(str, problems(FILE))
    )


def test_a_provider_that_does_not_exist_is_told_with_those_that_do() -> None:
    (problem,) = [one for one in problems(FILE) if one.where.endswith("provider")]

    assert problem.expected.startswith("openai (did you mean that?)")


def test_the_table_and_the_rest_are_told_together() -> None:
    text = """
        parley: 1
        name: x
        stages: [{ id: talk, kind: seance }]
        personas_from: { file: people.csv, each: { text: "{{ag}}" } }
        cohorts: [{ seats: [{ each_row: true }] }]
    """

    def told(table: str) -> list[str]:
        with pytest.raises(InvalidInput) as refused:
            load(text, "x.yaml", read_table=lambda source: csv_table(source, table.encode()))
        return sorted(problem.where for problem in refused.value.problems)

    assert told("id,age\nana,3\n") == ["personas_from.each.text", "stages[0].kind"]
    assert told("id,age\nana\n") == ["people.csv line 2", "stages[0].kind"]


@pytest.mark.parametrize(
    ("named", "misspelt"), [("anna", True), ("bob", False), ("person-2", False), ("persno-1", True)]
)
def test_a_name_that_is_nearly_one_of_the_file_is_misspelt(named: str, misspelt: bool) -> None:
    value: dict[str, Any] = {
        "personas": [{"id": "ana"}, {"id": "person-1"}],
        "cohorts": [{"seats": [{"persona": named}]}],
    }

    assert misspelt_personas(value) == ({named} if misspelt else set())
