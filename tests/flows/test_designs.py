"""Designs of studies of individuals in few lines: a conjoint, price lists, a battery of vignettes, a set of stimuli.

Each runs with the mock in one lab. The wide and the long table say the same, and so does what each design is run for.
"""

import csv
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from parley_lab.cli.experiment_file import read_file
from parley_lab.experiments import files
from parley_lab.formats.exports import export
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

DESIGNS: Final = Path(__file__).parents[1] / "studies" / "designs"
PNG: Final = b"\x89PNG\r\n\x1a\n"
COUNT: Final = 6
Lines = list[dict[str, str]]
Tables = dict[str, Lines]


def conjoint(tables: Tables) -> None:
    profiles = tables["profiles_flats"]
    assert len(profiles) == COUNT * 6 * 2
    assert Counter(one["chosen"] for one in profiles) == {"true": COUNT * 6, "false": COUNT * 6}
    assert not [one for one in profiles if (one["rent"], one["size_in_m2"]) == ("600", "70")]
    rents = {(one["path"], one["row"]): one["label"] for one in tables["answers"] if one["question"] == "fair_a"}
    first = {(one["participant"], one["task"]): one["rent"] for one in profiles if one["profile"] == "a"}
    assert {at: f"Is {rent} a fair rent for flat A?" for at, rent in first.items()} == rents


def prices(tables: Tables) -> None:
    rows = {(one["stage"], one["row"]): one for one in tables["rows"]}
    chances = [one for one in tables["answers"] if one["stage"] == "chances"]
    up = {(one["row"], one["place"]) for one in chances if one["factor.list"] == "up"}
    assert {(row, f"{11 - int(place)}") for row, place in up} == {(f"p{n}", f"{n}") for n in range(1, 11)}
    assert {rows["chances", one["row"]]["chance"] for one in chances} == {f"{n}" for n in range(1, 11)}
    for one in tables["participants"]:
        safe = [one[f"amounts.{number}.take"] for number in range(1, 8)]
        assert {*safe} <= {"safe", "lottery"}


def vignettes(tables: Tables) -> None:
    rows = {one["row"]: one for one in tables["rows"] if one["stage"] == "cases"}
    blame = [one for one in tables["answers"] if one["question"] == "blame"]
    domains = Counter((one["path"], rows[one["row"]]["domain"]) for one in blame)
    assert {*domains.values()} == {2}
    assert {*Counter((one["path"], one["level.knew"]) for one in blame).values()} == {2}
    assert all(rows[one["row"]][one["level.knew"]] in one["label"] for one in blame)
    fined = [one for one in tables["answers"] if one["question"] == "fine"]
    assert {rows[one["row"]]["domain"] for one in fined} == {"firm"}
    assert {one["read.passed"] for one in tables["participants"]} == {"true"}
    read = [one for one in tables["answers"] if one["stage"] == "read" and not one["key"]]
    assert Counter(one["place"] for one in read) == {"1": COUNT, "2": COUNT}
    assert {one["label"] for one in read} == {
        f"In a case {one['actor']} {one['act']}. Which person acts?"
        for row, one in rows.items()
        if row in _rows_of(read)
    }


def stimuli(tables: Tables) -> None:
    liked = [one for one in tables["answers"] if one["question"] == "liked"]
    assert {*Counter((one["path"], one["row"][:-1]) for one in liked).values()} == {3}
    assert {*Counter(one["path"] for one in tables["answers"] if one["stage"] == "pairs").values()} == {2}


def _rows_of(lines: Lines) -> set[str]:
    return {one["row"] for one in lines}


def put_beside(folder: Path) -> None:
    """The designs with their tables and pictures."""
    shutil.copytree(DESIGNS, folder)
    (folder / "pictures").mkdir()
    for sort in ("face", "house"):
        for number in range(1, 7):
            (folder / "pictures" / f"{sort}{number}.png").write_bytes(PNG + f"{sort}{number}".encode())


def read_tables(folder: Path) -> Tables:
    found: Tables = {}
    for path in folder.glob("*.csv"):
        with path.open(newline="", encoding="utf-8") as lines:
            found[path.stem] = [*csv.DictReader(lines)]
    return found


def compare_wide_with_long(tables: Tables) -> None:
    people = {one["path"]: one for one in tables["participants"]}
    lines = [one for one in tables["answers"] if one["status"] == "valid"]
    assert lines
    for one in lines:
        wide, column = people[one["path"]], f"{one['stage']}.{one['row']}"
        assert wide[f"{one['stage']}.{one['field']}"] == one["value"], one
        assert wide.get(f"{column}.place", one["place"]) == one["place"], one
        for name in (name for name in one if name.startswith("level.") and one[name]):
            assert wide[f"{column}.{name.removeprefix('level.')}"] == one[name]


@pytest.mark.postgres
async def test_designs_of_few_lines_run_in_one_lab_and_their_tables_agree(database: Database, tmp_path: Path) -> None:
    put_beside(tmp_path / "designs")
    lab = DrainLab(database)
    checks: list[Callable[[Tables], None]] = [conjoint, prices, vignettes, stimuli]
    started: dict[str, Any] = {}
    for check in checks:
        read = read_file(tmp_path / "designs" / f"{check.__name__}.yaml")
        assert read.reading is not None
        async with database.transaction() as session:
            await files.keep(session, read.reading.files, lab.clock.now())
        cohorts = [{**read.values["cohorts"][0], "count": COUNT}]
        started[check.__name__] = await lab.start(yaml.safe_dump({**read.values, "cohorts": cohorts}, sort_keys=False))
    await lab.drain()

    for check in checks:
        folder = tmp_path / check.__name__
        folder.mkdir()
        await export(database, started[check.__name__], folder, lab.clock.now(), formats=["csv"])
        tables = read_tables(folder)
        assert {one["status"] for one in tables["participants"]} == {"completed"}
        compare_wide_with_long(tables)
        check(tables)


def test_each_design_has_fewer_than_60_lines() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in DESIGNS.glob("*.yaml")}

    assert len(lengths) == 4
    assert max(lengths.values()) < 60, lengths
