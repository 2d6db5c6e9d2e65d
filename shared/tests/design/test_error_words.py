"""The messages about slips in a file, word by word: what is wrong, then what to type."""

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.design import load
from parley_lab.design.persona_table import csv_table

FILE = """\
parley: 1
name: Test
variables: {city: Bern}
stages:
  - id: about
    kind: survey
    questions:
      - {id: why, kind: text, title: "Why {{city}}?"}
      - id: age
        kind: number
        title: Age?
        minimum: 18
  - id: talk
    kind: group_chat
  - {id: end, kind: survey, questions: [{id: c, kind: choice, title: Which, options: [{id: a, text: A}]}]}
personas: [{id: ana}, {id: ben}]
treatments: [{id: low}, {id: high}]
cohorts:
  - seats: [{persona: ana}, {persona: ben}]
"""
AGE = "line 12, stages[0] (about).questions[1] (age)"
WHY = "line 8, stages[0] (about).questions[0] (why).title"
END = "line 15, stages[2] (end)"
SEAT = "line 19, cohorts[0].seats[0]"


def first_message(old: str, new: str) -> str:
    return messages(old, new)[0]


def messages(old: str, new: str) -> list[str]:
    assert old in FILE
    with pytest.raises(InvalidInput) as refused:
        load(FILE.replace(old, new, 1))
    return list(map(str, refused.value.problems))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("minimum: 18", "is_integer: true", f"{AGE}: there is no field is_integer. Did you mean integer?"),
        ("minimum: 18", "min: 18", f"{AGE}: there is no field min. Did you mean minimum?"),
        (
            "minimum: 18",
            "options: []",
            f"{AGE}: there is no field options. It is a field of the kinds choice, choices. "
            "Known here: group, id, integer, kind, maximum, media, minimum, required, show_if, title.",
        ),
        ("minimum: 18", 'minimum: "18,5"', f'{AGE}.minimum: "18,5" cannot be used here. Write 18.5, with a point.'),
        ("- id: talk\n    kind", "- kind", "line 13, stages[1]: id is missing. Add id: a short name such as talk."),
        ("name: Test\n", "", "name is missing. Add name: a short text for people."),
        (
            "group_chat",
            "groupchat",
            "line 14, stages[1] (talk).kind: there is no kind called 'groupchat'. Did you mean group_chat?",
        ),
        (
            ", options: [{id: a, text: A}]",
            "",
            f"{END}.questions[0] (c): options is missing. Add options: a list, whose entries begin with `- `.",
        ),
        (
            "[{id: a, text: A}]",
            "[A]",
            f'{END}.questions[0] (c).options[0]: "A" cannot be used here. '
            "Write an object, such as {id: ..., text: ...}.",
        ),
        (
            "id: talk",
            "id: about",
            "line 13, stages[1] (about).id: the id 'about' is there already, in stages[0]. Write an id of its own.",
        ),
        (
            "{{city}}",
            "{{ctiy}}",
            f"{WHY}: there is no variable called 'ctiy'. Did you mean {{{{city}}}}?",
        ),
        ("persona: ana}", "persona: anna}", f"{SEAT}.persona: there is no persona called 'anna'. Did you mean ana?"),
        (
            "persona: ana}",
            "persona: zoe}",
            f"{SEAT}.persona: there is no persona called 'zoe'. Known here: ana, ben. "
            "Add it to `personas`, or to the persona library.",
        ),
        (
            "kind: survey, ",
            "kind: survey, show_if: {question: age, value: 3}, ",
            f"{END}.show_if: stage is missing. Add stage: about, the survey that asks age.",
        ),
        (
            "kind: survey, ",
            "kind: survey, show_if: {stage: about, question: agge, value: 3}, ",
            f"{END}.show_if.question: there is no question of the survey 'about' called 'agge'. Did you mean age?",
        ),
        (
            "{id: low}",
            "{id: low, stages: {talk: {max_agent_ran: 2}}}",
            "line 17, treatments[0] (low).stages.talk: there is no field max_agent_ran. Did you mean max_agent_run?",
        ),
        (
            "group_chat",
            "comprehension\n    questions: [{id: q, kind: choice, title: Q, correct: a, options: ["
            "{id: a, text: A}, {id: a, text: B}]}]",
            "line 15, stages[1] (talk).questions[0] (q).options[1] (a).id: the id 'a' is there already. "
            "Write an id of its own for every option.",
        ),
        ("treatments: [", "pairings: {pairs: []}\nother: [", "line 17, pairings: stage is missing. Add stage: a text."),
    ],
)
def test_a_slip_is_named_with_what_to_type(old: str, new: str, message: str) -> None:
    assert first_message(old, new) == message


def test_a_slip_in_a_level_of_a_factor_is_named_with_what_to_type() -> None:
    told = messages("treatments: [{id: low}, {id: high}]", "factors: {load: {low: {varables: {}}}}")

    assert "line 17, factors.load.low: there is no field varables. Did you mean variables?" in told


def test_a_slip_in_what_names_a_table_of_personas_is_named_with_what_to_type() -> None:
    with pytest.raises(InvalidInput) as refused:
        load(f"{FILE}personas_from: {{fil: people.csv}}\n", read_table=lambda source: csv_table(source, b"id\nada\n"))

    told = list(map(str, refused.value.problems))
    assert "line 20, personas_from: there is no field fil. Did you mean file?" in told


def test_an_unlike_name_is_not_suggested() -> None:
    told = first_message("{id: ana}", "{id: ana, kind: agent}")

    assert told.startswith("line 16, personas[0] (ana): there is no field kind. Known here: attributes, ")
