"""Charts of data files: which there are, and how their rows are split."""

import csv
import gzip
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema import Draft7Validator

from parley_lab.base.errors import NotFound
from parley_lab.formats.exports import chart, chart_heads
from parley_lab.formats.exports.charts import MOST_ROWS

VEGA_LITE: Final = "6.4.0"
SCHEMA: Final = Path(__file__).parent / "vega_lite" / f"schema-{VEGA_LITE}.json.gz"
"""That of the package `vega-lite`, without its descriptions; its licence is beside it."""


def write(folder: Path, table: str, columns: Sequence[str], *rows: Sequence[object]) -> None:
    with (folder / f"{table}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["made_up", *columns])
        writer.writerows(["no", *row] for row in rows)


ANSWERS = ("path", "treatment", "stage", "key", "field", "label", "type", "value", "text", "status")


def write_every_table(folder: Path) -> None:
    """Rows for each chart that there is, those of an arena included, in two arms where a chart shows arms."""
    answers = [
        ("c1/m1", "a", "before", "", name, "Asked", kind, value, words, "valid")
        for name, kind, value, words in (
            ("age", "integer", 41, ""),
            ("town", "text", "b", "Bern"),
            *(("share", "number", number / 10, "") for number in range(20)),
        )
    ]
    people = [("completed", arm, "person", "2026-01-01T10:00:00Z", "2026-01-01T10:20:00Z") for arm in ("a", "b")]
    call = ("ok", "a-model", "2026-01-01T10:00:00Z", "2026-01-01T10:00:02Z")
    curve = [("Tit", arm, 1, 0.5, "", "") for arm in ("", "a", "b")]
    points = [("Tit", arm, 2.5, 2, 3, 4) for arm in ("", "a", "b")]
    write(folder, "participants", ("status", "treatment", "player", "joined_at", "ended_at"), *people)
    write(folder, "answers", ANSWERS, *answers)
    write(folder, "messages", ("thread_path", "author_kind", "elapsed_ms"), ("c1/talk", "person", 61_000))
    write(folder, "model_calls", ("status", "model", "started_at", "finished_at"), call)
    board = ("with_self_play", 1, "tit", "Tit", 2.5, "points")
    write(folder, "leaderboard", ("convention", "rank", "player", "name", "score", "unit"), board)
    pair = ("tit", "Tit", "ann", "Ann", 2, 0.5)
    write(folder, "cooperation", ("player", "name", "opponent", "opponent_name", "games", "mean"), pair)
    write(folder, "cooperation_over_time", ("name", "arm", "round", "mean", "low", "high"), *curve)
    write(folder, "cooperation_over_alpha", ("name", "alpha", "mean", "low", "high"), ("Tit", 0.25, 0.3, 0.2, 0.4))
    write(folder, "payoffs", ("name", "arm", "mean", "low", "high", "games"), *points)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "participants", ("status", "treatment", "player"), ("left", "a", "person"))
    write(
        tmp_path,
        "answers",
        ANSWERS,
        ("c1/m1", "a", "before", "", "age", "How old?", "integer", 41, "", "valid"),
        ("c1/m2", "a", "before", "", "age", "How old?", "integer", "", "", "invalid"),
        ("c1/m1", "a", "before", "", "why", "Why?", "text", "So.", "", "valid"),
        ("c1/m1", "a", "before", "", "town", "Where?", "text", "b", "Bern", "valid"),
        ("c1/m1", "a", "game", "round:1/move", "move", "Move", "integer", 1, "", "valid"),
    )
    return tmp_path


def test_numbers_and_options_of_pages_have_a_chart_and_free_texts_have_none(folder: Path) -> None:
    found = chart_heads(folder)
    age = chart(folder, "answers-before.age")

    assert [one.id for one in found] == ["flow", "answers-before.age", "answers-before.town"]
    assert [(one.title, one.rows, one.is_made_up) for one in found[1:]] == [
        ("How old?", 1, False),
        ("Where?", 1, False),
    ]
    assert (age.rows, age.title) == ([["c1/m1", "a", 41.0, ""]], "How old?")
    assert chart(folder, "answers-before.town").rows == [["c1/m1", "a", "b", "Bern"]]
    with pytest.raises(NotFound):
        chart(folder, "talk")


def test_options_of_a_question_of_a_row_have_a_chart_and_parts_of_its_answer_have_none(tmp_path: Path) -> None:
    lines = [
        ("c1/m1", "a", "page", "", field, field, "text", "b", "Bern", "valid", "k2")
        for field in ("k2.town", "k2.grid.line")
    ]
    write(tmp_path, "answers", (*ANSWERS, "row"), *lines)

    assert [one.id for one in chart_heads(tmp_path)] == ["answers-page.k2.town"]


def test_questions_whose_ids_run_into_each_other_have_charts_of_their_own(tmp_path: Path) -> None:
    asked = [("a-b", "c", 1), ("a", "b-c", 2), ("a", "b", 3), ("a", "b-numbers", 4)]
    lines: list[tuple[Any, ...]] = [
        ("c1/m1", "", stage, "", name, "How?", "integer", value, "", "valid") for stage, name, value in asked
    ]
    lines.append(("c1/m2", "", "a", "", "b", "How?", "text", "x", "Ex", "valid"))
    write(tmp_path, "answers", ANSWERS, *lines)

    found = [one.id for one in chart_heads(tmp_path)]

    assert len({*found}) == len(found) == 5
    assert {chart(tmp_path, one).rows[0][2] for one in found[:-1]} == {1.0, 2.0, 3.0, 4.0}


@pytest.mark.parametrize(("arms", "is_split"), [(1, False), (2, True), (7, True), (8, False)])
def test_bars_are_split_by_arm_while_arms_can_be_told_apart(tmp_path: Path, arms: int, is_split: bool) -> None:
    rows = [("completed", f"arm-{number}", "person") for number in range(arms)]
    write(tmp_path, "participants", ("status", "treatment", "player"), *rows)

    assert ("yOffset" in chart(tmp_path, "flow").spec["encoding"]) == is_split


def test_a_chart_is_made_of_a_file_with_a_cell_of_any_length(tmp_path: Path) -> None:
    long = ("c1/m1", "a", "before", "", "why", "Why?", "text", "y" * 200_000, "", "valid")
    write(tmp_path, "participants", ("status", "treatment", "player"), ("left", "a", "person"))
    write(tmp_path, "answers", ANSWERS, long)

    code = (
        "import sys, pathlib; from parley_lab.formats.exports import chart_heads as heads;"
        " print(heads(pathlib.Path(sys.argv[1])))"
    )

    # In a process that has read nothing else: the limit of Python's reader is one of the process.
    found = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)

    assert "id='flow'" in found.stdout, found.stderr


def test_a_chart_of_too_many_rows_says_so(tmp_path: Path) -> None:
    rows = [("left", "", "person")] * (MOST_ROWS + 1)
    write(tmp_path, "participants", ("status", "treatment", "player"), *rows)

    found = chart(tmp_path, "flow")

    assert len(found.rows) == MOST_ROWS
    assert found.cautions == [f"The first {MOST_ROWS} of {MOST_ROWS + 1} rows are drawn."]
    assert not found.is_made_up
    assert [one.rows for one in chart_heads(tmp_path)] == [MOST_ROWS]


def test_an_arena_has_a_curve_over_alpha_where_opponents_play_by_chance(tmp_path: Path) -> None:
    columns = ("player", "name", "alpha", "count", "mean", "low", "high")
    write(tmp_path, "cooperation_over_alpha", columns, ("tft", "Tit", 0.25, 2, 0.3, "", ""))

    (found,) = chart_heads(tmp_path)

    assert (found.id, found.rows) == ("cooperation-over-alpha", 1)
    assert chart(tmp_path, found.id).rows == [["Tit", 0.25, 0.3, None, None]]


ARMS = [
    pytest.param([], [], [""], id="no arms"),
    pytest.param(["cold"], ["cold"], [""], id="one arm"),
    pytest.param(["cold", "hot"], ["cold", "hot"], ["cold", "hot"], id="two arms"),
    pytest.param([f"arm-{number}" for number in range(8)], [], [""], id="too many arms"),
]


@pytest.mark.parametrize(("arms", "curves", "drawn"), ARMS)
def test_figures_of_an_arena_draw_each_arm_or_all_together_but_never_both(
    tmp_path: Path, arms: Sequence[str], curves: Sequence[str], drawn: Sequence[str]
) -> None:
    columns = ("player", "name", "arm", "round", "count", "mean", "low", "high")
    write(tmp_path, "cooperation_over_time", columns, *(("t", "Tit", arm, 1, 2, 0.5, "", "") for arm in ["", *curves]))
    columns_of_payoffs = ("player", "name", "arm", "mean", "low", "high", "games")
    write(tmp_path, "payoffs", columns_of_payoffs, *(("t", "Tit", arm, 2.5, "", "", 3) for arm in ["", *arms]))

    curve, points = (chart(tmp_path, one) for one in ("cooperation-over-time", "payoffs"))

    assert [{one.id: one.rows for one in chart_heads(tmp_path)}[one.id] for one in (curve, points)] == [len(drawn)] * 2
    for found, channel in ((curve, "strokeDash"), (points, "yOffset")):
        arm = found.columns.index("arm")
        assert [row[arm] for row in found.rows] == [*drawn]
        told_apart = [layer["encoding"].get(channel) for layer in found.spec["layer"]]
        told_apart.append(found.spec["encoding"].get(channel))
        assert any(told_apart) == (len(drawn) > 1)


def test_a_question_that_is_a_number_in_one_arm_and_options_in_another_has_a_chart_of_each(tmp_path: Path) -> None:
    age = ("before", "", "age", "How old?")
    write(tmp_path, "participants", ("status", "treatment", "player"), ("left", "a", "person"))
    write(
        tmp_path,
        "answers",
        ANSWERS,
        ("c1/m1", "a", *age, "integer", 41, "", "valid"),
        ("c2/m1", "b", *age, "text", "old", "Over 40", "valid"),
        ("c3/m1", "c", *age, "text", "Guess!", "", "valid"),
        ("c4/m1", "d", *age, "number", 41.5, "", "valid"),
    )

    found = [(one.id, one.title, one.rows) for one in chart_heads(tmp_path)[1:]]

    assert found == [
        ("numbers-before.age", "How old? (numbers)", 2),
        ("options-before.age", "How old? (options)", 1),
    ]
    assert chart(tmp_path, "numbers-before.age").rows == [["c1/m1", "a", 41.0, ""], ["c4/m1", "d", 41.5, ""]]
    assert chart(tmp_path, "options-before.age").rows == [["c2/m1", "b", "old", "Over 40"]]


def test_free_texts_of_an_arm_are_left_out_of_the_chart_of_a_question_with_numbers(tmp_path: Path) -> None:
    lines = [
        ("c1/m1", "a", "before", "", "age", "Age", "text", "So.", "", "valid"),
        ("c2/m1", "b", "before", "", "age", "Age", "integer", 41, "", "valid"),
    ]
    write(tmp_path, "answers", ANSWERS, *lines)

    assert [(one.id, one.title, one.rows) for one in chart_heads(tmp_path)] == [("answers-before.age", "Age", 1)]
    assert chart(tmp_path, "answers-before.age").rows == [["c2/m1", "b", 41.0, ""]]


def test_every_specification_is_one_of_vega_lite_and_every_chart_says_what_it_is_of(tmp_path: Path) -> None:
    valid = Draft7Validator(json.loads(gzip.decompress(SCHEMA.read_bytes())))
    write_every_table(tmp_path)

    found = [chart(tmp_path, one.id) for one in chart_heads(tmp_path)]

    assert [one.id for one in found] == [
        "leaderboard-with_self_play", "cooperation", "cooperation-over-time", "cooperation-over-alpha", "payoffs",
        "flow", "time", "talk", "calls", "answers-before.age", "answers-before.town", "answers-before.share",
    ]  # fmt: skip
    assert {
        one.id: [wrong.message[:200] for wrong in valid.iter_errors(json.loads(json.dumps(one.spec)))] for one in found
    } == {one.id: [] for one in found}
    assert {one.id for one in found if not one.note.endswith(".")} == set()
    assert not valid.is_valid({**found[0].spec, "mark": "bars"})


def test_the_schema_is_of_the_vega_lite_that_draws_the_charts() -> None:
    package = Path(__file__).parents[2] / "web" / "vendor" / "package.json"

    assert json.loads(package.read_text())["devDependencies"]["vega-lite"] == VEGA_LITE


def test_the_time_is_of_participants_who_completed_the_experiment(tmp_path: Path) -> None:
    times = ("2026-01-01T10:00:00Z", "2026-01-01T10:20:00Z")
    rows = [(status, "", "person", *times) for status in ("completed", "left")]
    write(tmp_path, "participants", ("status", "treatment", "player", "joined_at", "ended_at"), *rows)

    assert chart(tmp_path, "time").rows == [["completed", "person", *times]]
