"""Runs of workbooks: an experiment for each permutation, stopped and resumed."""

import asyncio
import csv
import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from parley_lab.cli.testing import BeginParley, Parley, line_with, workbook_of_two_permutations
from parley_lab.cli.workbook_file import read_workbook
from parley_lab.formats.testing.workbooks import base_values, with_setting, xlsx_of
from parley_lab.testing.fake_endpoint import Behaviour, FakeEndpoint, FakeReply

pytestmark = pytest.mark.postgres


def test_a_workbook_runs_to_its_end_an_experiment_for_each_permutation(
    parley: Parley, tmp_path: Path, data_dir: Path
) -> None:
    workbook_of_two_permutations(tmp_path)

    result = parley("run", "twice.xlsx", "--models", "mock", "--data-dir", data_dir)

    assert result.returncode == 0, result.stderr
    others = [line for line in result.stdout.splitlines() if line.startswith("Unfinished experiments")]
    assert not any("twice" in line for line in others)
    for number, most in ((1, 5), (2, 10)):
        (folder,) = (tmp_path / "results" / f"twice-{number}").iterdir()
        with (folder / "participants.csv").open(newline="", encoding="utf-8") as file:
            given = [int(row["interview.give"]) for row in csv.DictReader(file)]
        assert len(given) == 12
        assert all(0 <= one <= most for one in given)


async def test_a_session_that_fails_keeps_no_other_from_its_data_and_no_file_has_the_key(
    parley: Parley, tmp_path: Path, data_dir: Path
) -> None:
    key = "hf_a_long_secret"

    asked: list[int] = []

    def replies(request: dict[str, Any]) -> Any:
        # The second to be asked is refused, and when asked again: what refuses the first call of a run stops the run.
        (number,) = (n for n in range(1, 13) if any(f"Me: {20 + n}" in one["content"] for one in request["messages"]))
        asked.append(number)
        return FakeReply(400, {"error": {"message": f"no, {key}"}}) if number == name_refused() else {"response": "5"}

    def name_refused() -> int | None:
        return next((number for number in asked if number != asked[0]), None)

    async with FakeEndpoint(Behaviour(api_key=key), replies=replies) as endpoint:
        values = with_setting(base_values(), model_info="hf-inference", api_endpoint=endpoint.base_url)
        (tmp_path / "demo.xlsx").write_bytes(xlsx_of(values))
        kept = {"PARLEY_ENDPOINT_KEYS": json.dumps({endpoint.base_url: "TGI_KEY"}), "TGI_KEY": key}
        result = await asyncio.to_thread(
            lambda: parley("run", "demo.xlsx", "--data-dir", data_dir, "--models", "real", HF_API_KEY="hf_own", **kept)
        )

    assert result.returncode == 1, result.stdout + result.stderr
    assert {headers["authorization"] for headers in endpoint.headers} == {f"Bearer {key}"}
    (folder,) = (tmp_path / "results" / "demo").iterdir()
    with (folder / "participants.csv").open(newline="", encoding="utf-8") as file:
        (failed,) = (row["path"] for row in csv.DictReader(file) if row["status"] == "failed")
    assert f"{failed} on interview: " in result.stdout
    with (folder / "workbook" / "demo.csv").open(newline="", encoding="utf-8") as file:
        given = {row["ID"]: row["give"] for row in csv.DictReader(file)}
    assert given == {str(number): "" if number == name_refused() else "5" for number in range(1, 13)}
    for path in (path for path in folder.rglob("*") if path.is_file()):
        assert key not in path.read_text("utf-8")
        if path.suffix == ".json":
            json.loads(path.read_text("utf-8"), parse_constant=pytest.fail)
    assert key not in result.stdout + result.stderr
    for path in folder.rglob("*.csv"):
        if path.name == "codebook.csv":
            continue
        assert {"endpoint", "model"} <= set(path.read_text("utf-8").partition("\n")[0].split(",")), path
    with (folder / "workbook" / "demo.csv").open(newline="", encoding="utf-8") as file:
        called = {(row["endpoint"], row["model"]) for row in csv.DictReader(file) if row["give"]}
    assert called == {(endpoint.base_url.removesuffix("/v1"), "tgi")}


def test_a_finished_workbook_has_nothing_to_resume(parley: Parley, tmp_path: Path, data_dir: Path) -> None:
    workbook_of_two_permutations(tmp_path)
    parley("run", "twice.xlsx", "--models", "mock", "--data-dir", data_dir)

    again = parley("run", "twice.xlsx", "--models", "mock", "--data-dir", data_dir, "--resume")

    assert again.returncode == 2
    assert "There is nothing to resume" in again.stderr


def test_what_is_wrong_in_a_workbook_is_told_before_anything_starts(parley: Parley, tmp_path: Path) -> None:
    (tmp_path / "bad.xlsx").write_bytes(xlsx_of(with_setting(base_values(), num_sessions=7)))

    result = parley("run", "bad.xlsx")

    assert result.returncode == 2
    assert "experimental_setting!B7" in result.stderr
    assert not (tmp_path / ".parley").exists()


WORKBOOK_CALLS, IN_FLIGHT = 24, 3


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
async def test_a_workbook_that_was_stopped_goes_on_with_all_permutations_and_repeats_only_calls_in_flight(
    tmp_path: Path, parley: Parley, begin_parley: BeginParley, data_dir: Path, number: signal.Signals
) -> None:
    workbook_of_two_permutations(tmp_path)
    async with FakeEndpoint(Behaviour(latency_seconds=0.3)) as endpoint:
        endpoint.replies = lambda _request: "3"
        options = ("run", "twice.xlsx", "--data-dir", data_dir, "--models", "real")
        variables = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": endpoint.base_url, "AGENT_WORKER_PREFETCH": "3"}

        def stop_and_resume() -> "subprocess.CompletedProcess[str]":
            stopped = begin_parley(*options, **variables)
            line_with(stopped, "Facilitator (to ")
            stopped.send_signal(number)
            assert stopped.wait() == (130 if number is signal.SIGINT else -number)
            return parley(*options, "--resume", **variables)

        resumed = await asyncio.to_thread(stop_and_resume)

        assert resumed.returncode == 0, resumed.stdout + resumed.stderr
        assert WORKBOOK_CALLS <= len(endpoint.calls) <= WORKBOOK_CALLS + IN_FLIGHT
    for permutation in (1, 2):
        (folder,) = (tmp_path / "results" / f"twice-{permutation}").iterdir()
        assert json.loads((folder / "run.json").read_text())["status"] == "finished"
        with (folder / "participants.csv").open(newline="", encoding="utf-8") as file:
            assert all(row["interview.give"] for row in csv.DictReader(file))


def test_two_tables_of_one_name_in_a_folder_are_refused(parley: Parley, tmp_path: Path) -> None:
    for name, rows in base_values().items():
        with (tmp_path / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
    (tmp_path / "treatments.tsv").write_text("label\ttreatment\n")

    refused = parley("validate", tmp_path)

    assert refused.returncode != 0
    assert "treatments.csv and treatments.tsv" in refused.stdout + refused.stderr


def test_a_folder_leaves_out_what_is_no_table_with_a_word(tmp_path: Path) -> None:
    for name, rows in base_values().items():
        with (tmp_path / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
    for stray in ("~$prompts.csv", "#todo.csv", "prompts.docx", ".DS_Store"):
        (tmp_path / stray).write_bytes(b"x")

    (told,) = map(str, read_workbook(tmp_path).warnings)

    assert "files that are no tables are left out (found #todo.csv, prompts.docx, ~$prompts.csv)" in told


def test_a_folder_of_sheets_is_run_and_served_like_a_workbook(
    tmp_path: Path, begin_parley: BeginParley, data_dir: Path
) -> None:
    folder = tmp_path / "sheets"
    folder.mkdir()
    for name, rows in base_values().items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)

    lab = begin_parley(
        "up", "--experiment", folder, "--sessions", "2", "--models", "mock", "--data-dir", data_dir, "--port", "0"
    )

    assert "2 of 2 cohorts ended · 6 completed" in line_with(lab, "cohorts ended · 6 completed")
    line_with(lab, "stays at")
    lab.send_signal(signal.SIGINT)
    assert lab.wait() == 0
