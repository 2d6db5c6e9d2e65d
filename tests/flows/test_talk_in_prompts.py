"""What a conversation shows on a page and what an agent in it reads are the same lines after each event."""

import re
from collections.abc import Iterator
from typing import Any, Final
from uuid import uuid4

import pytest

from parley_lab.testing.fresh_databases import FreshDatabases
from tests.flows.one_lab import Json, Place, one_lab

pytestmark = pytest.mark.postgres

PEOPLE: Final = ("Ada", "Ben", "Cleo", "Dan")
STUDY: Final[Json] = {
    "parley": 1,
    "name": "A talk",
    "pace": "live",
    "seed": 3,
    "personas": [{"id": "silent", "profile": {"name": "Sam"}, "mock": {"silence": 1.0}}],
    "stages": [
        {"id": "talk", "kind": "group_chat", "time_limit_seconds": 500_000},
        {"id": "bye", "kind": "info", "lines": ["Bye."]},
    ],
    "cohorts": [
        {"seats": [{"persona": "silent"}, {"open": True, "count": 4}]},
        {"seats": [{"open": True, "count": 2}]},
    ],
    "seat_again": [],
}
LINE: Final = re.compile(r"\[\d\d:\d\d, from ([^]]*)\] (.*)")


@pytest.fixture(scope="module")
def place(fresh_databases: FreshDatabases) -> Iterator[Place]:
    with one_lab(fresh_databases) as found:
        yield found


def test_an_agent_reads_the_lines_that_people_see_after_each_event(place: Place) -> None:
    place.runner.run(_Talk(place).run())


class _Talk:
    def __init__(self, place: Place) -> None:
        self.place, self.ask = place, place.ask
        self.tokens: dict[str, str] = {}
        self.ids: dict[str, str] = {}

    async def run(self) -> None:
        self.id = (await self.ask("POST", "/v1/experiments", json=STUDY))["id"]
        await self.ask("POST", f"/v1/experiments/{self.id}/start")
        found = (await self.ask("GET", f"/v1/experiments/{self.id}/cohorts"))["cohorts"]
        here, elsewhere = (one["id"] for one in sorted(found, key=lambda one: str(one["path"])))
        for name in PEOPLE:
            body = {"cohort_id": here, "profile": {"name": name}}
            joined = await self.ask("POST", f"/v1/experiments/{self.id}/join", json=body)
            self.tokens[name], self.ids[name] = joined["token"], joined["member_id"]
        staff = f"/v1/members/{self.ids['Cleo']}"

        await self.compare("nothing")
        await self.ask("POST", "/v1/me/leave", token=self.tokens["Ben"])
        await self.compare("Ben has left")
        await self.ask("POST", f"{staff}/pause")
        await self.compare("Cleo is paused")
        await self.ask("POST", f"{staff}/resume")
        await self.compare("Cleo goes on")
        await self.ask("POST", f"{staff}/remove", json={"reason": "a test"})
        await self.compare("Cleo is removed")
        await self.ask("POST", f"/v1/members/{self.ids['Dan']}/transfer", json={"cohort_id": elsewhere})
        await self.ask("POST", "/v1/me/transfer", token=self.tokens["Dan"], json={"accept": True})
        await self.compare("Dan has moved")
        assert len(await self.in_the_prompt()) == 6 + 3, "a line for each who is gone"

    async def compare(self, event: str) -> None:
        """Say something, which asks the agent, and compare what it reads with what is on the page."""
        words = {"text": f"After this: {event}.", "client_message_id": uuid4().hex}
        page = await self.ask("GET", "/v1/me/stages/talk", token=self.tokens["Ada"])
        self.thread = page["thread"]["id"]
        await self.ask("POST", f"/v1/me/threads/{self.thread}/messages", token=self.tokens["Ada"], json=words)

        read, shown = await self.in_the_prompt(), await self.on_the_page()
        # The agent may leave after it has read this.
        assert read == shown[: shown.index(("Ada", words["text"])) + 1], event

    async def on_the_page(self) -> list[tuple[str, str]]:
        url = f"/v1/me/threads/{self.thread}/messages"
        found = (await self.ask("GET", url, token=self.tokens["Ada"]))["messages"]
        return [
            ((one["author"] or {"profile": {"name": "the system"}})["profile"]["name"], one["text"]) for one in found
        ]

    async def in_the_prompt(self) -> list[tuple[str, str]]:
        query = """
            SELECT k.path FROM model_calls k JOIN drafts d ON d.id = k.draft_id JOIN members m ON m.id = d.member_id
            WHERE m.experiment_id = :id ORDER BY k.started_at DESC, d.as_of_seq DESC LIMIT 1
        """
        (last,) = await self.place.lab.rows(query, id=self.id)
        (call,) = [one for one in await self.place.lab.calls() if one.path == last.path]
        content: Any = "\n".join(part["content"] for part in call.prompt)
        return [(found[1].partition(",")[0], found[2]) for found in LINE.finditer(content)]
