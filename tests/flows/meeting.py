"""People on their way to a group of those who are there, in a lab that is drained."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import httpx2

from parley_lab.bus.in_process import InProcessBus
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.members.standings import hash_token
from parley_lab.orchestrator.meeting import make_groups
from parley_lab.people.presence import have_asked
from parley_lab.store import keys
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab
from tests.flows.people import Person, begin, join

STUDY: Final = """
parley: 1
name: Groups of those who are there
seed: 4
pace: live
{arms}
personas:
  - {{id: ada, profile: {{name: Ada}}, chat: {{max_responses: 1}}, pages: {{reading_words_per_minute: 0}}}}
  - {{id: eva, profile: {{name: Eva}}, chat: {{max_responses: 1}}}}
  - {{id: guide, profile: {{name: Guide}}, chat: {{max_responses: 1}}}}
stages:
  - {{id: before, kind: survey, questions: [{{id: why, kind: text, title: Why}}]}}
  - {{id: talk, kind: group_chat, time_limit_seconds: 60, progress: {{{progress}}}}}
  - {{id: after, kind: info, lines: [Bye]}}
{last}cohorts:
  - id: pair
    made: when_together
    at: {at}
    count: {count}
{match}
    seats: [{{open: true, count: {people}}}, {{persona: ada{fitting}}}]
    mediators: [guide]
"""


SECOND: Final = """  - {id: again, kind: group_chat, time_limit_seconds: 60}
  - {id: end, kind: info, lines: [Bye]}
"""
"""A second talk, to which people meet anew."""


def study(
    *,
    people: int = 2,
    count: int = 5,
    progress: str = "",
    arms: str = "",
    match: str = "",
    fitting: str = "",
    at: str = "talk",
) -> str:
    return STUDY.format(
        people=people,
        count=count,
        progress=progress,
        at=at,
        last=SECOND if "again" in at else "",
        arms=arms,
        match=f"    match: {match}" if match else "",
        fitting=f", persona_for: {fitting}" if fitting else "",
    )


class Meeting:
    """A study whose people meet at `talk`."""

    def __init__(self, gateway: httpx2.AsyncClient, lab: DrainLab, experiment_id: str) -> None:
        self.gateway = gateway
        self.lab = lab
        self.experiment_id = experiment_id

    async def come(self, name: str, why: str = "") -> Person:
        """A person who joins, answers the survey, and waits."""
        person = await join(self.gateway, self.lab, self.experiment_id, name)
        await person.advance("before", {"why": why or f"As {name} thinks."})
        await self.seen(person)
        return person

    async def seen(self, *people: Person) -> None:
        """These people have just made a request."""
        async with self.lab.database.transaction() as session:
            await have_asked(session, [hash_token(one.token) for one in people], self.lab.clock.now())

    async def look(self) -> int:
        """Have the orchestrator make the groups that can be made."""
        done = await make_groups(self.lab.database, self.lab.clock)
        await self.lab.drain()
        return done

    async def pass_time(self, seconds: float, *there: Person) -> None:
        """Let time pass while these people are there."""
        self.lab.clock.advance(seconds)
        await self.seen(*there)
        await self.lab.fire_timers()
        await self.lab.drain()
        await self.look()

    async def groups(self) -> dict[str, list[str]]:
        """The names of the people in each group."""
        rows = await self.lab.rows(
            """
            SELECT c.path, m.profile ->> 'name' AS name FROM members m JOIN cohorts c ON c.id = m.cohort_id
            WHERE NOT c.alone AND m.player = 'person' ORDER BY c.path, m.seat
            """
        )
        found: dict[str, list[str]] = {}
        for row in rows:
            found.setdefault(row.path, []).append(row.name)
        return found

    async def ends(self) -> dict[str, str]:
        """The state of each person, by name."""
        rows = await self.lab.rows("SELECT profile ->> 'name' AS name, status FROM members WHERE player = 'person'")
        return {row.name: row.status for row in rows}


async def open_study(
    gateway: httpx2.AsyncClient, database: Database, document: str, lab: DrainLab | None = None
) -> Meeting:
    lab = lab or DrainLab(database)
    async with database.transaction() as session:
        gateway.headers["Authorization"] = f"Bearer {await keys.create_key(session, 'Ellen', lab.clock.now())}"
    return Meeting(gateway, lab, await begin(gateway, lab, document))


@asynccontextmanager
async def study_at_one_clock(database: Database, document: str) -> AsyncIterator[Meeting]:
    """A study whose gateway has the clock of the lab."""
    lab, bus = DrainLab(database), InProcessBus()
    app = create_app(database, bus, lab.clock, GatewaySettings(), environ={})
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://gateway") as gateway:
        yield await open_study(gateway, database, document, lab)
    await bus.close()


async def leave(meeting: Meeting, way: str, person: Person, group: str) -> None:
    """Take a person out of a stage in this way; `moved` takes them to the cohort with the id `group`."""
    me = (await person.get("/v1/me"))["member_id"]
    match way:
        case "leaves":
            await person.post("/v1/me/leave", {})
        case "removed":
            await meeting.gateway.post(f"/v1/members/{me}/remove", json={"reason": "a test"})
        case "paused":
            await meeting.gateway.post(f"/v1/members/{me}/pause")
        case "moved":
            offered = await meeting.gateway.post(f"/v1/members/{me}/transfer", json={"cohort_id": group})
            assert offered.status_code == 200, offered.text
            await person.post("/v1/me/transfer", {"accept": True})
    await meeting.lab.drain()
