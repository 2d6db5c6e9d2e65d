"""The arena among the demos, from its file to leaderboards, tables and figures."""

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from xml.etree import ElementTree

import pytest

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.timeout(300),
    pytest.mark.waits(100, reason="a lab in a process of its own plays 84 games"),
]

DEMO = Path(__file__).parents[2] / "demos" / "arena.yaml"
PLAYERS = ("alld", "coin", "cooperative", "forgiving", "selfish", "tft", "wsls")
PAIRS = 28
REPLICATES = 3
ROUNDS = 20
FIGURES = {"cooperation.svg", "cooperation_over_time.svg", "payoffs.svg"}
DRAWN_FROM = {"cooperation.csv", "cooperation_over_time.csv", "payoffs.csv"}
OF_GAMES = {"cautions.csv", "games.csv", "leaderboard.csv", "measures.csv", "overview.csv", "pairs.csv", "rounds.csv"}
TABLES = DRAWN_FROM | OF_GAMES


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def scores(folder: Path) -> Iterator[tuple[str, str, float]]:
    for row in table(folder, "games"):
        yield row["player_a"], row["player_b"], float(row["points_a"])


def cohorts_in(place: str) -> int:
    """How many cohorts a line of the terminal is about: `c1`, `c1 to c5, c7` or `12 cohorts`."""
    if counted := re.fullmatch(r"(\d+) cohorts", place):
        return int(counted[1])
    spans = [[int(path.removeprefix("c")) for path in span.split(" to ")] for span in place.split(", ")]
    return sum(span[-1] - span[0] + 1 for span in spans)


def test_the_demo_plays_its_tournament_and_tells_who_came_first_by_which_convention(
    parley: Callable[..., "CompletedProcess[str]"], tmp_path: Path, data_dir: Path
) -> None:
    ran = parley("run", DEMO, "--data-dir", data_dir)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    for convention in ("without self-play", "self-play once", "self-play twice"):
        assert f"Leaderboard, {convention}: " in ran.stdout
    told = [line.split("  ", 1)[0] for line in ran.stdout.splitlines() if line.endswith(" after 20 rounds")]
    assert sum(map(cohorts_in, told)) == PAIRS * REPLICATES
    assert "has answered" not in ran.stdout
    assert "Cooperation of the player in the row with the opponent in the column" in ran.stdout
    [folder] = (tmp_path / "results" / "arena").iterdir()
    assert {path.name for path in folder.iterdir()} >= FIGURES | TABLES
    for figure in FIGURES:
        assert ElementTree.parse(folder / figure).getroot().tag.endswith("svg")

    rounds = table(folder, "rounds")
    assert len(rounds) == PAIRS * REPLICATES * ROUNDS
    assert {row["status"] for row in rounds} == {"over"}
    found = set(scores(folder))
    # Personas play by their rules with the mock: three, two and no rounds of trust before an endless defector.
    assert {("alld", "cooperative", 32.0), ("alld", "forgiving", 28.0), ("alld", "selfish", 20.0)} <= found
    assert {("tft", "alld", 19.0), ("alld", "wsls", 60.0)} <= found
    board = table(folder, "leaderboard")
    assert {row["player"] for row in board if row["convention"] == "self-play once"} == set(PLAYERS)
    calls = table(folder, "model_calls")
    assert {row["model_returned"] for row in calls} == {"mock"}
    for name in TABLES:
        shown = {(row["model_mode"], row["endpoint"], row["model"]) for row in table(folder, name.removesuffix(".csv"))}
        assert shown <= {("mock", "", "mock")}, name
