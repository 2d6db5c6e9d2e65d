"""An arena over REST: compose it, run it, read its measures, download its rounds; real models fail closed."""

import io
import threading
import zipfile
from typing import Any
from uuid import UUID

import pytest

from parley_lab.gateway.testing import FILE, Api
from parley_lab.kinds.data import Report
from parley_lab.kinds.stages.matrix_game.reporting import GamesReporter
from parley_lab.orchestrator.playing_out import play_out

pytestmark = pytest.mark.postgres


def arena(**changes: Any) -> dict[str, Any]:
    policies = ("TFT", "ALLD", "ALLC")
    return {
        "parley": 1,
        "name": "Arena",
        "seed": 4,
        "personas": [
            {"id": one.lower(), "player": "script", "script": {"matrix_game": {"policy": one}}} for one in policies
        ],
        "stages": [{"id": "game", "kind": "matrix_game", "horizon": {"type": "fixed", "rounds": 50}}],
        "pairings": {"stage": "game", "replicates": 2, "round_robin": [one.lower() for one in policies]},
        **changes,
    }


async def played(api: Api) -> str:
    created = await api.experimenter("POST", "/v1/experiments", json=arena())
    assert created.status_code == 201, created.text
    experiment_id = str(created.json()["id"])
    started = await api.experimenter("POST", f"/v1/experiments/{experiment_id}/start")
    assert started.status_code == 200, started.text
    await play_out(api.database, UUID(experiment_id), api.clock.now())
    return experiment_id


async def test_measures_of_an_arena_are_read_with_their_intervals(api: Api) -> None:
    experiment_id = await played(api)
    found = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/measures")
    assert found.status_code == 200, found.text
    assert found.json()["status"] == "ended"
    tables = {table["name"]: table["rows"] for table in found.json()["tables"]}
    some = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/measures?tables=pairs&tables=unknown")
    assert {one["name"]: one["rows"] for one in some.json()["tables"]} == {"pairs": tables["pairs"]}
    points = next(row for row in tables["pairs"] if row["pair"] == "tft vs alld" and row["measure"] == "points_a")
    assert (points["mean"], points["low"], points["high"], points["count"]) == (49, 49, 49, 2)
    board = {row["player"]: row["score"] for row in tables["leaderboard"] if row["convention"] == "without self-play"}
    assert board == {"alld": 304, "tft": 199, "allc": 150}


async def test_rounds_are_downloaded_with_tables_and_figures(api: Api) -> None:
    experiment_id = await played(api)
    archive = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export")
    with zipfile.ZipFile(io.BytesIO(archive.content)) as files:
        names = set(files.namelist())
        rounds = files.read("rounds.csv").decode().splitlines()
    assert {"rounds.csv", "games.csv", "pairs.csv", "measures.csv", "leaderboard.csv", "cautions.csv"} <= names
    assert {"cooperation.svg", "cooperation_over_time.svg", "payoffs.svg"} <= names
    assert len(rounds) == 1 + 3 * 2 * 50


async def test_reports_are_made_beside_the_event_loop(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    made_in: list[int] = []
    make = GamesReporter.report

    def note(reporter: GamesReporter) -> Report | None:
        made_in.append(threading.get_ident())
        return make(reporter)

    monkeypatch.setattr(GamesReporter, "report", note)
    experiment_id = await played(api)

    for what in ("measures", "export"):
        found = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/{what}")
        assert found.status_code == 200

    assert len(made_in) == 2
    assert threading.get_ident() not in made_in


async def test_measures_are_the_owners_only(api: Api) -> None:
    experiment_id = await played(api)
    refused = await api.client.get(f"/v1/experiments/{experiment_id}/measures")
    assert refused.status_code == 401


async def test_an_experiment_without_games_has_no_measures(api: Api) -> None:
    created = await api.experimenter("POST", "/v1/experiments", json=FILE)
    found = await api.experimenter("GET", f"/v1/experiments/{created.json()['id']}/measures")
    assert found.json()["tables"] == []


async def test_an_arena_with_real_models_and_no_key_is_refused_before_any_game(api: Api) -> None:
    model = {"id": "trader", "role": "r", "goal": "g", "backstory": "b", "model": {"provider": "openai"}}
    document = arena(model_mode="real")
    document["personas"].append(model)
    document["pairings"] = {"stage": "game", "round_robin": ["trader", "tft"]}
    created = await api.experimenter("POST", "/v1/experiments", json=document)
    refused = await api.experimenter("POST", f"/v1/experiments/{created.json()['id']}/start")
    assert refused.status_code == 409, refused.text
    assert "OPENAI_API_KEY" in refused.text
    shown = (await api.experimenter("GET", f"/v1/experiments/{created.json()['id']}")).json()
    assert (shown["status"], shown["progress"]["cohorts"]) == ("draft", 0)
