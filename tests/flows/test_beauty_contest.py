"""A person, an agent and a script in one beauty contest, to its end; who leaves it, and what the data have of it."""

import csv
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import httpx2
import pytest

from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.formats.exports import export
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab, empty
from tests.flows.previewing import an_api

pytestmark = pytest.mark.postgres

CONTEST = """
parley: 1
name: A contest
seed: 3
personas:
  - {id: bob, profile: {name: Bob}, script: {beauty_contest: {policy: level_2}}}
  - {id: cid, profile: {name: Cid}, player: script, script: {beauty_contest: {guesses: [60, 12]}}}
stages:
  - {id: contest, kind: beauty_contest, rounds: 2, chat: true}
cohorts: [{seats: [{open: true}, {persona: bob}, {persona: cid}]}]
"""


class Ana:
    """The person, who joins over REST."""

    def __init__(self, client: httpx2.AsyncClient, lab: DrainLab, experiment_id: str, token: str) -> None:
        self._client = client
        self._lab = lab
        self.experiment_id = experiment_id
        self._headers = {"Authorization": f"Bearer {token}"}

    async def page(self) -> dict[str, Any]:
        answered = await self._client.get("/v1/me/stages/contest", headers=self._headers)
        assert answered.status_code == 200, answered.text
        page: dict[str, Any] = answered.json()
        return page

    async def answer(self, key: str, answer: Any, status: int = 200) -> dict[str, Any]:
        """Answers what is open, which is this and nothing else."""
        (ask,) = (await self.page())["asks"]
        assert ask["key"] == key
        return await self.post(f"/v1/me/asks/{ask['id']}/answer", {"answer": answer}, status)

    async def post(self, path: str, body: Any, status: int = 200) -> dict[str, Any]:
        answered = await self._client.post(path, json=body, headers=self._headers)
        assert answered.status_code == status, answered.text
        await self._lab.drain()
        found: dict[str, Any] = answered.json()
        return found


@asynccontextmanager
async def joined(database: Database, lab: DrainLab) -> AsyncIterator[Ana]:
    async with an_api(database, lab) as client:
        headers = {"Content-Type": "application/yaml"}
        created = await client.post("/v1/experiments", content=CONTEST, headers=headers)
        assert created.status_code == 201, created.text
        address = f"/v1/experiments/{created.json()['id']}"
        await client.post(f"{address}/start")
        seat = (await client.post(f"{address}/join", json={"profile": {"name": "Ana"}})).json()
        await lab.drain()
        yield Ana(client, lab, created.json()["id"], seat["token"])


async def guesses(lab: DrainLab, ana: Ana, folder: Path) -> list[dict[str, str]]:
    """The table of the data files."""
    await export(lab.database, UUID(ana.experiment_id), folder, lab.clock.now(), formats=["csv"])
    with (folder / "guesses.csv").open(newline="", encoding="utf-8") as lines:
        return [*csv.DictReader(lines)]


async def test_a_person_an_agent_and_a_script_play_to_the_end(database: Database, tmp_path: Path) -> None:
    lab = DrainLab(database)
    async with joined(database, lab) as ana:
        await ana.answer("round:1/message", {"message": "I say thirty."})
        heard = (await ana.page())["view"]["messages"]
        assert sorted((one["name"], one["is_you"]) for one in heard) == [("Ana", True), ("Bob", False)]
        refused = await ana.answer("round:1/guess", {"guess": 101}, 422)
        assert [problem["where"] for problem in refused["problems"]] == ["guess"]
        await ana.answer("round:1/guess", {"guess": 30})
        # Bob is of level 2 and thinks from 50, then from the mean of 30, 22.22 and 60.
        assert [one["mean"] for one in (await ana.page())["view"]["rounds"]] == [37.406667]
        await ana.answer("round:2/message", {"message": ""})
        await ana.answer("round:2/guess", {"guess": 8})
        view = (await ana.page())["view"]
        assert (view["status"], view["round"], view["wants"], view["prizes"]) == ("over", None, None, 20)
        assert [[one["name"] for one in each["winners"]] for each in view["rounds"]] == [["Bob"], ["Ana"]]
        await ana.post("/v1/me/stages/contest/advance", {})

        rows = await guesses(lab, ana, tmp_path)

    assert {row.status for row in await lab.rows("SELECT status FROM members")} == {"completed"}
    assert [(row["round"], row["player"], row["guess"], row["prize"]) for row in rows] == [
        ("1", "person", "30.0", "0.0"),
        ("1", "bob", "22.22", "20.0"),
        ("1", "cid", "60.0", "0.0"),
        ("2", "person", "8.0", "20.0"),
        ("2", "bob", "16.63", "0.0"),
        ("2", "cid", "12.0", "0.0"),
    ]
    assert [row["message"] for row in rows if row["player"] == "person"] == ["I say thirty.", ""]


async def test_who_leaves_has_no_guess_and_the_others_play_on(database: Database, tmp_path: Path) -> None:
    lab = DrainLab(database)
    async with joined(database, lab) as ana:
        await ana.answer("round:1/message", {"message": "Farewell."})
        await ana.post("/v1/me/leave", {})

        rows = await guesses(lab, ana, tmp_path)

    assert [(row["round"], row["player"]) for row in rows] == [("1", "bob"), ("1", "cid"), ("2", "bob"), ("2", "cid")]
    assert {row["status"] for row in rows} == {"over"}
    assert [row["mean"] for row in rows][:1] == ["41.11"]


class Mute:
    """A model that never guesses."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        return ModelReply(status="ok", parsed={"message": "No."}, raw="No.")

    async def aclose(self) -> None:
        """Nothing is open."""


async def test_an_agent_without_a_usable_guess_stays_and_the_others_count(database: Database, tmp_path: Path) -> None:
    lab = DrainLab(database, models={"mock": Mute()})
    async with joined(database, lab) as ana:
        for number in (1, 2):
            await ana.answer(f"round:{number}/message", {"message": ""})
            await ana.answer(f"round:{number}/guess", {"guess": 20})
        await ana.post("/v1/me/stages/contest/advance", {})

        rows = await guesses(lab, ana, tmp_path)

    assert {row.status for row in await lab.rows("SELECT status FROM members")} == {"completed"}
    assert [(row["guess"], row["mean"]) for row in rows if row["player"] == "bob"] == [("", "40.0"), ("", "16.0")]
    invalid = await lab.rows("SELECT key FROM answers WHERE NOT valid ORDER BY key")
    assert [row.key for row in invalid] == ["round:1/guess", "round:2/guess"]


AGENTS = CONTEST.replace("{open: true}", "{persona: dan}").replace("personas:", "personas:\n  - {id: dan}")


async def answers_of(database: Database, document: str, lab: DrainLab) -> list[Any]:
    """All answers of the experiment, which is gone afterwards, with the prompts that led to them."""
    await lab.start(document)
    await lab.drain()
    found = [
        *await lab.rows(
            "SELECT m.path, a.key, a.value FROM answers a JOIN members m ON m.id = a.member_id ORDER BY 1, 2"
        ),
        *((call.path, call.prompt) for call in await lab.calls()),
    ]
    await empty(database)
    return found


@pytest.mark.parametrize("seed", quick_first(range(2), 1))
async def test_shuffled_and_doubled_hints_change_no_answer_and_no_prompt(database: Database, seed: int) -> None:
    plain = await answers_of(database, AGENTS, DrainLab(database))
    wild = await answers_of(database, AGENTS, DrainLab(database, deliveries=2, together=4, rng=Random(seed)))

    answers, prompts = 3 * 2 + 2 * 2 + 3, 2 * 2 * 2
    assert len(plain) == answers + prompts
    assert wild == plain


SCRIPTS = """
parley: 1
name: Levels
seed: 3
personas:
  - {id: one, player: script, script: {beauty_contest: {policy: level_1}}}
  - {id: two, player: script, script: {beauty_contest: {policy: level_0}}}
stages: [{id: contest, kind: beauty_contest, chat: true}]
cohorts: [{count: 2, seats: [{persona: one}, {persona: two}]}]
"""


async def test_scripts_alone_play_the_same_whether_played_out_together_or_settled(database: Database) -> None:
    together = await answers_of(database, SCRIPTS, DrainLab(database))
    settled = await answers_of(database, SCRIPTS, DrainLab(database, one_by_one=True))

    assert len(together) == 2 * 2 * (4 + 1)
    assert settled == together
