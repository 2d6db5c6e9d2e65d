"""Columns of the table of personas in the texts of stages: each agent reads its own row, where it is alone."""

from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.personas_from import PersonasFrom
from parley_lab.design import Experiment
from parley_lab.design.assigning import of_participant
from parley_lab.design.persona_table import csv_table
from parley_lab.design.reading import read

STUDY = """
parley: 1
name: Vignettes
variables: {{ place: Bern }}
stages:
  - id: page
    kind: survey
    description: "A story from {{{{town}}}}, read in {{{{place}}}}."
    questions:
      - {{ id: view, kind: scale, title: "Is {{{{sum}}}} francs fair for {{{{who}}}}?", lower: 1, upper: 7 }}
      - id: pick
        kind: choice
        title: Which
        options: [{{ id: a, text: "{{{{who}}}}" }}, {{ id: b, text: Another }}]
{more}
personas_from:
  {{ file: people.csv, numbers: [sum], columns: {{ who: "(7) Name" }}, each: {{ text: "You live in {{{{town}}}}." }} }}
personas: [{{ id: zoe }}]
cohorts: [{{ seats: [{{ each_row: true }}{seats}] }}]
"""
TABLE = "id,town,sum,(7) Name\nada,Bern,30,Mia {{place}}\nR_3AbC,Basel,4.5,Noa\n"


def read_study(more: str = "", seats: str = "") -> Experiment:
    def table(source: PersonasFrom) -> Any:
        return csv_table(source, TABLE.encode())

    return read(STUDY.format(more=more, seats=seats), "study.yaml", read_table=table).experiment({})


def values(experiment: Experiment, persona_id: str | None) -> dict[str, Any]:
    return {name: given["value"] for name, given in of_participant(experiment.assigned, 1, "c1/m1", persona_id).items()}


def test_each_agent_has_the_cells_of_its_row_that_stages_name() -> None:
    experiment = read_study()

    assert values(experiment, "ada") == {"town": "Bern", "sum": 30, "who": "Mia {{place}}"}
    assert values(experiment, "R_3AbC") == {"town": "Basel", "sum": 4.5, "who": "Noa"}
    assert values(experiment, None) == {}
    assert [persona.text for persona in experiment.personas[1:]] == ["You live in Bern.", "You live in Basel."]


def test_a_table_whose_columns_no_stage_names_assigns_nothing() -> None:
    def table(source: PersonasFrom) -> Any:
        return csv_table(source, b"id,place\nada,Thun\n")

    study = STUDY.replace("{{{{town}}}}", "x").replace("{{{{sum}}}}", "x").replace("{{{{who}}}}", "x")
    study = study.replace('numbers: [sum], columns: {{ who: "(7) Name" }}, ', "")

    assert read(study.format(more="", seats=""), "study.yaml", read_table=table).experiment({}).assigned == ()


@pytest.mark.parametrize(
    ("more", "seats", "where"),
    [
        ('  - { id: talk, kind: group_chat, description: "Talk about {{town}}." }', "", "stages[1].description"),
        ("", ", { open: true }", "cohorts[0].seats[2]"),
        ("", ", { persona: zoe }", "cohorts[0].seats[2]"),
    ],
)
def test_a_column_is_refused_where_members_are_together_and_for_seats_without_a_row(
    more: str, seats: str, where: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_study(more, seats)

    (problem,) = refused.value.problems
    assert where in problem.where.replace(" (talk)", "")
    assert "differs between agents" in problem.found or "an agent with a value of" in problem.expected


def test_a_cell_that_no_text_of_a_stage_can_hold_is_refused_with_its_row() -> None:
    def table(source: PersonasFrom) -> Any:
        return csv_table(source, TABLE.replace("Noa", "").encode())

    with pytest.raises(InvalidInput, match="'', which R_3AbC has in 'who'"):
        read(STUDY.format(more="", seats=""), "study.yaml", read_table=table).experiment({})
