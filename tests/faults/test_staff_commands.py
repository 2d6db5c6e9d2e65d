"""Commands of lab staff whose process dies right after the commit: what was lost of its hints is found in the rows."""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import httpx2
import pytest
import yaml

from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab
from tests.flows.half_done import WRONG
from tests.flows.previewing import an_api

pytestmark = [pytest.mark.postgres, pytest.mark.fault]

STUDY: Final = """
parley: 1
name: Staff
seed: 5
pace: fast
personas:
  - {id: ana, profile: {name: Ana}, chat: {max_responses: 2}}
  - {id: mod, profile: {name: Mo}, chat: {max_responses: 1}}
stages:
  - {id: talk, kind: group_chat}
  - {id: why, kind: survey, questions: [{id: why, kind: text, title: Why}], progress: {wait_for_all: true}}
  - {id: last, kind: info, lines: [Bye]}
cohorts:
  - {seats: [{open: true}, {open: true}, {persona: ana}], mediators: [mod]}
  - {seats: [{open: true}, {persona: ana}]}
"""
REASON: Final = {"reason": "a test"}
COMMANDS: Final[dict[str, list[tuple[str, str]]]] = {
    "remove a person for whom others wait": [("c1/m1", "remove")],
    "pause and resume an agent": [("c1/m3", "pause"), ("c1/m3", "resume")],
    "transfer an agent": [("c1/m3", "transfer")],
    "pause and resume a person": [("c1/m1", "pause"), ("c1/m1", "resume")],
    "pause and resume a mediator": [("c1/med1", "pause"), ("c1/med1", "resume")],
    "check an agent": [("c1/m3", "check")],
    "remove an agent": [("c1/m3", "remove")],
    "pause a person and remove them": [("c1/m1", "pause"), ("c1/m1", "remove")],
}


@dataclass
class Run:
    """One run of the study, with its lab."""

    lab: DrainLab
    client: httpx2.AsyncClient
    id: str
    tokens: dict[str, str]
    is_killed: bool

    async def after_commit(self) -> None:
        """The lab goes on; where it is killed, what it had in mind is gone, and the next one reads the rows."""
        if self.is_killed:
            self.lab.hints.clear()
            self.lab.later.clear()
            self.lab.hints += await self.lab.overlooked()
        await self.lab.drain()

    async def ask(self, method: str, path: str, body: Any = None, *, path_of: str | None = None) -> Any:
        headers = {} if path_of is None else {"Authorization": f"Bearer {self.tokens[path_of]}"}
        answer = await self.client.request(method, path, json=body, headers=headers)
        assert answer.status_code < 300, answer.text
        await self.after_commit()
        return answer.json()

    async def rows(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self.lab.rows(query, id=UUID(self.id))]

    async def command(self, path: str, name: str) -> None:
        ids = dict(await self.rows("SELECT path, id FROM members WHERE experiment_id = :id"))
        cohorts = dict(await self.rows("SELECT path, id FROM cohorts WHERE experiment_id = :id"))
        bodies = {"remove": REASON, "transfer": {"cohort_id": str(cohorts["c2"])}}
        await self.ask("POST", f"/v1/members/{ids[path]}/{name}", bodies.get(name))

    async def people_go_on(self) -> None:
        """Each person who is still in goes as far as it can."""
        for _ in range(4):
            for path in self.tokens:
                me = await self.ask("GET", "/v1/me", path_of=path)
                if me["status"] == "in_progress" and me["stage_id"] is not None:
                    page = await self.ask("GET", f"/v1/me/stages/{me['stage_id']}", path_of=path)
                    if page["state"] == "current":
                        answer = {"answer": {"why": "So"}} if me["stage_id"] == "why" else {}
                        await self.ask("POST", f"/v1/me/stages/{me['stage_id']}/advance", answer, path_of=path)


async def what_came_of_it(database: Database, commands: list[tuple[str, str]], *, is_killed: bool) -> list[Any]:
    """How everybody ended, with the events of the commands; nothing is left half done."""
    lab = DrainLab(database)
    async with an_api(database, lab) as client:
        run = Run(lab, client, "", {}, is_killed)
        run.id = (await run.ask("POST", "/v1/experiments", yaml.safe_load(STUDY)))["id"]
        await run.ask("POST", f"/v1/experiments/{run.id}/start")
        cohorts = dict(await run.rows("SELECT path, id FROM cohorts WHERE experiment_id = :id"))
        for path in ("c1/m1", "c1/m2", "c2/m1"):
            cohort = str(cohorts[path.partition("/")[0]])
            run.tokens[path] = (await run.ask("POST", f"/v1/experiments/{run.id}/join", {"cohort_id": cohort}))["token"]
        for path, name in commands:
            await run.command(path, name)
        await run.people_go_on()
        members = await run.rows("SELECT path, status FROM members WHERE experiment_id = :id ORDER BY path")
        events = await run.rows(
            "SELECT subject, type, count(*) FROM events WHERE experiment_id = :id AND actor <> 'lab' "
            "AND type LIKE 'member.%' GROUP BY 1, 2 ORDER BY 1, 2"
        )
        status = await run.rows("SELECT status FROM experiments WHERE id = :id")
        for name, query in WRONG.items():
            assert not await lab.rows(query), name
        assert await lab.overlooked() == []
    return [members, events, status]


@pytest.mark.parametrize("name", quick_first(COMMANDS, 3))
async def test_a_command_whose_process_dies_comes_to_what_it_would_have_come_to(database: Database, name: str) -> None:
    killed = await what_came_of_it(database, COMMANDS[name], is_killed=True)

    assert killed == await what_came_of_it(database, COMMANDS[name], is_killed=False)
    assert killed[-1] == [("ended",)]
