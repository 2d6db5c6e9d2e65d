"""Runs that are stuck, fail, or wait for a key or for more calls."""

import asyncio
import csv
import re
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from parley_lab.cli.testing import MANY, TINY, Parley, written
from parley_lab.testing.fake_endpoint import Behaviour, FakeEndpoint, FakeReply
from parley_lab.testing.pause_kind import WITHOUT_END, write_kind

pytestmark = pytest.mark.postgres


STUCK = """
parley: 1
name: Stuck
seed: 0
stages:
  - {id: welcome, kind: info, lines: [Welcome]}
  - {id: rest, kind: pause, minutes: 3}
personas:
  - {id: ada, profile: {name: Ada}}
cohorts:
  - seats: [{persona: ada, count: 2}]
"""


async def run_against(
    endpoint: FakeEndpoint, *options: str, parley: Parley, file: Path, data_dir: Path
) -> "subprocess.CompletedProcess[str]":
    """A run of this file whose models answer at the endpoint."""
    variables = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": endpoint.base_url}
    return await asyncio.to_thread(lambda: parley("run", file, "--data-dir", data_dir, *options, **variables))


def test_a_stuck_run_names_who_is_stuck_and_why(tmp_path: Path, fresh_parley: Parley, data_dir: Path) -> None:
    file = written(tmp_path, STUCK)
    kinds = write_kind(tmp_path, WITHOUT_END)

    result = fresh_parley("run", file, "--kinds", kinds, "--data-dir", data_dir)

    assert result.returncode == 1, result.stdout + result.stderr
    assert "c1/m1 on rest: has nothing left to do on this stage, and cannot leave it" in result.stdout
    assert list((tmp_path / "results" / "stuck").glob("*/participants.csv"))


PAGE = TINY.replace("kind: group_chat", "kind: survey, questions: [{id: why, kind: text, title: Why}]")


async def test_a_run_with_missing_answers_counts_them_and_keeps_everybody(
    tmp_path: Path, parley: Parley, data_dir: Path
) -> None:
    file = written(tmp_path, PAGE)
    async with FakeEndpoint(Behaviour(garbage_rate=1.0)) as endpoint:
        result = await run_against(endpoint, "--models", "real", parley=parley, file=file, data_dir=data_dir)

    assert result.returncode == 1, result.stdout + result.stderr
    said = " ".join(result.stdout.split())
    assert "2 answers are missing, because no usable reply came: talk.why (2 members)" in said
    assert re.search(r"c1/m[12] gave no usable answer on talk to why \(expected was text", said)
    assert "2 completed" in said
    (folder,) = (tmp_path / "results" / "a-tiny-talk").iterdir()
    with (folder / "answers.csv").open(newline="", encoding="utf-8-sig") as file_of_answers:
        rows = list(csv.DictReader(file_of_answers))
    assert [(row["field"], row["value"], row["status"]) for row in rows] == [("why", "", "invalid")] * 2
    assert all(row["reason"].startswith("expected was text") for row in rows)


GAME = """
parley: 1
name: A game
model_mode: real
stages: [{id: game, kind: matrix_game, horizon: {type: fixed, rounds: 2}, on_invalid: ON_INVALID}]
personas: [{id: ada}, {id: tft, player: script, script: {matrix_game: {policy: TFT}}}]
cohorts: [{seats: [{persona: ada}, {persona: tft}]}]
"""
SILENT = """
parley: 1
name: A silent talk
model_mode: real
stages: [{id: talk, kind: group_chat, turn_taking: round, max_agent_run: 4}]
personas: [{id: ada}, {id: bob}]
cohorts: [{seats: [{persona: ada}, {persona: bob}]}]
"""


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (GAME.replace("ON_INVALID", "fail_game"), "1 reply of a model was given up after all attempts: game (1)"),
        (GAME.replace("ON_INVALID", "exclude_round"), "2 replies of models were given up after all attempts: game (2)"),
        (SILENT, "given up after all attempts: talk ("),
    ],
    ids=["a failed game", "rounds that do not count", "a silent talk"],
)
async def test_a_run_in_which_models_cannot_be_read_says_so_and_is_no_success(
    tmp_path: Path, parley: Parley, data_dir: Path, document: str, said: str
) -> None:
    file = written(tmp_path, document)
    async with FakeEndpoint(Behaviour(garbage_rate=1.0)) as endpoint:
        result = await run_against(endpoint, "--models", "real", parley=parley, file=file, data_dir=data_dir)

    assert result.returncode == 1, result.stdout + result.stderr
    assert said in " ".join(result.stdout.split())


async def test_a_run_in_which_participants_fail_names_them(tmp_path: Path, parley: Parley, data_dir: Path) -> None:
    file = written(tmp_path, PAGE.replace("kind: survey,", "kind: survey, on_invalid: fail,"))
    async with FakeEndpoint(Behaviour(garbage_rate=1.0)) as endpoint:
        result = await run_against(endpoint, "--models", "real", parley=parley, file=file, data_dir=data_dir)

    assert result.returncode == 1, result.stdout + result.stderr
    assert "2 of the members failed, in c1:" in result.stdout
    assert "c1/m1, c1/m2 on talk: " in result.stdout
    assert "--resume --retry-failed" in result.stdout


async def test_a_model_that_does_not_exist_is_told_of_once_and_not_for_every_agent(
    tmp_path: Path, parley: Parley, data_dir: Path
) -> None:
    file = written(tmp_path, MANY)
    missing = FakeReply(404, {"error": {"message": "The model does not exist.", "code": "model_not_found"}})
    async with FakeEndpoint(replies=lambda _request: missing) as endpoint:
        result = await run_against(endpoint, parley=parley, file=file, data_dir=data_dir)

    assert result.returncode == 1, result.stdout + result.stderr
    told = [line for line in result.stdout.splitlines() if "The model does not exist." in line]
    assert len(told) == 2, "of the first of them, and of all in the end"
    assert "and 7 more on q: HTTP 404" in told[1]
    assert "start a new run" in result.stdout


async def test_a_refused_first_call_stops_the_run_which_goes_on_when_the_key_works(
    tmp_path: Path, parley: Parley, data_dir: Path
) -> None:
    file = written(tmp_path, MANY)

    run = partial(run_against, parley=parley, file=file, data_dir=data_dir)

    async with FakeEndpoint(Behaviour(fault="key")) as endpoint:
        refused = await run(endpoint)
        assert endpoint.statistics["calls"] == 1
    async with FakeEndpoint() as endpoint:
        resumed = await run(endpoint, "--resume")
        assert endpoint.statistics["calls"] == 24

    assert refused.returncode == 1, refused.stdout + refused.stderr
    assert re.search(r"c1/m\d+ was asked; what came back: HTTP 401: .*Incorrect API key", refused.stdout)
    assert "into OPENAI_API_KEY" in refused.stdout
    assert "--resume" in refused.stdout
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    (folder,) = (tmp_path / "results" / "many-answers").iterdir()
    calls = list(csv.DictReader((folder / "model_calls.csv").read_text().splitlines()))
    assert [call["status"] for call in calls].count("auth_error") == 1
    assert len(calls) == 25


async def test_who_failed_is_asked_again_by_a_run_that_had_ended(
    tmp_path: Path, parley: Parley, data_dir: Path
) -> None:
    file = written(tmp_path, MANY)

    run = partial(run_against, parley=parley, file=file, data_dir=data_dir)

    async with FakeEndpoint() as endpoint:
        asked: list[int] = []

        def some_fail(_request: dict[str, Any]) -> FakeReply | None:
            asked.append(len(asked))
            return FakeReply(422, {"error": {"message": "no"}}) if asked[-1] in (3, 5) else None

        endpoint.replies = some_fail
        first = await run(endpoint)
        endpoint.replies = None
        again = await run(endpoint, "--resume", "--retry-failed")

    assert (first.returncode, again.returncode) == (1, 0), first.stdout + again.stdout + again.stderr
    assert "2 of the members failed" in first.stdout
    assert "2 members who had failed go on where they were." in again.stdout
    (folder,) = (tmp_path / "results" / "many-answers").iterdir()
    people = list(csv.DictReader((folder / "participants.csv").read_text().splitlines()))
    assert [person["status"] for person in people] == ["completed"] * 12


async def test_a_run_pauses_when_its_calls_are_spent_and_goes_on_with_more(
    tmp_path: Path, parley: Parley, data_dir: Path
) -> None:
    file = written(tmp_path, MANY)

    async with FakeEndpoint() as endpoint:
        run = partial(run_against, endpoint, parley=parley, file=file, data_dir=data_dir)
        paused = await run("--max-calls", "7")
        assert endpoint.statistics["calls"] == 7
        too_few = await run("--resume", "--max-calls", "7")
        finished = await run("--resume", "--max-calls", "100")
        assert endpoint.statistics["calls"] == 24

    assert (paused.returncode, too_few.returncode, finished.returncode) == (1, 2, 0), paused.stdout + finished.stdout
    assert "It asks models for at most 24 replies: 24 calls, or up to 96" in paused.stdout
    assert "It is paused after 7 calls." in paused.stdout
    assert "has made 7 calls of models, as many as it may" in paused.stdout
    assert "has made 7 calls of models already" in too_few.stderr


async def test_a_run_that_is_paused_waits_for_its_calls_under_way_and_has_them_in_its_data(
    tmp_path: Path, parley: Parley, data_dir: Path
) -> None:
    file = written(tmp_path, MANY)

    async with FakeEndpoint(Behaviour(latency_seconds=1.0)) as endpoint:
        paused = await run_against(endpoint, "--max-calls", "7", parley=parley, file=file, data_dir=data_dir)

    assert paused.returncode == 1, paused.stdout + paused.stderr
    assert "Called: real models, 7 calls" in paused.stdout
    (folder,) = (tmp_path / "results" / "many-answers").iterdir()
    assert len(list(csv.DictReader((folder / "model_calls.csv").read_text().splitlines()))) == 7


async def test_a_run_waits_for_a_key_that_is_refused_later_and_stops_when_its_patience_is_over(
    tmp_path: Path, parley: Parley, data_dir: Path
) -> None:
    file = written(tmp_path, MANY)
    async with FakeEndpoint(Behaviour(fault="quota", fault_after=5)) as endpoint:
        result = await run_against(endpoint, "--patience", "0.02", parley=parley, file=file, data_dir=data_dir)

    assert result.returncode == 1, result.stdout + result.stderr
    assert "The key of openai is paused since" in result.stdout
    assert "The run has stopped: the key of openai is refused since" in result.stdout
    assert "no member has failed" in result.stdout
    assert "--resume" in result.stdout
