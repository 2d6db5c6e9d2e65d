"""Made-up people of a rehearsal on single pages, most of them with a fake API."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import orjson
import pytest
from sqlalchemy import text

from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.cli.made_up_people import Turnout
from parley_lab.cli.rehearsing import rehearse
from parley_lab.experiments.experiments import find
from tests.faults.lab_tools import start

Json = Any
ME: dict[str, Json] = {
    "status": "in_progress",
    "stage_id": "one",
    "stages": [{}],
    "waiting": None,
    "timers": [],
    "now": "2030-01-01T00:00:00+00:00",
    "is_paused": False,
    "asks": [],
}
PAGE: dict[str, Json] = {
    "stage_id": "one",
    "kind": "info",
    "state": "current",
    "thread": None,
    "view": {},
    "forms": [],
    "blocked_by": [],
}


class FakeApi:
    """A lab in which everybody comes to one page and stays there.

    page: the fields of the page after so many answers.
    """

    def __init__(self, page: Callable[[int], dict[str, Json]]) -> None:
        self._page = page
        self.answers: list[Json] = []
        self._left: set[str] = set()
        self._joined = 0

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        path, token = request.url.path, request.headers.get("Authorization", "")
        return httpx2.Response(200, json=self._respond(path, token, request.content))

    def _respond(self, path: str, token: str, content: bytes) -> Json:
        if path.startswith("/v1/join/"):
            self._joined += 1
            return {"token": f"t{self._joined}", "member_id": str(UUID(int=self._joined))}
        if path == "/v1/me/leave":
            self._left.add(token)
        elif path.endswith("/answer"):
            self.answers.append(orjson.loads(content)["answer"])
        elif path == "/v1/me":
            forms = self._page(len(self.answers)).get("forms", [])
            asks = [{"id": one["ask_id"], "purpose": "attempt"} for one in forms]
            return {**ME, "asks": asks, "status": "left" if token in self._left else "in_progress"}
        elif path == "/v1/me/stages/one":
            return {**PAGE, **self._page(len(self.answers))}
        return {}


async def rehearse_with(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, *, people: int = 1, **options: Any
) -> Sequence[str]:
    monkeypatch.setattr(httpx2, "AsyncClient", partial(httpx2.AsyncClient, transport=httpx2.MockTransport(api)))
    return await asyncio.wait_for(rehearse("http://lab", "code", people, 3, patience_seconds=0.5, **options), 20)


async def test_people_whose_page_stays_blocked_leave_when_nothing_happens_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends = await rehearse_with(FakeApi(lambda _: {"blocked_by": ["Please wait."]}), monkeypatch, people=2)

    assert ends == ["left", "left"]


QUIZ = {"type": "object", "properties": {"town": {"type": "string", "const": "by chance"}}}


def attempt(number: int) -> dict[str, Json]:
    return {"forms": [{"key": f"attempt:{number + 1}", "form": QUIZ, "ask_id": f"a{number}"}]}


class Sure:
    """Thinks that the town is Bern."""

    def persona_of(self, number: int) -> None:
        return None

    async def answer(self, member_id: UUID, number: int, stage_id: str, key: str) -> Json:
        return {"town": "Bern"}


async def test_what_a_person_thinks_is_tried_once_and_then_chance_until_the_person_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = FakeApi(attempt)

    # One of the two never comes, so that no others come after the one who leaves.
    ends = await rehearse_with(api, monkeypatch, people=2, turnout=Turnout(no_shows=1), mind=Sure())

    assert ends == ["left"]
    assert [answer["town"] for answer in api.answers] == ["Bern", *["by chance"] * 4]


async def test_people_stay_as_long_as_an_agent_is_to_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = [True, True, False]
    left: list[int] = []

    async def are_agents_busy() -> bool:
        return looks.pop(0) if looks else False

    async def give_up() -> None:
        left.append(len(looks))

    blocked = FakeApi(lambda _: {"blocked_by": ["Please wait."]})
    options = {"are_agents_busy": are_agents_busy, "give_up_seats": give_up}
    ends = await rehearse_with(blocked, monkeypatch, people=2, turnout=Turnout(no_shows=1), **options)

    assert ends == ["left"]
    assert left == [0, 0]


MIN_TURNS = """
parley: 1
name: Five messages
seed: 3
stages: [{id: talk, kind: private_chat, min_turns: 5}]
personas: [{id: ada, profile: {name: Ada}}]
cohorts: [{seats: [{open: true}], mediators: [ada]}]
"""


@pytest.mark.postgres
async def test_a_made_up_person_writes_as_many_messages_as_the_stage_wants(tmp_path: Path, database_url: str) -> None:
    async with EmbeddedLab(tmp_path, servers=ServerSettings(database_url=database_url), environ={}, port=0) as lab:
        experiment_id = await start(lab, MIN_TURNS)
        async with lab.database.transaction() as session:
            code = (await find(session, experiment_id)).join_code

        ends = await asyncio.wait_for(rehearse(lab.url or "", code, 1, 3), 30)

        async with lab.database.transaction() as session:
            said = await session.all(text("SELECT 1 FROM messages WHERE author_kind = 'person'"))
    assert ends == ["completed"]
    assert len(said) >= 5
