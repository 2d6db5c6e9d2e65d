"""Uploaded files: any content gets an answer, and other requests do not wait for it."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import orjson
import pytest

from parley_lab.base.errors import Conflict, InvalidInput, TooLarge
from parley_lab.design.editing import Change, Edited
from parley_lab.gateway import reading
from parley_lab.gateway.reading import Reader
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.gateway.testing import FILE, Api

LONGEST_HOLD = 4.0
"""No input of a stranger may keep the event loop for longer, as a multiple of `a_look_at_each_value`."""


@pytest.fixture
def max_body_bytes() -> int:
    """As users have it."""
    return GatewaySettings().max_body_bytes


async def killed(_: bytes) -> bytes:
    return b""


async def no_one(_: object) -> dict[str, Any]:
    return {}


def a_look_at_each_value() -> float:
    """The CPU time, in seconds, of the least that can be done with a list of 200,000 numbers, measured now."""
    numbers: list[Any] = list(range(200_000))
    before = time.process_time()
    assert all(isinstance(number, int) and number >= 0 for number in numbers)
    return time.process_time() - before


async def longest_hold(work: Awaitable[object]) -> float:
    """How much of its CPU time the process did nothing else in the event loop while `work` was on.

    In multiples of `a_look_at_each_value`.
    """
    unit = a_look_at_each_value()
    task = asyncio.ensure_future(work)
    longest = 0.0
    before = time.process_time()
    while not task.done():
        await asyncio.sleep(0.001)
        now = time.process_time()
        longest, before = max(longest, now - before), now
    await task
    return longest / unit


def round_robin(players: int) -> dict[str, Any]:
    names = [f"p{number}" for number in range(players)]
    return {
        "parley": 1,
        "name": "Everybody",
        "stages": [{"id": "game", "kind": "matrix_game"}],
        "personas": [{"id": name} for name in names],
        "pairings": {"stage": "game", "round_robin": names},
    }


HARMFUL = {
    "a round robin of 500": round_robin(500),
    "a round robin of 30": round_robin(30),
    "a list of numbers": [1] * 200_000,
    "a long text": {**FILE, "description": "x" * 1_000_000},
    "broken stages": {**FILE, "stages": [{"id": "x", "kind": "survey"}] * 3_000},
    "cohorts of nobody": {**FILE, "cohorts": [{"seats": [{"persona": "x"}]}] * 3_000},
}


@pytest.mark.parametrize("name", HARMFUL)
async def test_no_file_holds_the_event_loop(api: Api, name: str) -> None:
    content = orjson.dumps(HARMFUL[name])
    # The process that reads is there already, as it is for all but the first.
    await api.experimenter("POST", "/v1/experiments/validate", json=FILE)
    holds = []

    for _ in range(5):
        sent = api.experimenter(
            "POST", "/v1/experiments", content=content, headers={"Content-Type": "application/json"}
        )
        holds.append(await longest_hold(sent))
        # What else the machine does may hold it once.
        if holds[-1] < LONGEST_HOLD:
            return

    assert min(holds) < LONGEST_HOLD


@pytest.mark.parametrize(
    "answer",
    [[1] * 120_000, {str(number): number for number in range(20_000)}, "x" * 250_000, [[[]]] * 60_000],
    ids=["numbers", "fields", "text", "lists"],
)
async def test_no_answer_of_a_participant_holds_the_event_loop(api: Api, answer: Any) -> None:
    token = await api.join(await api.running())
    await api.advance(token, "welcome")
    content = json.dumps({"answer": answer}, separators=(",", ":")).encode()
    holds = []

    for _ in range(5):
        sent = api.participant(
            token,
            "POST",
            "/v1/me/stages/before/advance",
            content=content,
            headers={"Content-Type": "application/json"},
        )
        holds.append(await longest_hold(sent))
        if holds[-1] < LONGEST_HOLD:
            return

    assert min(holds) < LONGEST_HOLD


async def test_a_file_with_many_problems_lists_the_first_500(api: Api) -> None:
    refused = await api.experimenter("POST", "/v1/experiments", json=HARMFUL["cohorts of nobody"])

    assert refused.status_code == 422
    assert len(refused.json()["problems"]) == 500
    assert "2500 of them are not listed" in refused.json()["detail"]


async def test_too_many_pairs_are_told_before_they_are_written_out(api: Api) -> None:
    refused = await api.experimenter("POST", "/v1/experiments", json=round_robin(500))

    assert refused.status_code == 422
    assert [(one["where"], one["found"], one["expected"]) for one in refused.json()["problems"]] == [
        ("pairings", "124750 pairs, each in all its arms", "at most 20000")
    ]


async def test_a_round_robin_is_stored_whole(api: Api) -> None:
    stored = await api.experimenter("POST", "/v1/experiments/validate", json=round_robin(20))

    assert stored.status_code == 200, stored.text
    assert (stored.json()["cohorts"], stored.json()["members"]) == (190, 380)


async def test_a_body_of_a_participant_has_a_limit_of_its_own(api: Api) -> None:
    token = await api.join(await api.running())

    refused = await api.participant(token, "POST", "/v1/me/stages/welcome/advance", json={"answer": "x" * 300_000})

    assert refused.status_code == 413
    assert "262144 bytes" in refused.json()["detail"]


async def test_a_reader_that_was_killed_is_started_again(api: Api) -> None:
    first = await api.experimenter("POST", "/v1/experiments/validate", json=FILE)
    process = reading._started[0]._process
    process.kill()
    process.wait()

    again = await api.experimenter("POST", "/v1/experiments/validate", json=FILE)

    assert (first.status_code, again.status_code) == (200, 200)


async def test_a_file_that_wants_all_memory_ends_its_own_process_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_asked", killed)

    with pytest.raises(TooLarge, match="more memory or time"):
        await Reader(at_once=1).experiment(orjson.dumps(FILE), "experiment.json", no_one)


async def test_an_edit_is_made_by_a_process_that_may_be_ended(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_asked", killed)

    refused = await api.experimenter("POST", "/v1/experiments/edit", json={"text": "a: 1\n", "changes": []})

    assert refused.status_code == 413
    assert "more memory or time" in refused.json()["detail"]


async def test_an_edit_that_takes_too_long_is_given_up() -> None:
    text = "own: [" + "[1, 2], " * 20_000 + "]\n"

    with pytest.raises(TooLarge):
        await Reader(at_once=1, patience_seconds=0.3).edit(text, "experiment.yaml", [Change(("own", 0), 1)])


async def test_an_edit_keeps_the_longest_number_and_refuses_a_longer_one() -> None:
    with pytest.raises(InvalidInput, match="cannot be stored"):
        await Reader(at_once=1).edit("a: 1\n", "experiment.yaml", [Change(("a",), 10**30)])

    edited = await Reader(at_once=1).edit("a: 1  # one\n", "experiment.yaml", [Change(("a",), 2**63 - 1)])

    assert edited == Edited(f"a: {2**63 - 1}  # one\n", {"a": 2**63 - 1})


async def test_the_process_that_reads_is_ended_when_its_time_is_up() -> None:
    slow = Reader(at_once=1, patience_seconds=0.3)
    content = orjson.dumps(round_robin(190))

    with pytest.raises(TooLarge):
        await slow.experiment(content, "experiment.json", no_one)

    # Its alarm ends the fork, not the process that forks.
    parent = reading._started[0]._process.pid
    async with asyncio.timeout(10):
        while _children(parent):
            await asyncio.to_thread(time.sleep, 0.05)
    read = await Reader(at_once=1).experiment(orjson.dumps(FILE), "experiment.json", no_one)
    assert read.name == FILE["name"]


def _children(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return []


async def test_the_process_that_reads_knows_nothing_of_our_environment(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    reading._stop()

    await api.experimenter("POST", "/v1/experiments/validate", json=FILE)

    assert b"sk-secret" not in _environment_of(reading._started[0]._process.pid)


def _environment_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except FileNotFoundError:
        return b""


@pytest.mark.parametrize(
    "path",
    [
        "/v1/personas/a%00b",
        "/v1/personas/a%00b/agent",
        "/v1/personas/a%00b/chat",
        "/v1/experiments/a%00b",
        "/v1/experiments/00000000-0000-0000-0000-000000000000/prompt?persona=a%00&stage=b",
        "/v1/experiments/00000000-0000-0000-0000-000000000000/prompt?persona=a&stage=b%00",
    ],
)
async def test_an_id_with_nul_is_the_callers_mistake(api: Api, path: str) -> None:
    refused = await api.experimenter("GET", path)

    assert refused.status_code in (404, 422), refused.text


@pytest.mark.parametrize("path", ["/v1/me/stages/a%00b", "/v1/me/threads/a%00b/messages"])
async def test_so_it_is_of_a_participant(api: Api, path: str) -> None:
    token = await api.join(await api.running())

    refused = await api.participant(token, "GET", path)

    assert refused.status_code in (404, 422), refused.text


async def test_a_system_that_cannot_bound_what_reading_takes_names_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)

    with pytest.raises(Conflict, match=r"parley run.*WSL") as refused:
        await Reader(at_once=1).persona(b"text: Hello", "ana.yaml", "ana")

    assert refused.value.reason == "no_limits"
