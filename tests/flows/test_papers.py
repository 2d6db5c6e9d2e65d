"""The demos of published studies: each runs, and its analysis computes from the data what it says."""

import csv
import runpy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from parley_lab.formats.exports import export
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.playing import playing_alone

PAPERS = Path(__file__).parents[2] / "demos" / "papers"


def analysis(name: str) -> dict[str, Any]:
    return runpy.run_path(str(PAPERS / f"{name}.py"))


@pytest.mark.postgres
@pytest.mark.parametrize("name", quick_first(["framing", "impressions", "anchoring"], 2))
async def test_a_study_runs_with_the_mock_and_is_analysed(name: str, database: Database, tmp_path: Path) -> None:
    document = yaml.safe_load((PAPERS / f"{name}.yaml").read_text())
    document["cohorts"][0]["count"] = 16

    async with playing_alone(database, **document) as (lab, experiment_id):
        await export(database, experiment_id, tmp_path, lab.clock.now(), formats=["csv"])

    found, published = analysis(name)["computed"](tmp_path), analysis(name)["PUBLISHED"]
    assert published.keys() <= found.keys()


def written(folder: Path, name: str, lines: Sequence[Mapping[str, object]]) -> None:
    with (folder / name).open("w", newline="") as target:
        writer = csv.DictWriter(target, [*dict.fromkeys(field for line in lines for field in line)])
        writer.writeheader()
        writer.writerows(lines)


def test_the_anchoring_index_is_that_of_the_published_means(tmp_path: Path) -> None:
    guesses = [("low", 280), ("low", 284), ("high", 844)]
    written(tmp_path, "rows.csv", [{"row": "redwood", "low": 180, "high": 1200}])
    line = {"row": "redwood", "field": "redwood.guess"}
    written(tmp_path, "answers.csv", [{**line, "level.anchor": level, "value": value} for level, value in guesses])

    found = analysis("anchoring")

    assert round(found["computed"](tmp_path)["redwood"], 2) == found["PUBLISHED"]["redwood"]


def test_the_share_of_the_sure_plan_is_counted_in_each_frame(tmp_path: Path) -> None:
    chosen = [("gain", "sure")] * 3 + [("gain", "risky"), ("gain", ""), ("loss", "risky")]
    written(tmp_path, "participants.csv", [{"factor.frame": frame, "plans.chosen": one} for frame, one in chosen])

    assert analysis("framing")["computed"](tmp_path) == {"gain": 0.75, "loss": 0.0}


def test_the_share_of_the_first_word_is_counted_for_each_pair(tmp_path: Path) -> None:
    found = analysis("impressions")
    given = [("warm", "good"), ("warm", "other"), ("cold", "other")]
    lines = [{"row": pair, "factor.word": word, "value": one} for pair in found["PUBLISHED"] for word, one in given]
    written(tmp_path, "answers.csv", lines)

    assert found["computed"](tmp_path) == dict.fromkeys(found["PUBLISHED"], (0.5, 0.0))
