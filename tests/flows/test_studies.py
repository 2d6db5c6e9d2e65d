"""Published studies in few lines: each runs with the mock, and its statistic can be computed from the CSV files.

The three others of the nine studies of individuals in HumanStudy-Bench (arXiv 2602.00685) are in demos/papers.
"""

import csv
from collections.abc import Callable, Sequence
from math import sqrt
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import pytest

from parley_lab.cli.experiment_file import read_file
from parley_lab.formats.exports import export
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.playing import playing_alone

STUDIES = Path(__file__).parents[1] / "studies"
PAPERS = Path(__file__).parents[2] / "demos" / "papers"
COUNT = 8
Lines = list[dict[str, str]]


class Data:
    """The CSV files of a run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, name: str) -> Lines:
        with (self._folder / f"{name}.csv").open(newline="", encoding="utf-8") as lines:
            return [*csv.DictReader(lines)]

    def answers(self, stage: str, question: str) -> Lines:
        """The answers to a question of rows, each with the columns of its row."""
        rows = {one["row"]: one for one in self.of("rows") if one["stage"] == stage}
        given = (one for one in self.of("answers") if (one["stage"], one["question"]) == (stage, question))
        return [{**rows[one["row"]], **one} for one in given]


def numbers(lines: Lines, column: str, **where: str) -> list[float]:
    found = (one[column] for one in lines if all(one[name] == value for name, value in where.items()))
    return [float(one) for one in found if one]


def share(lines: Lines, column: str, value: str, **where: str) -> float:
    given = [one[column] for one in lines if all(one[name] == part for name, part in where.items())]
    return given.count(value) / len(given)


def t_of(differences: Sequence[float]) -> float:
    return mean(differences) / (stdev(differences) / sqrt(len(differences)))


def consensus(data: Data) -> dict[str, float]:
    """How many points more those who choose the first way give it, by story, and how they see who chooses otherwise."""
    people, traits = data.of("participants"), data.answers("people", "traits")
    by_path = {one["path"]: one["own.way"] for one in people}
    gaps = {}
    for story in ("shop", "essay", "ticket", "rocket"):
        ways = {
            way: numbers(people, "others.first", **{"factor.story": story, "own.way": way}) for way in by_path.values()
        }
        gaps[story] = mean(ways["first"] or [0]) - mean(ways["second"] or [0])
    others = [float(one["value"]) for one in traits if by_path[one["path"]] != one["row"]]
    assert all(float(one["others.first"]) + float(one["others.second"]) == 100 for one in people)
    assert {one["field"] for one in traits} == {
        f"{way}.traits.{name}" for way in ("first", "second") for name in ("warm", "bold", "fair")
    }
    return {**gaps, "others": mean(others)}


def samples(data: Data) -> dict[str, float]:
    """The median of each estimate, the part that chooses as by likeness, and how much wider small samples are seen."""
    people = data.of("participants")
    spread = data.answers("spread", "half")
    found = {one: median(numbers(people, f"problems.{one}")) for one in ("births", "random")}
    found |= {one: share(people, f"problems.{one}", value) for one, value in (("programs", "a"), ("marbles", "uneven"))}
    found["hospital"] = share(people, "problems.hospital", "same")
    assert all(sorted(one["problems.order"].split()) == sorted((*found,)) for one in people)
    return {**found, "spread": mean(numbers(spread, "value", size="10")) - mean(numbers(spread, "value", size="1000"))}


def intention(data: Data) -> dict[str, float]:
    """The part that says yes, and the blame or praise, by effect."""
    people = data.of("participants")
    much = {"harm": "blame.much", "help": "praise.much"}
    assert all((one["blame.much"] != "") == (one["factor.effect"] == "harm") for one in people)
    return {
        f"{effect}.{what}": value
        for effect, column in much.items()
        for what, value in (
            ("yes", share(people, "meant.meant", "yes", **{"factor.effect": effect})),
            ("much", mean(numbers(people, column))),
        )
    }


def groups(data: Data) -> dict[str, float]:
    """How far the choices of each cell are on the side of one's own, from -6.5 to 6.5 columns."""
    answers = data.answers("coins", "column")
    own = {"straight": {"fair": 1, "joint": -1, "ahead": -1, "both": -1}}
    signs = {**own, "turned": {row: -sign for row, sign in own["straight"].items()}}
    cells: dict[str, list[float]] = {}
    for one in answers:
        side = signs[one["level.people"]][one["row"]] * (float(one["value"]) - 7.5)
        cells.setdefault(f"{one['factor.grouped']}-{one['factor.alike']}", []).append(side)
    assert {len(one) for one in cells.values()} == {COUNT}
    return {name: mean(values) for name, values in cells.items()}


def comfort(data: Data) -> dict[str, float]:
    """The t of how much others are thought to be more at ease, in pairs; from the wide table and from the long one."""
    people, answers = data.of("participants"), data.answers("ease", "much")
    wide = [float(one["ease.average.much"]) - float(one["ease.self.much"]) for one in people]
    long = {(one["path"], one["row"]): float(one["value"]) for one in answers}
    assert [long[one["path"], "average"] - long[one["path"], "self"] for one in people] == wide
    places = [sorted(one[f"ease.{row}.place"] for row in ("self", "friend", "average")) for one in people]
    assert places == [["1", "2", "3"]] * COUNT
    assert all(float(one["ease.average.from"]) <= float(one["ease.average.to"]) for one in people)
    return {"ease": t_of(wide), "ban": t_of([float(one["ban.average"]) - float(one["ban.own"]) for one in people])}


def uncertain(data: Data) -> dict[str, float]:
    """The part of games in which people join, by what they know, and the parts that go against one's advantage."""
    people, answers = data.of("participants"), data.answers("games", "choice")
    assert len(answers) == 18 * COUNT
    joined = {known: share(answers, "value", "join", known=known) for known in ("unknown", "joins", "competes")}
    boxes = share(people, "boxes.takes", "one")
    return {**joined, "boxes": boxes, "asks": share(people, "news.asks", "true")}


@pytest.mark.postgres
@pytest.mark.parametrize("statistic", quick_first([consensus, intention, groups, samples, comfort, uncertain], 3))
async def test_a_study_of_few_lines_runs_and_is_analysed(
    statistic: Callable[[Data], dict[str, float]], database: Database, tmp_path: Path
) -> None:
    path = STUDIES / f"{statistic.__name__}.yaml"
    document: dict[str, Any] = {**read_file(path).values}
    document["cohorts"] = [{**document["cohorts"][0], "count": COUNT}]

    async with playing_alone(database, **document) as (lab, experiment_id):
        await export(database, experiment_id, tmp_path, lab.clock.now(), formats=["csv"])

    found = statistic(Data(tmp_path))
    assert all(value == value for value in found.values())


def test_each_of_the_nine_studies_has_fewer_than_60_lines() -> None:
    lengths = {
        path.name: len(path.read_text().splitlines()) for path in [*STUDIES.glob("*.yaml"), *PAPERS.glob("*.yaml")]
    }

    assert len(lengths) == 9
    assert max(lengths.values()) < 60, lengths
