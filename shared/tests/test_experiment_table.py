"""Personas from a table: one for each row, in the experiment before it is checked."""

import json
from typing import Any

import pytest

from shared.errors import InvalidInput, TooLarge
from shared.experiment import Experiment, load, resolve

TABLE = """id,name,age,text
ana,Ana,41,"You drive a taxi,
at night."
ben,,,
"""


def file(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "parley": 1,
        "name": "Test",
        "stages": [{"id": "talk", "kind": "group_chat"}],
        "personas_from": {"file": "people.csv"},
        "cohorts": [{"seats": [{"each_row": True}]}],
    }
    return {**base, **changes}


def read(table: str | bytes = TABLE, **changes: Any) -> Experiment:
    content = table.encode() if isinstance(table, str) else table
    return load(json.dumps(file(**changes)), "x.json", read_table=lambda name: content)


def complaints(table: str | bytes, **changes: Any) -> list[str]:
    with pytest.raises(InvalidInput) as refused:
        read(table, **changes)
    return [problem.where for problem in refused.value.problems]


def test_each_row_is_a_persona_with_a_seat() -> None:
    experiment = read()

    ana, ben = experiment.personas
    assert (ana.id, ana.profile.name, ana.text) == ("ana", "Ana", "You drive a taxi,\nat night.")
    assert (ana.attributes, ben.attributes) == ({"age": "41"}, {"age": None})
    assert [seat.persona for seat in experiment.cohorts[0].seats] == ["ana", "ben"]
    assert experiment.personas_from is None


def test_columns_fill_the_texts_and_prompts_that_all_rows_share() -> None:
    each = {
        "text": "{{name}}, {{age}}, of {{town}}.",
        "prompts": {"talk": [{"type": "text", "text": "You are {{age}}."}]},
    }

    experiment = read(personas_from={"file": "people.csv", "each": each}, variables={"town": "Altmere"})

    ana = resolve(experiment, None).personas["ana"]
    assert ana.text == "Ana, 41, of Altmere."
    assert ana.prompts["talk"][0].model_dump()["text"] == "You are 41."


def test_personas_of_the_file_stay() -> None:
    experiment = read(personas=[{"id": "mo"}], cohorts=[{"seats": [{"persona": "ben"}], "mediators": ["mo"]}])

    assert [persona.id for persona in experiment.personas] == ["mo", "ana", "ben"]


@pytest.mark.parametrize(
    ("table", "where"),
    [
        ("", "people.csv line 1"),
        ("name\nAna\n", "people.csv line 1"),
        ("id,,\n", "people.csv line 1, column 2"),
        ("id,a,a\n", "people.csv line 1, column 3"),
        ("id\n", "people.csv"),
        ("id,a\nana\n", "people.csv line 2"),
        ("id\nAna B\n", "people.csv line 2, id"),
        ("id\nana\nana\n", "people.csv line 3, id"),
        ('id\n"ana\n', "people.csv line 2"),
        (b"id\n\xff\n", "people.csv line 2"),
    ],
)
def test_what_is_wrong_in_a_table_is_told_with_its_line(table: str | bytes, where: str) -> None:
    assert where in complaints(table)


def test_what_is_wrong_with_the_personas_is_told_as_ever() -> None:
    assert complaints(TABLE, personas=[{"id": "ana"}]) == ["personas[1].id"]
    assert complaints(TABLE, personas_from={"file": "people.csv", "eech": {}}) == ["personas_from.eech"]
    assert "cohorts[0].seats[0].each_row" in complaints(
        TABLE, cohorts=[{"seats": [{"each_row": True, "persona": "ana"}]}]
    )


def test_a_table_has_its_bounds() -> None:
    for table in ("id\n" + "x" * 64 * 1024 * 1024, "id\n" + "\n".join(f"p{number}" for number in range(100_001))):
        with pytest.raises(TooLarge):
            read(table)


def test_a_survey_of_three_thousand_and_an_interview_in_a_cell_are_read() -> None:
    interview = "I was born in Altmere. " * 10_000
    rows = "\n".join(f'p{number},{number % 90},"{interview if number < 20 else ""}"' for number in range(3000))

    experiment = read(f"id,age,text\n{rows}\n")

    assert len(experiment.personas) == sum(plan.members for plan in experiment.cohorts) == 3000
    assert experiment.personas[19].text == interview


@pytest.mark.parametrize(
    "table",
    [
        "id;name;age\nana;Müller, Ana;41\n",
        '"id";"name";"age, in years"\r\nana;"Müller, Ana";41\r\n;;\r\n',
        "id\tname\tage\nana\tMüller, Ana\t41\n",
        "\ufeffid;name;age\nana;Müller, Ana;41\n",
    ],
)
def test_semicolons_tabs_and_a_byte_order_mark_are_read(table: str) -> None:
    (ana,) = read(table).personas

    assert (ana.id, ana.profile.name, [*ana.attributes.values()]) == ("ana", "Müller, Ana", ["41"])


@pytest.mark.parametrize(
    ("encoding", "found", "cure"),
    [
        ("cp1252", "(in Windows-1252 it is 'ü')", "iconv -f WINDOWS-1252 -t UTF-8 people.csv > utf8.csv"),
        ("utf-16", "a text in UTF-16", "iconv -f UTF-16 -t UTF-8 people.csv > utf8.csv"),
    ],
)
def test_another_encoding_is_refused_with_the_cure(encoding: str, found: str, cure: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read("id;name\nana;Müller\n".encode(encoding))

    (problem,) = refused.value.problems
    assert found in problem.found
    assert "save it in Excel as `CSV UTF-8`" in problem.expected
    assert cure in problem.expected


@pytest.mark.parametrize(
    ("each", "where", "expected"),
    [
        ({"text": "You are {{ag}}."}, "personas_from.each.text", "one of the columns id, name, age, text, or one of"),
        ({"txt": "You are {{age}}."}, "personas_from.each.txt", "text"),
        ({"model": {"temperature": 9}}, "personas_from.each.model.temperature", "2"),
    ],
)
def test_what_is_wrong_in_each_is_told_once_with_the_columns_there_are(
    each: dict[str, Any], where: str, expected: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(personas_from={"file": "people.csv", "each": each}, variables={"town": "Altmere"})

    (problem,) = refused.value.problems
    assert problem.where == where
    assert expected in problem.expected


def test_rows_that_are_all_wrong_are_not_all_told() -> None:
    told = complaints("id\n" + "\n".join(f"P {number}" for number in range(5000)))

    assert len(told) == 21


def test_where_no_one_reads_tables_a_file_that_names_one_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        load(json.dumps(file()), "x.json")

    assert {problem.where for problem in refused.value.problems} == {
        "personas_from",
        "cohorts[0].seats[0].each_row",
    }
