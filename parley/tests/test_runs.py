"""Whole runs in an embedded lab: to the end, stuck, failing, stopped and resumed, and kept out of each other's way."""

import asyncio
import csv
import json
import re
import signal
import socket
import subprocess
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from formats.testing.workbooks import base_values, with_setting, xlsx_of
from parley.testing import MANY, BeginParley, Parley, line_with, workbook_of_two_permutations, written
from shared.testing.fake_endpoint import Behaviour, FakeEndpoint, FakeReply

pytestmark = pytest.mark.postgres

DATA_FILES = {
    "answers.csv", "data.json", "manifest.json", "messages.csv", "model_calls.csv", "participants.csv", "run.json",
}  # fmt: skip

TINY = """
parley: 1
name: A tiny talk
seed: 0
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
seed: 0
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
seed: 0
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
seed: 0
pace: live
stages:
  - {id: talk, kind: group_chat}
personas:
  - {id: ada, profile: {name: Ada}, chat: {max_responses: 2, words_per_minute: 600}}
  - {id: ben, profile: {name: Ben}, chat: {max_responses: 2, words_per_minute: 600}}
cohorts:
  - seats: [{persona: ada}, {persona: ben}]
"""


async def run_against(
    endpoint: FakeEndpoint, *options: str, parley: Parley, file: Path, data_dir: Path
) -> "subprocess.CompletedProcess[str]":
    """A run of this file whose models answer at the endpoint."""
    variables = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": endpoint.base_url}
    return await asyncio.to_thread(lambda: parley("run", file, "--data-dir", data_dir, *options, **variables))


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


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
        r"talk \(race\): 4 messages of agents · \d+ calls to speak, \d+ to ask who is ready · [\d.]+ calls per message",
        first.stdout,
    )
    assert "\x1b" not in first.stdout


def test_a_stuck_run_names_who_is_stuck_and_why(tmp_path: Path, parley: Parley, data_dir: Path) -> None:
    file = written(tmp_path, STUCK)

    result = parley("run", file, "--data-dir", data_dir)

    assert result.returncode == 1, result.stdout + result.stderr
    assert "c1/m1 on later: waits for a stage that never opens" in result.stdout
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


async def test_a_run_waits_for_a_key_that_is_refused_later_and_stops_when_its_patience_is_over(
    tmp_path: Path, parley: Parley, data_dir: Path
) -> None:
    file = written(tmp_path, MANY)
    async with FakeEndpoint(Behaviour(fault="quota", fault_after=5)) as endpoint:
        result = await run_against(endpoint, "--patience", "0.02", parley=parley, file=file, data_dir=data_dir)

    assert result.returncode == 1, result.stdout + result.stderr
    assert "The key of openai is paused since" in result.stdout
    assert "The run has stopped: the key of openai is refused since" in result.stdout
    assert "nobody has failed" in result.stdout
    assert "--resume" in result.stdout


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
        kept = {"PARLEY_ENDPOINT_KEYS": json.dumps({endpoint.base_url: "TGI_KEY"}), "TGI_KEY": key}
        result = await asyncio.to_thread(
            lambda: parley("run", "demo.xlsx", "--data-dir", data_dir, "--models", "real", HF_API_KEY="hf_own", **kept)
        )

    assert result.returncode == 1, result.stdout + result.stderr
    assert {headers["authorization"] for headers in endpoint.headers} == {f"Bearer {key}"}
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
