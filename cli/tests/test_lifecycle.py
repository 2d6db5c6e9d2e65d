"""What becomes of runs that were stopped: they wait for a word, are gone on with, ended or deleted."""

import asyncio
import csv
import json
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from parley_lab.cli.testing import NO_SHOW, BeginParley, Parley, line_with, listed, paid, written
from parley_lab.testing.fake_endpoint import Behaviour, FakeEndpoint

# A command starts a lab and stops it: on a busy machine each takes a while.
pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(400)]


# A process that is killed leaves its PostgreSQL behind.
@pytest.mark.parametrize(
    ("number", "directory"), [(signal.SIGTERM, "data_dir"), (signal.SIGKILL, "embedded_dir")], ids=["term", "kill"]
)
async def test_a_paid_run_that_was_stopped_costs_nothing_until_it_is_told_to_go_on(
    tmp_path: Path,
    parley: Parley,
    begin_parley: BeginParley,
    number: signal.Signals,
    directory: str,
    request: pytest.FixtureRequest,
) -> None:
    data_dir = request.getfixturevalue(directory)
    async with FakeEndpoint(Behaviour(latency_seconds=0.1)) as endpoint:
        real = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": endpoint.base_url, "LLM_USE_MOCK": "false"}
        old = written(tmp_path, paid("Old"), "old.yaml")
        new = written(tmp_path, paid("New", questions=2), "new.yaml")

        def stop_and_run_another() -> None:
            stopped = begin_parley("run", old, "--data-dir", data_dir, **real)
            line_with(stopped, "page is open")
            while len(endpoint.calls) < 5:
                time.sleep(0.01)
            stopped.send_signal(number)
            rest = stopped.communicate()[0]
            assert stopped.returncode == {signal.SIGTERM: 143, signal.SIGKILL: -9}[number], rest
            calls_of_old = len(endpoint.calls)
            assert calls_of_old < 40
            other = parley("run", new, "--data-dir", data_dir, **real)
            assert other.returncode == 0, other.stdout + other.stderr
            assert len(endpoint.calls) == calls_of_old + 2
            assert "Unfinished in this lab, and not gone on with:" in other.stdout
            assert "stopped  Old  real models, " in other.stdout

        await asyncio.to_thread(stop_and_run_another)

        if number is not signal.SIGKILL:
            (folder,) = (tmp_path / "results" / "old").iterdir()
            with (folder / "model_calls.csv").open(newline="", encoding="utf-8") as file:
                assert len(list(csv.DictReader(file))) >= 4, "the data that there were are written"
        again = await asyncio.to_thread(lambda: parley("run", old, "--data-dir", data_dir, "--resume", **real))
        assert again.returncode == 0, again.stdout + again.stderr
        # At most the call in flight was made twice.
        assert 42 <= len(endpoint.calls) <= 43
    assert {name: line[1] for name, line in listed(parley, data_dir).items()} == {"Old": "ended", "New": "ended"}


@pytest.mark.parametrize("missing", [{"LLM_USE_MOCK": "true"}, {"OPENAI_API_KEY": ""}])
async def test_a_paid_run_goes_on_with_no_lab_whose_environment_refuses_it(
    tmp_path: Path, parley: Parley, begin_parley: BeginParley, data_dir: Path, missing: Mapping[str, str]
) -> None:
    async with FakeEndpoint(Behaviour(latency_seconds=0.1)) as endpoint:
        real = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": endpoint.base_url, "LLM_USE_MOCK": "false"}
        file = written(tmp_path, paid("Paid", questions=100), "paid.yaml")

        def stop_and_continue_all() -> None:
            stopped = begin_parley("run", file, "--data-dir", data_dir, **real)
            line_with(stopped, "page is open")
            stopped.send_signal(signal.SIGINT)
            stopped.communicate()
            made = len(endpoint.calls)
            up = begin_parley("up", "--continue-all", "--data-dir", data_dir, "--port", "0", **{**real, **missing})
            line_with(up, "Going on with 0 unfinished runs.")
            line_with(up, "stopped  Paid")
            line_with(up, "stays at")
            if "LLM_USE_MOCK" in missing:
                resumed = parley("resume", listed(parley, data_dir)["Paid"][0], "--data-dir", data_dir, **real)
                assert resumed.returncode == 1, resumed.stdout
                assert "openai" in resumed.stderr
            up.send_signal(signal.SIGINT)
            assert up.wait() == 0
            assert len(endpoint.calls) == made

        await asyncio.to_thread(stop_and_continue_all)
    assert listed(parley, data_dir)["Paid"][1] == "stopped"


async def test_runs_of_a_folder_are_continued_ended_and_deleted_when_someone_says_so(
    tmp_path: Path, parley: Parley, begin_parley: BeginParley, data_dir: Path
) -> None:
    for name in ("One", "Two"):
        file = written(tmp_path, NO_SHOW.replace("A group", name), f"{name}.yaml")
        waiting = begin_parley("run", file, "--data-dir", data_dir, "--port", "0")
        line_with(waiting, "Waiting for 1 person")
        waiting.send_signal(signal.SIGINT)
        waiting.communicate()
    ids = {name: line[0] for name, line in listed(parley, data_dir).items()}

    stopped = parley("stop", ids["One"], "--data-dir", data_dir)
    refused = parley("resume", ids["One"], "--data-dir", data_dir)
    no_link = parley("link", ids["One"], "--data-dir", data_dir)
    ended = parley("end", ids["Two"], "--data-dir", data_dir)
    states = {name: line[1] for name, line in listed(parley, data_dir).items()}
    discarded = parley("discard", ids["One"], "--data-dir", data_dir)
    unknown = parley("end", ids["One"], "--data-dir", data_dir)
    nothing_left = [parley("run", f"{name}.yaml", "--resume", "--data-dir", data_dir) for name in ("One", "Two")]

    assert stopped.returncode == ended.returncode == discarded.returncode == 0, ended.stderr + discarded.stderr
    assert states == {"One": "paused", "Two": "ended"}
    assert (refused.returncode, unknown.returncode) == (1, 2)
    assert (no_link.returncode, no_link.stdout) == (1, ""), "the address of a lab that has stopped leads nowhere"
    assert "parley run FILE --resume" in refused.stderr
    assert [one.returncode for one in nothing_left] == [2, 2]
    (folder,) = (tmp_path / "results" / "two").iterdir()
    assert json.loads((folder / "run.json").read_text())["status"] == "finished"
    with (folder / "participants.csv").open(newline="", encoding="utf-8") as table:
        assert {row["status"] for row in csv.DictReader(table)} == {"removed"}


async def test_a_lab_that_runs_hears_of_what_is_done_with_its_runs(
    tmp_path: Path, parley: Parley, begin_parley: BeginParley, data_dir: Path
) -> None:
    file = written(tmp_path, NO_SHOW, "group.yaml")
    left = begin_parley("run", file, "--data-dir", data_dir, "--port", "0")
    line_with(left, "Waiting for 1 person")
    left.kill()
    left.communicate()

    up = begin_parley("up", "--data-dir", data_dir, "--port", "0")
    line_with(up, "stays at")
    before = listed(parley, data_dir)["A group"]
    up.send_signal(signal.SIGTERM)
    up.communicate()
    up = begin_parley("up", "--continue-all", "--data-dir", data_dir, "--port", "0")
    line_with(up, "Going on with 1 unfinished run.")
    line_with(up, "stays at")
    continued = listed(parley, data_dir)["A group"]
    paused = parley("stop", before[0], "--data-dir", data_dir)
    exported = parley("export", before[0], "--data-dir", data_dir)
    resumed = parley("resume", before[0], "--data-dir", data_dir)
    no_seat = parley("remove", before[0], "c1/m7", "--data-dir", data_dir)
    removed = parley("remove", before[0], "c1/m2", "--data-dir", data_dir)
    for _ in range(100):
        if listed(parley, data_dir)["A group"][1] == "ended":
            break
        await asyncio.sleep(0.1)
    else:
        raise AssertionError("the group still waits for a seat that was removed")
    up.send_signal(signal.SIGINT)

    assert (before[1], continued[1]) == ("stopped", "running")
    assert "1 seat not taken" in continued
    for done in (paused, exported, resumed, removed):
        assert done.returncode == 0, done.stderr
    assert no_seat.returncode == 2
    assert up.wait() == 0


async def test_a_run_that_is_stopped_from_elsewhere_ends_with_its_data_and_can_be_resumed(
    tmp_path: Path, parley: Parley, begin_parley: BeginParley, data_dir: Path
) -> None:
    file = written(tmp_path, NO_SHOW, "group.yaml")
    run = begin_parley("run", file, "--data-dir", data_dir, "--port", "0")
    line_with(run, "Waiting for 1 person")
    (line,) = listed(parley, data_dir).values()

    parley("stop", line[0], "--data-dir", data_dir)
    rest = run.communicate()[0]
    removed = parley("remove", line[0], "c1/m2", "--data-dir", data_dir)
    resumed = parley("run", file, "--resume", "--data-dir", data_dir)

    assert run.returncode == 1
    assert "The run was paused" in rest
    assert "--resume" in rest
    assert removed.returncode == 0, removed.stderr
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    (folder,) = (tmp_path / "results" / "a-group").iterdir()
    assert json.loads((folder / "run.json").read_text())["status"] == "finished"
