"""Going on with runs: what is refused changes nothing, what can goes on, and data are found wherever they are."""

import asyncio
import csv
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psycopg
import pytest

from parley_lab.cli.testing import (
    COMMAND,
    MANY,
    NO_SHOW,
    BeginParley,
    Parley,
    environment,
    line_with,
    listed,
    paid,
    workbook_of_two_permutations,
    written,
)
from parley_lab.store import embedded_postgres, migrate
from parley_lab.testing.fake_endpoint import Behaviour, FakeEndpoint, FakeReply
from parley_lab.testing.network import free_port

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(400)]


def call(data_dir: Path, told: str, method: str, path: str, body: object = None) -> Any:
    """An answer of the REST API whose address the lab has told."""
    key = (data_dir / "api-key").read_text().strip()
    address = told.split("stays at ")[1].split("/docs")[0]
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{address}{path}", data, headers, method=method), timeout=20) as response:
        return json.load(response)


def record(folder: Path) -> Any:
    return json.loads((folder / "run.json").read_text())


async def test_a_permutation_that_has_spent_its_calls_does_not_stop_the_others(
    tmp_path: Path, parley: Parley, begin_parley: BeginParley, data_dir: Path
) -> None:
    workbook_of_two_permutations(tmp_path)
    async with FakeEndpoint() as endpoint:
        (tmp_path / "kinds").mkdir()
        kinds = {"PARLEY_KINDS_DIR": str(tmp_path / "kinds")}
        real = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": endpoint.base_url, **kinds}
        options = ("run", "twice.xlsx", "--models", "real", "--data-dir", data_dir)

        def spend_and_resume() -> list["subprocess.CompletedProcess[str]"]:
            paused = parley(*options, "--max-calls", "5", **real)
            all_spent = parley(*options, "--resume", **real)
            up = begin_parley("up", "--data-dir", data_dir, "--port", "0", **real)
            told = line_with(up, "stays at")
            (second,) = call(data_dir, told, "GET", "/v1/experiments?name=twice_2")["experiments"]
            call(data_dir, told, "PUT", f"/v1/experiments/{second['id']}/max-calls", {"calls": 100})
            up.send_signal(signal.SIGINT)
            up.communicate()
            return [paused, all_spent, parley(*options, "--resume", **real)]

        paused, all_spent, resumed = await asyncio.to_thread(spend_and_resume)

    assert (paused.returncode, all_spent.returncode, resumed.returncode) == (1, 2, 1), resumed.stdout + resumed.stderr
    assert "--max-calls M, where M counts all calls" in paused.stdout
    assert f"--kinds {tmp_path / 'kinds'}" in paused.stdout
    assert "Name more than that with --max-calls" in all_spent.stderr
    assert "twice_1: The run has made 5 calls of models already" in resumed.stdout
    states = [record(next((tmp_path / "results" / f"twice-{number}").iterdir()))["status"] for number in (1, 2)]
    assert states == ["unfinished", "finished"]


async def test_a_resumption_that_is_refused_leaves_the_run_as_it_was(
    tmp_path: Path, parley: Parley, data_dir: Path
) -> None:
    file = written(tmp_path, MANY, "many.yaml")
    asked: list[int] = []

    def some_fail(request: dict[str, Any]) -> FakeReply | None:
        # On their first question: agents that fail on it are asked nothing more, so there are 22 calls.
        if '- "view" (' not in request["messages"][-1]["content"]:
            return None
        asked.append(len(asked))
        return FakeReply(422, {"error": {"message": "no"}}) if asked[-1] in (3, 5) else None

    async with FakeEndpoint(replies=some_fail) as endpoint:
        real = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": endpoint.base_url}

        async def run(*options: str) -> "subprocess.CompletedProcess[str]":
            return await asyncio.to_thread(lambda: parley("run", file, "--data-dir", data_dir, *options, **real))

        first = await run("--max-calls", "22")
        (folder,) = (tmp_path / "results" / "many-answers").iterdir()
        before = record(folder)
        refused = await run("--resume", "--retry-failed")
        after = record(folder)
        again = await run("--resume", "--retry-failed", "--max-calls", "100")

    assert (first.returncode, refused.returncode, again.returncode) == (1, 2, 0), refused.stdout + again.stdout
    assert "has made 22 calls of models already" in refused.stderr
    assert before == after
    assert before["status"] == "finished"


async def test_the_advice_how_to_go_on_repeats_what_was_asked_for(
    tmp_path: Path, begin_parley: BeginParley, data_dir: Path
) -> None:
    file = written(tmp_path, paid("Paid", questions=100), "paid.yaml")
    async with FakeEndpoint(Behaviour(latency_seconds=0.1)) as endpoint:
        real = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": endpoint.base_url, "LLM_USE_MOCK": "false"}

        def stop() -> str:
            run = begin_parley(
                "run", file, "--data-dir", data_dir, "--out", "o", "--max-calls", "90", "--patience", "0.5", **real
            )
            line_with(run, "page is open")
            run.send_signal(signal.SIGINT)
            return run.communicate()[0]

        rest = await asyncio.to_thread(stop)

    assert f"--resume --out o --data-dir {data_dir} --patience 0.5 --max-calls 90" in rest


def test_commands_find_the_data_of_a_run_wherever_it_was_begun(
    tmp_path: Path, parley: Parley, begin_parley: BeginParley, data_dir: Path
) -> None:
    for name in ("One", "Two"):
        file = written(tmp_path, NO_SHOW.replace("A group", name), f"{name}.yaml")
        waiting = begin_parley("run", file, "--data-dir", data_dir, "--out", "elsewhere", "--port", "0")
        line_with(waiting, "Waiting for 1 person")
        waiting.send_signal(signal.SIGINT)
        waiting.communicate()
    ids = {name: line[0] for name, line in listed(parley, data_dir).items()}
    (one,) = (tmp_path / "elsewhere" / "one").iterdir()
    (two,) = (tmp_path / "elsewhere" / "two").iterdir()

    asked_for = parley("export", ids["One"], "--data-dir", data_dir, "--out", "third")
    ended = parley("end", ids["One"], "--data-dir", data_dir)
    discarded = parley("discard", ids["Two"], "--data-dir", data_dir)

    assert "third/one/" in asked_for.stdout, "a place that is named counts"
    assert str(one.relative_to(tmp_path)) in ended.stdout
    assert not (tmp_path / "results").exists()
    assert discarded.returncode == 0
    assert (record(one)["status"], record(two)["status"]) == ("finished", "discarded")


def test_a_lab_that_is_stopped_writes_the_data_of_all_that_ran_in_it(
    tmp_path: Path, begin_parley: BeginParley, data_dir: Path
) -> None:
    up = begin_parley("up", "--data-dir", data_dir, "--port", "0")
    told = line_with(up, "stays at")
    ids = {}
    for name in ("Runs", "Ends", "Never starts"):
        headers = {"parley": 1, "name": name, "stages": [{"id": "welcome", "kind": "info", "lines": ["Hello"]}]}
        made = call(data_dir, told, "POST", "/v1/experiments", {**headers, "cohorts": [{"seats": [{"open": True}]}]})
        ids[name] = made["id"]
    for name in ("Runs", "Ends"):
        call(data_dir, told, "POST", f"/v1/experiments/{ids[name]}/start")
    call(data_dir, told, "POST", f"/v1/experiments/{ids['Ends']}/end")
    up.send_signal(signal.SIGINT)
    rest = up.communicate()[0]

    assert up.returncode == 0, rest
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["ends", "runs"]
    (folder,) = (tmp_path / "results" / "ends").iterdir()
    with (folder / "participants.csv").open(newline="", encoding="utf-8") as table:
        assert [row["status"] for row in csv.DictReader(table)] == ["removed"]
    assert "The data of 'Runs' are in results/runs/" in rest


def test_a_run_that_comes_to_its_end_in_another_lab_is_finished_with_its_data(
    tmp_path: Path, parley: Parley, begin_parley: BeginParley, data_dir: Path
) -> None:
    file = written(tmp_path, NO_SHOW, "group.yaml")
    left = begin_parley("run", file, "--data-dir", data_dir, "--out", "elsewhere", "--port", "0")
    line_with(left, "Waiting for 1 person")
    left.send_signal(signal.SIGINT)
    left.communicate()
    (folder,) = (tmp_path / "elsewhere" / "a-group").iterdir()
    (run_id, *_) = next(iter(listed(parley, data_dir).values()))

    up = begin_parley("up", "--continue-all", "--data-dir", data_dir, "--port", "0")
    named = line_with(up, f"{run_id}  A group")
    told = line_with(up, "stays at")
    parley("end", run_id, "--data-dir", data_dir)
    (one,) = call(data_dir, told, "GET", "/v1/experiments")["experiments"]
    up.send_signal(signal.SIGINT)
    rest = up.communicate()[0]

    assert one["status"] == "ended"
    assert "/join/" in named
    assert "The data of 'A group' are in elsewhere/a-group/" in rest
    assert record(folder)["status"] == "finished"
    with (folder / "participants.csv").open(newline="", encoding="utf-8") as table:
        assert [row["status"] for row in csv.DictReader(table)] == ["removed", "removed"]


def test_ctrl_c_while_the_database_is_made_ends_quietly_and_the_next_start_makes_it(
    tmp_path: Path, parley: Parley, no_dir: Path
) -> None:
    command = [*COMMAND, "run", str(written(tmp_path, NO_SHOW)), "--data-dir", str(no_dir)]
    # Of a terminal's Ctrl-C all processes hear that were begun there.
    first = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment({}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    while not (no_dir / "postgres.unfinished").exists():
        time.sleep(0.01)
    os.killpg(first.pid, signal.SIGINT)
    said = first.communicate()[0]
    second = parley("personas", "list", "--data-dir", no_dir)

    assert first.returncode == 130, said
    assert "Traceback" not in said
    assert "Running" not in said
    assert second.returncode == 0, second.stderr


def test_data_of_another_version_are_refused_in_a_sentence_and_kept(
    tmp_path: Path, parley: Parley, embedded_dir: Path
) -> None:
    server = embedded_postgres.start(embedded_dir / "postgres", fast=True)
    migrate.upgrade(server.url)
    with psycopg.connect(server.url) as connection:
        connection.execute("ALTER TABLE alerts DROP COLUMN resolved_at; COMMENT ON TABLE alembic_version IS NULL")
    server.stop()

    refused = [
        parley("runs", "--data-dir", embedded_dir),
        parley("run", written(tmp_path, NO_SHOW, "group.yaml"), "--data-dir", embedded_dir, "--port", str(free_port())),
    ]

    for one in refused:
        assert one.returncode == 2
        assert f"The data in {embedded_dir} were made by another version of Parley" in one.stderr
        assert "Nothing is lost" in one.stderr
        assert "Traceback" not in one.stderr
