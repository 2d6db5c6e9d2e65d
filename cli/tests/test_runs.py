"""Whole runs in an embedded lab: to the end, stopped and resumed, and kept out of each other's way."""

import json
import re
import signal
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from parley_lab.cli.testing import TINY, BeginFreshParley, BeginParley, Parley, line_with, written
from parley_lab.testing.network import free_port

pytestmark = pytest.mark.postgres

DATA_FILES = {
    "answers.csv", "data.json", "manifest.json", "members.csv", "messages.csv", "model_calls.csv", "participants.csv",
    "run.json",
}  # fmt: skip


WITH_A_PERSON = """
parley: 1
name: One of us
seed: 0
stages:
  - {id: welcome, kind: info, lines: [Welcome]}
cohorts:
  - seats: [{open: true}, {persona: ada}]
personas:
  - {id: ada, profile: {name: Ada}}
"""


SLOW = """
parley: 1
name: A slow talk
seed: 0
pace: live
stages:
  - {id: talk, kind: group_chat}
personas:
  - id: ada
    profile: {name: Ada}
    chat: {max_responses: 2, words_per_minute: 600}
    mock: {lines: [Ada begins to speak., Ada has said it all.]}
  - id: ben
    profile: {name: Ben}
    chat: {max_responses: 2, words_per_minute: 600}
    mock: {lines: [Ben begins to speak., Ben has said it all.]}
cohorts:
  - seats: [{persona: ada}, {persona: ben}]
"""


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
    # An empty variable counts as not set.
    second = parley("run", file, "--data-dir", data_dir, AGENT_WORKER_PREFETCH="", ORCHESTRATOR_PREFETCH="")

    assert (first.returncode, second.returncode) == (0, 0), first.stdout + first.stderr + second.stderr
    folders = sorted((tmp_path / "results" / "a-tiny-talk").iterdir())
    assert len(folders) == 2
    for folder in folders:
        assert {path.name for path in folder.iterdir()} == DATA_FILES
        assert json.loads((folder / "run.json").read_text())["status"] == "finished"
    assert "c1 talk  Ada: " in first.stdout
    assert re.search(
        r"talk \(race\): 4 messages of agents · \d+ calls to speak, \d+ to ask who is ready · [\d.]+ calls per message",
        first.stdout,
    )
    assert "\x1b" not in first.stdout


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_said_and_resume_goes_on_with_it(
    tmp_path: Path, parley: Parley, begin_parley: BeginParley, embedded_dir: Path
) -> None:
    file = written(tmp_path, SLOW)
    stopped = begin_parley("run", file, "--data-dir", embedded_dir)
    first_words = line_with(stopped, "Ada: ").split("Ada: ")[1].strip()

    stopped.send_signal(signal.SIGINT)
    advice = line_with(stopped, "--resume")
    assert stopped.wait() == 130
    resumed = parley("run", file, "--data-dir", embedded_dir, "--resume")

    assert f"parley run {file} --resume" in advice.replace("\n", " ")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    (folder,) = (tmp_path / "results" / "a-slow-talk").iterdir()
    messages = (folder / "messages.csv").read_text()
    assert messages.count(first_words) == 1
    assert messages.count("c1/talk/group") == 4
    assert first_words not in resumed.stdout


@pytest.mark.slow
def test_a_file_without_a_seed_gets_one_that_is_shown_and_stored_and_that_resume_keeps(
    tmp_path: Path, parley: Parley, begin_parley: BeginParley, data_dir: Path
) -> None:
    file = written(tmp_path, SLOW.replace("seed: 0\n", ""))
    stopped = begin_parley("run", file, "--data-dir", data_dir)
    seed = re.search(r"seed (\d+)", line_with(stopped, "Running"))
    line_with(stopped, "Ada: ")
    stopped.send_signal(signal.SIGINT)
    assert stopped.wait() == 130

    resumed = parley("run", file, "--data-dir", data_dir, "--resume")

    assert seed is not None
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert f"seed {seed[1]}." in resumed.stdout
    (folder,) = (tmp_path / "results" / "a-slow-talk").iterdir()
    assert str(json.loads((folder / "manifest.json").read_text())["seed"]) == seed[1]
    assert str(json.loads((folder / "data.json").read_text())["experiment"]["document"]["seed"]) == seed[1]


def test_the_seed_that_a_run_drew_gives_the_same_data_again(tmp_path: Path, parley: Parley, data_dir: Path) -> None:
    """And a run without a seed draws another one."""
    file = written(tmp_path, TINY.replace("seed: 0\n", ""))
    first, second = (parley("run", file, "--data-dir", data_dir).stdout for _ in range(2))
    seeds = [int(said[1]) for said in map(re.compile(r"seed (\d+)").search, (first, second)) if said is not None]
    again = parley("run", written(tmp_path, TINY.replace("seed: 0", f"seed: {seeds[0]}")), "--data-dir", data_dir)

    assert len(set(seeds)) == 2
    assert again.returncode == 0, again.stdout + again.stderr
    talks = [re.findall(r"talk +(?:Ada|Ben): .*", text) for text in (first, again.stdout, second)]
    assert talks[0] == talks[1] != talks[2]


def test_a_person_joins_over_http_while_the_run_waits(
    tmp_path: Path, begin_parley: BeginParley, data_dir: Path
) -> None:
    file = written(tmp_path, WITH_A_PERSON)
    run = begin_parley("run", file, "--data-dir", data_dir, "--port", str(free_port()))
    join_url = line_with(run, "Waiting for 1 person").split()[-1]

    lab, _, code = join_url.partition("/join/")
    token = str(post(f"{lab}/v1/join/{code}", {"join_key": "my-browser"})["token"])
    post(f"{lab}/v1/me/stages/welcome/advance", {}, token)

    line_with(run, "Finished")
    assert run.wait() == 0


def test_each_open_seat_has_an_address_to_take_it_alone(
    tmp_path: Path, begin_parley: BeginParley, data_dir: Path
) -> None:
    file = written(tmp_path, WITH_A_PERSON.replace("{open: true}", "{open: true, count: 2}"))
    run = begin_parley("run", file, "--data-dir", data_dir, "--port", str(free_port()))

    address = line_with(run, "Waiting for 2 people to join").split()[-1]
    port_and_code = address.split(":", 2)[2]
    told = [line_with(run, "localhost").split()[-1] for _ in range(2)]

    assert told == [f"http://p{number}.localhost:{port_and_code}" for number in (1, 2)]
    run.send_signal(signal.SIGINT)
    assert run.wait() == 130


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
    tmp_path: Path, begin_fresh_parley: BeginFreshParley, embedded_dir: Path
) -> None:
    run = begin_fresh_parley("run", written(tmp_path, TINY), "--data-dir", embedded_dir)
    line_with(run, "Starting the lab")

    run.send_signal(signal.SIGINT)
    rest, _ = run.communicate()

    assert run.returncode == 130
    assert "Finishing what is in hand" in rest
    assert "Running" not in rest
    assert "Warning" not in rest
    assert [*(tmp_path / "results").iterdir()] == []


def test_up_serves_until_ctrl_c_and_keeps_other_labs_out(
    tmp_path: Path, parley: Parley, begin_parley: BeginParley, embedded_dir: Path
) -> None:
    file = written(tmp_path, TINY)
    port = str(free_port())
    lab = begin_parley("up", "--experiment", file, "--data-dir", embedded_dir, "--port", port)
    line_with(lab, "stays at")

    second = parley("run", file, "--data-dir", embedded_dir)
    same = parley("up", "--data-dir", embedded_dir, "--port", port)
    busy = parley("up", "--data-dir", tmp_path / "elsewhere", "--port", port)
    with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10) as response:
        ready = response.status
    lab.send_signal(signal.SIGINT)

    assert second.returncode == 2
    assert f"Another lab (process {lab.pid}) is running in {embedded_dir}" in second.stderr
    assert same.stderr == second.stderr, "another port would not help"
    assert busy.returncode == 2
    assert f"Port {port} of 127.0.0.1 cannot be used" in busy.stderr
    assert not (tmp_path / "elsewhere" / "postgres").exists()
    assert ready == 200
    assert lab.wait() == 0
    key = embedded_dir / "api-key"
    assert key.stat().st_mode & 0o777 == 0o600
