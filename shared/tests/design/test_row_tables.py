"""Tables of rows that stages ask about, read into the values of an experiment."""

import time
from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.contracts.personas_from import PersonasFrom
from parley_lab.design.drafts import draft_of
from parley_lab.design.persona_table import csv_table
from parley_lab.design.reading import read
from parley_lab.design.tables import Table
from parley_lab.design.treatments import resolve
from parley_lab.kinds.stages.survey.config import SurveyStage

STUDY = """
parley: 1
name: Guesses
seed: 1
variables: { unit: metres }
stages:
  - id: guesses
    kind: survey
    rows: { file: items.csv, numbers: [low], shuffle: true, take: 2, by: topic }
    questions:
      - { id: guess, kind: number, minimum: "{{row.low}}", maximum: "{{row.high}}", title: "{{row.what}} in {{unit}}?" }
factors:
  framed:
    plain: {}
    other: { stages: { guesses: { questions: [{ id: bet, kind: number, title: "Bet on {{row.what}}?" }] } } }
    fewer: { stages: { guesses: { rows: { take: null, by: null, items: [{ what: X, low: 1, high: 2 }] } } } }
cohorts: [{ seats: [{ open: true, count: 3 }] }]
"""
TABLE = "id,topic,what,low,high\nk2,peak,The height of K2 {{x}},1,9.5\ntv,tower,The tower,2,\n"


def table(content: str) -> Any:
    def read_table(source: PersonasFrom) -> Table:
        assert source.file == "items.csv"
        return csv_table(source, content.encode())

    return read_table


def survey_of(study: str, content: str, arm: str) -> SurveyStage:
    experiment = read(study, "study.yaml", read_table=table(content)).experiment({})
    again = type(experiment).model_validate_json(experiment.model_dump_json())
    found = resolve(again, arm).stage("guesses")
    assert isinstance(found, SurveyStage)
    return found


def problems(study: str, content: str) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as refused:
        read(study, "study.yaml", read_table=table(content)).experiment({})
    return [(one.where, one.found) for one in refused.value.problems]


def test_a_table_becomes_rows_whose_braces_stay_and_whose_empty_cells_are_nothing() -> None:
    found = survey_of(STUDY, TABLE, "plain")

    guesses = [one.model_dump(include={"id", "title", "minimum", "maximum"}) for one in found.questions]
    assert guesses == [
        {"id": "k2.guess", "title": "The height of K2 {{x}} in metres?", "minimum": 1, "maximum": 9.5},
        {"id": "tv.guess", "title": "The tower in metres?", "minimum": 2, "maximum": None},
    ]
    assert found.rows is not None
    assert found.rows.items[1] == {"id": "tv", "topic": "tower", "what": "The tower", "low": 2}


def test_an_arm_may_have_other_questions_about_the_rows_or_other_rows() -> None:
    assert [one.id for one in survey_of(STUDY, TABLE, "other").questions] == ["k2.bet", "tv.bet"]
    assert [(one.id, one.title) for one in survey_of(STUDY, TABLE, "fewer").questions] == [("1.guess", "X in metres?")]


def test_what_is_wrong_in_a_table_is_said_where_it_is_and_nothing_else() -> None:
    assert problems(STUDY, "id,topic,what,low,high\nk2,peak,K2,a lot,3\ntv,tower\n") == [
        ("items.csv line 2, low", "'a lot'"),
        ("items.csv line 3", "2 cells"),
    ]
    assert problems(STUDY, "id,topic,what,low,low\nk2,peak,K2,1,3\n") == [("items.csv line 1, column 5", "'low'")]
    assert problems(STUDY.replace("[low]", "[long]"), TABLE)[0] == ("stages[0].rows.numbers[0]", "'long'")


@pytest.mark.parametrize(
    ("rows", "where"),
    [
        ('{ file: "" }', "stages[0].rows.file"),
        ("{ file: items.csv, items: [{ id: a }] }", "stages[0].rows.items"),
        ("{ file: items.csv, numbers: low }", "stages[0].rows.numbers"),
    ],
)
def test_rows_that_go_with_no_table_are_refused_at_their_place(rows: str, where: str) -> None:
    written = STUDY.replace("{ file: items.csv, numbers: [low], shuffle: true, take: 2, by: topic }", rows)

    assert where in [place for place, _ in problems(written, TABLE)]


def test_a_column_that_the_table_lacks_is_named_at_the_question() -> None:
    assert problems(STUDY.replace("{{row.what}} in", "{{row.who}} in"), TABLE)[0] == (
        "stages[0].questions[0].title",
        "`{{row.who}}`",
    )


def test_the_name_of_the_row_is_no_variable_and_single_braces_around_it_are_a_slip() -> None:
    assert problems(STUDY.replace("unit: metres", "row: {what: X}, unit: m"), TABLE)[0] == ("variables.row", "'row'")
    slip = read(STUDY.replace("{{row.what}} in", "{row.what} in"), "study.yaml", read_table=table(TABLE)).warnings()
    assert [one.where for one in slip] == ["stages[0].questions[0].title"]


def test_without_the_command_line_a_stage_needs_its_rows_itself() -> None:
    with pytest.raises(InvalidInput) as refused:
        read(STUDY, "study.yaml").experiment({})

    assert [one.where for one in refused.value.problems] == ["stages[0].rows.file"]


def test_a_thousand_rows_in_three_arms_are_checked_in_a_second_and_written_out() -> None:
    lines = "".join(f"r{number},{number % 2},Thing {number},{number},{number + 5}\n" for number in range(1000))
    content = f"id,topic,what,low,high\n{lines}"

    begun = time.process_time()
    experiment = read(STUDY, "study.yaml", read_table=table(content)).experiment({})
    seconds = time.process_time() - begun

    found = resolve(experiment, "plain").stage("guesses")
    assert seconds <= 1
    assert isinstance(found, SurveyStage)

    assert len(found.questions) == 1000
    assert found.questions[-1].title == "Thing 999 in metres?"


PICTURES = """
parley: 1
name: Pictures
stages:
  - id: page
    kind: survey
    rows: [{ picture: one.png }, { picture: two.png }]
    questions:
      - id: like
        kind: choice
        title: "Which?"
        options:
          - { id: it, text: This, image: { file: "{{row.picture}}", alt: "{{row.picture}}" } }
          - { id: none, text: None }
        media: [{ file: "{{row.picture}}", alt: "Above: {{row.picture}}" }]
cohorts: [{ seats: [{ open: true }] }]
"""


def test_each_row_may_have_a_picture_of_its_own() -> None:
    def content(name: str) -> bytes:
        return b"\x89PNG\r\n\x1a\n" + name.encode()

    reading = read(PICTURES, "study.yaml", read_medium=content)
    stage = reading.experiment({}).stages[0]

    assert isinstance(stage, SurveyStage)
    shown = [one.model_dump()["options"][0]["image"] for one in stage.questions]
    assert [one["file"] for one in shown] == [file.name for file in reading.files]
    assert [one["alt"] for one in shown] == ["one.png", "two.png"]
    above = [one.media[0] for one in stage.questions]
    assert [one.file for one in above] == [file.name for file in reading.files]
    assert [one.alt for one in above] == ["Above: one.png", "Above: two.png"]


def test_an_experiment_uses_the_pictures_of_its_rows_in_every_arm() -> None:
    def content(name: str) -> bytes:
        return b"\x89PNG\r\n\x1a\n" + name.encode()

    arms = "treatments: [{ id: a }, { id: b, stages: { page: { rows: [{ picture: three.png }] } } }]\n"
    reading = read(PICTURES + arms, "study.yaml", read_medium=content)
    experiment = reading.experiment({})

    named = dict(draft_of(experiment).files)
    assert sorted(named) == [
        "stages[0].rows.items[0].picture",
        "stages[0].rows.items[1].picture",
        "treatments[1].stages.page.rows.items[0].picture",
    ]
    assert list(named.values()) == [file.name for file in reading.files]
    again = read(experiment.model_dump_json(), "study.json", read_medium=content)
    assert draft_of(again.experiment({})).files == draft_of(experiment).files


def test_a_picture_that_is_not_there_is_told_at_its_row() -> None:
    def missing(name: str) -> bytes:
        raise InvalidInput("Not there.", [Problem(name, repr(name), "a file")])

    with pytest.raises(InvalidInput) as refused:
        read(PICTURES, "study.yaml", read_medium=missing).experiment({})

    assert [one.where for one in refused.value.problems] == [
        "stages[0].rows.items[0].picture",
        "stages[0].rows.items[1].picture",
    ]


def shown_in(file: str, rows: str, missing: str = "") -> list[list[str]]:
    """The names of the pictures that the questions show, of each row in each of its levels; `missing` is not there."""

    def content(name: str) -> bytes:
        if name == missing:
            raise InvalidInput("Not there.", [Problem(name, repr(name), "a file")])
        return b"\x89PNG\r\n\x1a\n" + name.encode()

    study = PICTURES.replace("[{ picture: one.png }, { picture: two.png }]", rows)
    reading = read(study.replace("{{row.picture}}", file), "study.yaml", read_medium=content)
    experiment = reading.experiment({})
    stage = resolve(experiment, None).stage("page")
    assert isinstance(stage, SurveyStage)
    names = {one.name: one.content[8:].decode() for one in reading.files}
    asked = [one for row in stage.variants.values() for one in row]
    assert {name for _, name in draft_of(experiment).files} == {*names}
    assert [one.model_dump()["options"][0]["image"] is None for one in asked] == [not one.media for one in asked]
    return [[names[medium.file or ""] for medium in one.media] for one in asked]


def test_a_name_of_a_picture_has_a_value_of_the_row_in_it() -> None:
    assert shown_in("pictures/{{row.id}}.png", "[{ id: a }, { id: b }]") == [["pictures/a.png"], ["pictures/b.png"]]
    assert shown_in("{{row.id}}.png", "[{ what: a }, { what: b }]") == [["1.png"], ["2.png"]]
    assert shown_in("{{row.Bild €}}-{{row.n}}.png", "[{ Bild €: a, n: 2 }]") == [["a-2.png"]]


def test_a_row_without_a_picture_shows_none() -> None:
    rows = '[{ picture: one.png }, { picture: "" }, { what: "x" }]'

    assert shown_in("{{row.picture}}", rows) == [["one.png"], [], []]
    assert shown_in("old/{{row.picture}}", rows) == [["old/one.png"], [], []]


def test_a_picture_is_that_of_the_drawn_level_or_profile() -> None:
    rows = "{ items: [{ a: x.png, b: y.png }, { a: z.png }], levels: { shown: [a, b] } }"

    assert shown_in("{{row.shown}}", rows) == [["x.png"], ["y.png"], ["z.png"], []]
    assert shown_in("{{row.a_look}}.png", "{ attributes: { look: [old, new] }, draw: 1 }") == [["old.png"]]


@pytest.mark.parametrize(
    ("file", "rows", "missing", "where", "found"),
    [
        ("{{row.id}}.png", "[{ id: a }, { id: b }]", "b.png", "stages[0].questions[0].options[0].image.file", "b"),
        ("{{row.of}}", "[{ id: a, of: a.png }, { id: b, of: c.png }]", "c.png", "stages[0].rows.items[1].of", ""),
        ("{{row.of}}.png", "[{ id: a }]", "", "stages[0].questions[0].options[0].image.file", ""),
        ("{{row.of}}", "[{ id: a, of: notes.pdf }]", "", "stages[0].questions[0].media[0].file", "a"),
    ],
)
def test_a_wrong_name_of_a_picture_is_told_with_its_row(
    file: str, rows: str, missing: str, where: str, found: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        shown_in(file, rows, missing)

    problem = refused.value.problems[0]
    assert problem.where.partition(" (")[0] == where
    assert (f", in the row {found}" if found else "") in problem.found


def test_an_arm_has_the_pictures_of_its_own_questions_alone() -> None:
    asked: list[str] = []

    def content(name: str) -> bytes:
        asked.append(name)
        return b"\x89PNG\r\n\x1a\n" + name.encode()

    question = '{ id: q, kind: check, title: Q, media: [{ file: "{{row.id}}.jpg.png", alt: A }] }'
    arms = (
        "treatments: [{ id: a }, { id: b, stages: { page: { rows: [{ picture: three.png }] } } }, "
        f"{{ id: c, stages: {{ page: {{ rows: [{{ id: four }}], questions: [{question}] }} }} }}, "
        f"{{ id: d, stages: {{ page: {{ questions: [{question}] }} }} }}]\n"
    )
    read(PICTURES + arms, "study.yaml", read_medium=content).experiment({})

    assert sorted(asked) == ["1.jpg.png", "2.jpg.png", "four.jpg.png", "one.png", "three.png", "two.png"]


@pytest.mark.parametrize(
    ("question", "rows", "place", "found"),
    [
        (
            'kind: number, minimum: "{{row.low}}"',
            "{ items: [{ low: 1 }], levels: { anchor: [low, hi] } }",
            "levels.anchor[1]",
            "'hi'",
        ),
        ("kind: check", '{ items: [{ low: 1, t: a }, { low: 2, t: "" }], take: 1, by: t }', "by", "in the row 2"),
    ],
)
def test_a_column_of_draws_that_has_no_value_is_told_where_it_is_named(
    question: str, rows: str, place: str, found: str
) -> None:
    asked = f'{{ id: q, title: "{{{{row.low}}}}?", {question} }}'
    study = f"parley: 1\nname: A\nstages: [{{ id: s, kind: survey, rows: {rows}, questions: [{asked}] }}]\n"

    (where, told), *_ = problems(f"{study}cohorts: [{{ seats: [{{ open: true }}] }}]\n", "")

    assert where.partition(" (")[0] == f"stages[0].rows.{place}"
    assert found in told


def test_an_empty_cell_of_a_needed_field_is_told_with_its_row() -> None:
    question = '{ id: q, kind: number, title: "?", correct: "{{row.right}}" }'
    rows = '[{ right: 1 }, { id: b, right: "" }]'
    study = f"parley: 1\nname: A\nstages: [{{ id: s, kind: comprehension, rows: {rows}, questions: [{question}] }}]\n"

    ((where, found),) = problems(f"{study}cohorts: [{{ seats: [{{ open: true }}] }}]\n", "")

    assert where.partition(" (")[0] == "stages[0].questions[0].correct"
    assert "{{row.right}}, which is empty in the row b" in found


@pytest.mark.parametrize(("value", "hint"), [('"x"', "Write a value of 'n'."), ("1", '`value: "1"`'), ('"1"', "")])
def test_a_rule_over_a_value_that_no_row_has_is_a_warning(value: str, hint: str) -> None:
    question = f'{{ id: q, kind: check, title: "?", show_if: {{ row: n, value: {value} }} }}'
    study = f'parley: 1\nname: A\nstages: [{{ id: s, kind: survey, rows: [{{ n: "1" }}], questions: [{question}] }}]\n'

    found = read(f"{study}cohorts: [{{ seats: [{{ open: true }}] }}]\n", "study.yaml").warnings()

    assert [hint in one.hint for one in found] == [True] * bool(hint)


CELLS = """
parley: 1
name: Cells
stages: [{ id: story, kind: info, lines: ["{{scenario}}"] }]
factors: { effect: [harm, help], dose: [1, 2.5] }
texts: { file: items.csv }
cohorts: [{ seats: [{ open: true, count: 4 }] }]
"""


def test_a_table_of_cells_gives_each_arm_its_text() -> None:
    cells = "effect,dose,scenario\nharm,1,A little {{x}}.\nharm,2.5,Much.\nhelp,,Good.\n"

    experiment = read(CELLS, "study.yaml", read_table=table(cells)).experiment({})

    assert [one.variables["scenario"] for one in experiment.treatments] == [
        "A little {{x}}.",
        "Much.",
        "Good.",
        "Good.",
    ]


@pytest.mark.parametrize(
    ("cells", "where"),
    [
        ("effect,dose,scenario\nhram,1,X\n", "texts[0].effect"),
        ("efect,dose,scenario\nharm,1,X\n", "texts[0].efect"),
        ("effect,effect,scenario\nharm,1,X\n", "items.csv line 1, column 2"),
        ("effect,dose,scenario\n", "items.csv"),
    ],
)
def test_a_slip_in_a_table_of_cells_is_told_with_its_place(cells: str, where: str) -> None:
    assert where in [place.partition(" (")[0] for place, _ in problems(CELLS, cells)]


def test_an_unreadable_table_of_cells_is_the_one_problem() -> None:
    cells = "effect,effect,scenario\nharm,1,X\n"

    assert problems(CELLS, cells) == [("items.csv line 1, column 2", "'effect'")]
