"""Personas from a table: one for each row, in the experiment before it is checked."""

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput, TooLarge
from parley_lab.design import Experiment, load, resolve
from parley_lab.design import read as read_file
from parley_lab.design.persona_table import csv_table
from parley_lab.design.tables import number_in, read_csv

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
    return load(json.dumps(file(**changes)), "x.json", read_table=lambda source: csv_table(source, content))


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
        (b"id\n\x81\n", "people.csv line 2"),
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
        ("cp1251", "(in Windows-1252 it is ", "`encoding: windows-1251`"),
        ("shift_jis", "something that is not UTF-8", "`encoding: windows-1251`"),
    ],
)
def test_an_encoding_that_cannot_be_told_is_refused_with_the_cure(encoding: str, found: str, cure: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read("id;name\nana;Мюллер Анна и все остальные\n".encode(encoding))

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


# what surveys and spreadsheets write


SURVEY = """ResponseId,(067) How old were you?,Größe,arm,quote
R_3AbC,41,"1,70",Told,I like {{town}}
R_3abC,17,,control,{{nothing}} and {{
"""
COLUMNS = {"id": "ResponseId", "age": "(067) how old  were you?"}


def from_survey(table: str = SURVEY, **changes: Any) -> Experiment:
    source = {"file": "people.csv", "columns": COLUMNS, **changes.pop("source", {})}
    return read(table, personas_from=source, **changes)


def test_columns_are_called_by_short_names_and_ids_keep_their_capitals() -> None:
    each = {"text": "You are {{age}}, {{Größe}} tall."}
    one, other = from_survey(source={"each": each}).personas

    assert (one.id, other.id) == ("R_3AbC", "R_3abC")
    assert one.text == "You are 41, 1,70 tall."
    assert one.attributes["age"] == "41"


def test_a_column_is_called_by_its_header_whatever_it_is() -> None:
    table = "id,(12) Age at last birthday\nana,30\n"
    each = {"text": "You are {{(12) Age at last birthday}}."}

    (ana,) = read(table, personas_from={"file": "people.csv", "each": each}).personas

    assert ana.text == "You are 30."


def test_what_people_wrote_is_never_a_template_unless_its_column_is_one() -> None:
    each = {"text": "Once you wrote: {{quote}}"}
    variables = {"town": "Altmere"}

    as_it_is = resolve(from_survey(source={"each": each}, variables=variables), None).personas
    assert as_it_is["R_3AbC"].text == "Once you wrote: I like {{town}}"
    assert as_it_is["R_3abC"].text == "Once you wrote: {{nothing}} and {{"
    assert as_it_is["R_3abC"].attributes["quote"] == "{{nothing}} and {{"

    table = "id,text\nana,I live in {{town}}.\n"
    source = {"file": "people.csv", "templates": ["text"]}
    filled = resolve(read(table, personas_from=source, variables=variables), None).personas
    assert filled["ana"].text == "I live in Altmere."


@given(st.text(alphabet="{}' abx", max_size=12))
def test_any_cell_is_put_in_as_it_is(cell: str) -> None:
    table = f'id,quote\nana,"{cell}"\n'
    each = {"text": "<{{quote}}>"}

    personas = resolve(read(table, personas_from={"file": "people.csv", "each": each}), None).personas

    assert personas["ana"].text == f"<{cell}>"


def test_braces_are_written_in_a_text() -> None:
    source = {"file": "people.csv", "each": {"text": "Write {{ '{{' }}name}}."}}

    assert resolve(read(personas_from=source), None).personas["ana"].text == "Write {{name}}."


def test_columns_of_numbers_are_numbers() -> None:
    one, other = from_survey(source={"numbers": ["age"]}).personas

    assert (one.attributes["age"], other.attributes["age"]) == (41, 17)


def test_a_cell_that_is_no_number_is_told_with_its_line() -> None:
    with pytest.raises(InvalidInput) as refused:
        from_survey(source={"numbers": ["Größe"]})

    (problem,) = refused.value.problems
    assert (problem.where, problem.expected) == ("people.csv line 2, Größe", "1.70, with a point")


def test_a_column_gives_a_row_its_arm() -> None:
    experiment = from_survey(
        source={"arm": "arm"},
        stages=[{"id": "page", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why?"}]}],
        treatments=[{"id": "told", "name": "Told"}, {"id": "control"}],
        allocation={"by": "participant"},
    )

    assert [seat.treatment for seat in experiment.cohorts[0].seats] == ["told", "control"]
    assert "arm" not in experiment.personas[0].attributes


@pytest.mark.parametrize(
    ("source", "where", "expected"),
    [
        ({"columns": {"age": "(067) How old ware you?"}}, "personas_from.columns.age", "(did you mean that?)"),
        ({"columns": {}}, "people.csv line 1", "columns: {id: "),
        ({"numbers": ["agee"]}, "personas_from.numbers[0]", "age (did you mean that?)"),
        ({"arm": "Arm"}, "personas_from.arm", "arm (did you mean that?)"),
        ({"templates": ["x"]}, "personas_from.templates[0]", "one of id, age"),
    ],
)
def test_a_column_that_is_not_there_is_told_with_those_that_are(
    source: dict[str, Any], where: str, expected: str
) -> None:
    columns = {**COLUMNS, **source.pop("columns")} if source.get("columns") else source.pop("columns", COLUMNS)

    with pytest.raises(InvalidInput) as refused:
        read(SURVEY, personas_from={"file": "people.csv", "columns": columns, **source})

    assert any(one.where == where and expected in one.expected for one in refused.value.problems)


def test_an_arm_that_is_not_there_is_told_with_its_line() -> None:
    with pytest.raises(InvalidInput) as refused:
        from_survey(source={"arm": "arm"}, treatments=[{"id": "told"}], allocation={"by": "participant"})

    assert "people.csv line 3, arm" in [one.where for one in refused.value.problems]


@given(
    rows=st.lists(
        st.tuples(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,8}", fullmatch=True), st.text('aü,;|\t"\n x', max_size=8)),
        min_size=1,
        max_size=4,
        unique_by=lambda row: row[0],
    ),
    separator=st.sampled_from(",;|\t"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    says=st.booleans(),
)
def test_a_table_is_read_with_any_separator_and_encoding(
    rows: list[tuple[str, str]], separator: str, encoding: str, says: bool
) -> None:
    target = io.StringIO(newline="")
    csv.writer(target, delimiter=separator).writerows([("id", "said"), *rows])
    text = (f"sep={separator}\r\n" if says else "") + target.getvalue()

    personas = read(text.encode(encoding)).personas

    assert [(one.id, one.attributes["said"] or "") for one in personas] == rows


@pytest.mark.parametrize(
    ("table", "header", "first"),
    [
        ('headline;"topic, area, b"\nTrams;"a, b"\n', ["headline", "topic, area, b"], ["Trams", "a, b"]),
        ("word\nHello, you\nGood evening, all of you\n", ["word"], ["Hello, you"]),
        ("a,b,c\n1,2\n1,2,3\n", ["a", "b", "c"], ["1", "2"]),
        ("a;b\n1,5;2,5\n", ["a", "b"], ["1,5", "2,5"]),
        ("a,b;c\n", ["a", "b;c"], []),
    ],
    ids=["quoted", "one column", "ragged", "decimals", "no rows"],
)
def test_a_separator_gives_the_first_rows_as_many_cells_as_the_header(
    table: str, header: list[str], first: list[str]
) -> None:
    found = read_csv(table.encode(), "rows.csv")

    assert (found.header, [*found.rows[0].cells] if found.rows else []) == (header, first)


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("9007199254740993", 9007199254740993),
        ("-9223372036854775807", -9223372036854775807),
        (" \u22125 ", -5),
        ("1_000", None),
        ("1e3", 1000.0),
        ("2.50", 2.5),
        ("1e999", None),
        ("9" * 5000, None),
        ("x", None),
        ("", None),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_a_number_has_all_of_its_digits(cell: str, number: int | float | None) -> None:
    found = number_in(cell)

    assert (found, type(found)) == (number, type(number))


def test_western_text_of_older_excel_is_read() -> None:
    (ana,) = read("id;name;said\nana;Müller;Für \u201eviele\u201c \u2013 5 \u20ac\n".encode("cp1252")).personas

    assert (ana.profile.name, ana.attributes["said"]) == ("Müller", "Für \u201eviele\u201c \u2013 5 \u20ac")


@pytest.mark.parametrize(
    ("name", "encoding", "read_as"),
    [("Łódź", "cp1250", "£ódŸ"), ("Ayşe", "cp1254", "Ayþe"), ("Plzeň", "cp1250", "Plzeò")],
)
def test_a_guessed_encoding_is_told_with_words_that_depend_on_it(name: str, encoding: str, read_as: str) -> None:
    content = f"id;name\nana;Ann\nben;{name}\n".encode(encoding)

    def warnings(**more: Any) -> list[str]:
        values = json.dumps(file(personas_from={"file": "people.csv", **more}))
        return list(map(str, read_file(values, "x.json", read_table=lambda one: csv_table(one, content)).warnings()))

    (warning,) = warnings()
    assert "people.csv line 3" in warning
    assert f"Windows-1252: `{read_as}`" in warning
    assert "`encoding:`" in warning
    assert warnings(encoding=encoding) == []


def test_the_encoding_may_be_said() -> None:
    content = "id;name\nana;Анна\n".encode("cp1251")

    (ana,) = read(content, personas_from={"file": "people.csv", "encoding": "windows-1251"}).personas

    assert ana.profile.name == "Анна"


def test_an_encoding_that_is_not_known_is_told() -> None:
    with pytest.raises(InvalidInput) as refused:
        read(personas_from={"file": "people.csv", "encoding": "martian"})

    assert "'martian'" in refused.value.problems[0].found


OF_OTREE = """participant.id_in_session,participant.code,participant.label,survey.1.player.age,survey.1.player.why_trams
1,k3x9ab2q,P_01,41,"They are {fast}"
2,zz81mm0a,P_02,,
"""
OF_DELIBERATE_LAB = """Private ID,Public ID,Name,Current status,"[survey] How old are you? - response"
0f9c2f7e-6f1d-4b57-9f0e-2f3d5a1b7c9d,bear-green-123,Bear,SUCCESS,41
"""


def test_what_otree_exports_is_named_by_its_headers() -> None:
    experiment = read(
        OF_OTREE,
        personas_from={
            "file": "all_apps_wide.csv",
            "columns": {"id": "participant.code", "age": "survey.1.player.age"},
            "numbers": ["age"],
            "each": {"text": "{{age}}. {{survey.1.player.why_trams}}"},
        },
    )

    first, second = experiment.personas
    assert (first.id, first.attributes["age"], first.text) == ("k3x9ab2q", 41, "41. They are {fast}")
    assert (second.id, second.attributes["age"]) == ("zz81mm0a", None)


def test_what_deliberate_lab_exports_is_named_by_its_headers() -> None:
    experiment = read(
        OF_DELIBERATE_LAB,
        personas_from={
            "file": "ParticipantData.csv",
            "columns": {"id": "Public ID", "name": "Name", "age": "[survey] How old are you? - response"},
            "each": {"text": "You are {{age}} years old."},
        },
    )

    assert experiment.personas[0].profile.name == "Bear"
    assert experiment.personas[0].text == "You are 41 years old."
