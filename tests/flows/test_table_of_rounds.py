"""The table of rounds of matrix games, while they go on and when they are over."""

import csv
import json
from pathlib import Path

import pytest

from parley_lab.experiments.ending import end
from parley_lab.formats.exports import export
from parley_lab.kinds.stages.matrix_game.arena.games import Pairing, games_from, measures_of, with_pairs
from parley_lab.kinds.stages.matrix_game.arena.summaries import cautions
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab
from tests.flows.matrix_games import Saying, answer, experiment, rounds_of

pytestmark = pytest.mark.postgres

_ONE_ROUND = json.dumps({"actions": ["C", "D"], "status": "playing"})


async def test_the_table_of_rounds_gives_the_measures(database: Database, tmp_path: Path) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(experiment(("tft", "alld"), ("chance", "tft"), count=2))
    await lab.drain()

    written = await export(database, experiment_id, tmp_path, lab.clock.now(), formats=["csv"])
    with (tmp_path / "rounds.csv").open() as lines:
        rounds = [*csv.DictReader(lines)]
    games = games_from(with_pairs(rounds, Pairing()))

    assert written.manifest["rows"]["rounds.csv"] == 200
    assert {(row["player_a"], row["alpha_a"], row["alpha_b"]) for row in rounds} == {
        ("tft", "", ""),
        ("chance", "0.5", ""),
    }
    assert [(game.pair, game.replicate) for game in games] == [
        ("chance vs tft", 0),
        ("chance vs tft", 1),
        ("tft vs alld", 0),
        ("tft vs alld", 1),
    ]
    found = measures_of(games[-1])
    assert (found["points_a"], found["points_b"], found["retaliation_a"]) == (49, 54, 1.0)
    assert [caution.subject for caution in cautions(games)] == ["tft vs alld"]


async def test_the_table_of_rounds_has_what_the_cohort_was_settled_to(database: Database, tmp_path: Path) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(experiment(("tft", "alld"), rounds=3))
    await lab.drain()
    await lab.rows("UPDATE cohort_stages SET state = state || CAST(:known AS jsonb) RETURNING 1", known=_ONE_ROUND)

    rounds = await rounds_of(lab, experiment_id, tmp_path)

    assert [(row["action_a"], row["action_b"], row["status"]) for row in rounds] == [("C", "D", "playing")]


@pytest.mark.parametrize("is_settled", [True, False])
async def test_the_table_of_rounds_has_answers_that_no_settling_has_seen(
    database: Database, tmp_path: Path, is_settled: bool
) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(experiment(("person", "alld"), rounds=3))
    _, token = await lab.join(experiment_id)
    await lab.drain()
    await answer(lab, token, "C")
    await lab.drain()
    await answer(lab, token, "D")
    if is_settled:
        await lab.drain()

    rounds = await rounds_of(lab, experiment_id, tmp_path)

    assert [row["letter_a"] for row in rounds] == ["C", "D"]
    assert {row["status"] for row in rounds} == {"playing"}


async def test_a_game_that_is_ended_from_outside_was_abandoned(database: Database, tmp_path: Path) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(experiment(("person", "alld"), rounds=3))
    _, token = await lab.join(experiment_id)
    await lab.drain()
    await answer(lab, token, "C")
    await lab.drain()

    async with database.transaction() as session:
        await end(session, experiment_id, lab.clock.now())
    rounds = await rounds_of(lab, experiment_id, tmp_path)

    assert [(row["action_a"], row["status"]) for row in rounds] == [("C", "abandoned")]


async def test_what_could_not_be_read_is_flagged_in_the_table_of_rounds(database: Database, tmp_path: Path) -> None:
    lab = DrainLab(database, models={"mock": Saying("C", "hmm")})
    experiment_id = await lab.start(experiment(("free", "alld"), rounds=3))
    await lab.drain()

    await export(database, experiment_id, tmp_path, lab.clock.now(), formats=["csv"])

    with (tmp_path / "rounds.csv").open() as lines:
        first, second = csv.DictReader(lines)
    assert (first["action_a"], first["flag_a"], first["total_b"], first["status"]) == ("C", "", "5", "failed")
    assert (second["action_a"], second["flag_a"], second["total_b"]) == ("", "failed", "5")
    assert second["reasoning_a"] == "hmm"
