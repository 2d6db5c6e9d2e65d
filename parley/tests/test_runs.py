"""Whole runs in an embedded lab: to the end, stuck, failing, stopped and resumed, and kept out of each other's way."""

import asyncio
import csv
import json
import re
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from shared.testing.fake_endpoint import Behaviour, FakeEndpoint, FakeReply
from shared.testing.workbooks import base_values, task_row, with_setting, xlsx_of

Parley = Callable[..., "subprocess.CompletedProcess[str]"]
BeginParley = Callable[..., "subprocess.Popen[str]"]

pytestmark = pytest.mark.postgres

DATA_FILES = {
    "answers.csv", "data.json", "manifest.json", "messages.csv", "model_calls.csv", "participants.csv", "run.json",
}  # fmt: skip

TINY = """
parley: 1
name: A tiny talk
pace: fast
stages:
  - {id: welcome, kind: info, lines: [Welcome]}
  - {id: talk, kind: group_chat}
personas:
  - {id: ada, profile: {name: Ada}, chat: {max_responses: 2}}
  - {id: ben, profile: {name: Ben}, chat: {max_responses: 2}}
cohorts:
  - seats: [{persona: ada}, {persona: ben}]
"""

WITH_A_PERSON = """
parley: 1
name: One of us
stages:
  - {id: welcome, kind: info, lines: [Welcome]}
cohorts:
  - seats: [{open: true}, {persona: ada}]
personas:
  - {id: ada, profile: {name: Ada}}
"""

STUCK = """
parley: 1
name: Stuck
stages:
  - {id: welcome, kind: info, lines: [Welcome]}
  - {id: later, kind: info, lines: [Later], progress: {min_participants: 3}}
personas:
  - {id: ada, profile: {name: Ada}}
cohorts:
  - seats: [{persona: ada, count: 2}]
"""

SLOW = """
parley: 1
name: A slow talk
pace: live
stages:
  - {id: talk, kind: group_chat}
personas:
  - {id: ada, profile: {name: Ada}, chat: {max_responses: 2, words_per_minute: 600}}
  - {id: ben, profile: {name: Ben}, chat: {max_responses: 2, words_per_minute: 600}}
cohorts:
  - seats: [{persona: ada}, {persona: ben}]
"""


def written(folder: Path, content: str, name: str = "experiment.yaml") -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


def line_with(process: "subprocess.Popen[str]", text: str) -> str:
    """The next line in which `text` stands; a process that ends without one fails the test with all it said."""
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if text in line:
            return line
    raise AssertionError(f"{text!r} was never said:\n{''.join(said)}")


def post(url: str, body: object = None, token: str | None = None) -> dict[str, object]:
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
    request = Request(url, data=json.dumps(body).encode() if body is not None else b"", headers=headers, method="POST")
    with urlopen(request, timeout=20) as response:
        answer: dict[str, object] = json.load(response)
    return answer


def test_a_run_ends_with_its_data_and_another_run_gets_a_folder_of_its_own(
    tmp_path: Path, parley: Parley, data_dir: Path
) -> None:
    file = written(tmp_path, TINY)

    first = parley("run", file, "--data-dir", data_dir)
    second = parley("run", file, "--data-dir", data_dir)

    assert (first.returncode, second.returncode) == (0, 0), first.stdout + first.stderr + second.stderr
    folders = sorted((tmp_path / "results" / "a-tiny-talk").iterdir())
    assert len(folders) == 2
    for folder in folders:
        assert {path.name for path in folder.iterdir()} == DATA_FILES
        assert json.loads((folder / "run.json").read_text())["status"] == "finished"
    assert "c1 talk  Ada: " in first.stdout
    assert re.search(
        r"talk \(race\): 4 messages of agents · \d+ calls to speak · [\d.]+ calls per message", first.stdout
    )
    assert "\x1b" not in first.stdout


def test_a_stuck_run_names_who_is_stuck_and_why(tmp_path: Path, parley: Parley, data_dir: Path) -> None:
    file = written(tmp_path, STUCK)

    result = parley("run", file, "--data-dir", data_dir)

    assert result.returncode == 1, result.stdout + result.stderr
    assert "c1/m1 on later: waits for a stage that never opens" in result.stdout
    assert list((tmp_path / "results" / "stuck").glob("*/participants.csv"))


async def test_a_run_in_which_participants_fail_names_them(tmp_path: Path, parley: Parley, data_dir: Path) -> None:
    questions = "questions: [{id: why, kind: text, title: Why}]"
    file = written(tmp_path, TINY.replace("kind: group_chat", f"kind: survey, {questions}"))
    async with FakeEndpoint(Behaviour(garbage_rate=1.0)) as endpoint:
        result = await asyncio.to_thread(
            lambda: parley(
                "run", file, "--data-dir", data_dir, "--models", "real",
                OPENAI_API_KEY="any", OPENAI_BASE_URL=endpoint.base_url,
            )
        )  # fmt: skip

    assert result.returncode == 1, result.stdout + result.stderr
    assert "2 of the members failed, in c1:" in result.stdout
    assert "c1/m1 on talk: " in result.stdout
    assert "start a new run" in result.stdout


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_said_and_resume_goes_on_with_it(
    tmp_path: Path, parley: Parley, begin_parley: BeginParley, data_dir: Path
) -> None:
    file = written(tmp_path, SLOW)
    stopped = begin_parley("run", file, "--data-dir", data_dir)
    first_words = line_with(stopped, "Ada: ").split("Ada: ")[1].strip()

    stopped.send_signal(signal.SIGINT)
    advice = line_with(stopped, "--resume")
    assert stopped.wait() == 130
    resumed = parley("run", file, "--data-dir", data_dir, "--resume")

    assert f"parley run {file} --resume" in advice.replace("\n", " ")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    (folder,) = (tmp_path / "results" / "a-slow-talk").iterdir()
    messages = (folder / "messages.csv").read_text()
    assert messages.count(first_words) == 1
    assert messages.count("c1/talk/group") == 4
    assert first_words not in resumed.stdout


def test_a_person_joins_over_http_while_the_run_waits(
    tmp_path: Path, begin_parley: BeginParley, data_dir: Path
) -> None:
    file = written(tmp_path, WITH_A_PERSON)
    run = begin_parley("run", file, "--data-dir", data_dir, "--port", str(free_port()))
    join_url = line_with(run, "Waiting for 1 person").split()[-1]

    token = str(post(join_url)["token"])
    post(join_url.split("/experiments/")[0] + "/me/stages/welcome/advance", {}, token)

    line_with(run, "Finished")
    assert run.wait() == 0


def test_resume_refuses_another_version_of_the_file(
    tmp_path: Path, parley: Parley, begin_parley: BeginParley, data_dir: Path
) -> None:
    file = written(tmp_path, WITH_A_PERSON)
    waiting = begin_parley("run", file, "--data-dir", data_dir, "--port", str(free_port()))
    line_with(waiting, "Waiting for 1 person")
    waiting.send_signal(signal.SIGINT)
    assert waiting.wait() == 130

    other = written(tmp_path, WITH_A_PERSON.replace("[Welcome]", "[Goodbye]"), "other.yaml")
    result = parley("run", other, "--data-dir", data_dir, "--resume")

    assert result.returncode == 2
    assert "was begun with another file or another version of it" in result.stderr


def test_ctrl_c_while_the_lab_starts_begins_nothing_and_ends_quietly(
    tmp_path: Path, begin_parley: BeginParley, data_dir: Path
) -> None:
    run = begin_parley("run", written(tmp_path, TINY), "--data-dir", data_dir)
    line_with(run, "Starting the lab")

    run.send_signal(signal.SIGINT)
    rest, _ = run.communicate()

    assert run.returncode == 130
    assert "Finishing what is in hand" in rest
    assert "Running" not in rest
    assert "Warning" not in rest
    assert [*(tmp_path / "results").iterdir()] == []


def test_up_serves_until_ctrl_c_and_keeps_other_labs_out(
    tmp_path: Path, parley: Parley, begin_parley: BeginParley, data_dir: Path
) -> None:
    file = written(tmp_path, TINY)
    port = str(free_port())
    lab = begin_parley("up", "--experiment", file, "--data-dir", data_dir, "--port", port)
    line_with(lab, "stays at")

    second = parley("run", file, "--data-dir", data_dir)
    same = parley("up", "--data-dir", data_dir, "--port", port)
    busy = parley("up", "--data-dir", tmp_path / "elsewhere", "--port", port)
    with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10) as response:
        ready = response.status
    lab.send_signal(signal.SIGINT)

    assert second.returncode == 2
    assert f"Another lab (process {lab.pid}) is running in {data_dir}" in second.stderr
    assert same.stderr == second.stderr, "another port would not help"
    assert busy.returncode == 2
    assert f"Port {port} of 127.0.0.1 cannot be used" in busy.stderr
    assert not (tmp_path / "elsewhere" / "postgres").exists()
    assert ready == 200
    assert lab.wait() == 0
    key = data_dir / "api-key"
    assert key.stat().st_mode & 0o777 == 0o600


def workbook_of_two_permutations(folder: Path) -> None:
    values = with_setting(base_values(), experiment_id="twice")
    values["constants"].append(["tokens", "[5, 10]"])
    values["interview_prompts"][2] = task_row(
        "t1", llm_text="You own {{tokens}} tokens. How many do you give?", response_options="(0, {{tokens}})",
        var_name="give", var_type="integer", validate_response=1,
    )  # fmt: skip
    (folder / "twice.xlsx").write_bytes(xlsx_of(values))


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

    def replies(request: dict[str, Any]) -> Any:
        is_number_11 = any("Me: 31" in message["content"] for message in request["messages"])
        return FakeReply(400, {"error": {"message": f"no, {key}"}}) if is_number_11 else {"response": "5"}

    async with FakeEndpoint(Behaviour(api_key=key), replies=replies) as endpoint:
        values = with_setting(base_values(), model_info="hf-inference", api_endpoint=endpoint.base_url)
        (tmp_path / "demo.xlsx").write_bytes(xlsx_of(values))
        result = await asyncio.to_thread(
            lambda: parley("run", "demo.xlsx", "--data-dir", data_dir, "--models", "real", HF_API_KEY=key)
        )

    assert result.returncode == 1, result.stdout + result.stderr
    assert "c1/m1 on interview: " in result.stdout
    (folder,) = (tmp_path / "results" / "demo").iterdir()
    with (folder / "workbook" / "demo.csv").open(newline="", encoding="utf-8") as file:
        given = {row["ID"]: row["give"] for row in csv.DictReader(file)}
    assert given == {str(number): "" if number == 11 else "5" for number in range(1, 13)}
    for path in (path for path in folder.rglob("*") if path.is_file()):
        assert key not in path.read_text("utf-8")
        if path.suffix == ".json":
            json.loads(path.read_text("utf-8"), parse_constant=pytest.fail)
    assert key not in result.stdout + result.stderr


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
