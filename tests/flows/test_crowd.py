"""Sixty people come within ten minutes, a third of whom close the page, return or decline; the benchmark plays 300."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any, Final
from uuid import UUID

import httpx2
import pytest

from parley_lab.answers.advancing import end_member
from parley_lab.data.exports import payments
from parley_lab.members.standings import hash_token, lock_standing
from parley_lab.orchestrator.meeting import make_groups
from parley_lab.orchestrator.settling import fire_due_timers
from parley_lab.people.joining import join
from parley_lab.people.matching import Rule
from parley_lab.people.presence import have_asked
from parley_lab.store.session import Database, Session
from parley_lab.testing.crowds import Guest, crowd, possible_groups
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

PEOPLE: Final = 60
SECONDS: Final = 600.0
AT_MOST: Final = 100.0
STUDY: Final = f"""
parley: 1
name: Groups of four in two arms
seed: 7
pace: live
language: en
treatments: [{{id: a}}, {{id: b}}]
completion: {{completed: {{code: DONE}}, released: {{code: WAITED}}, left: {{code: LEFT}}}}
stages: [{{id: play, kind: info, lines: [Hello], progress: {{wait_for_all: true, at_most_seconds: {AT_MOST:g}}}}}]
cohorts: [{{made: when_together, at: play, count: 60, seats: [{{open: true, count: 4}}]}}]
"""


@dataclass
class Played:
    """A study that a crowd plays, a look every two seconds of its clock."""

    lab: DrainLab
    gateway: httpx2.AsyncClient
    experiment_id: UUID
    begun_at: datetime
    members: dict[int, UUID] = field(default_factory=dict)
    tokens: dict[int, str] = field(default_factory=dict)

    @property
    def at(self) -> float:
        return (self.lab.clock.now() - self.begun_at).total_seconds()

    async def tick(self, people: Sequence[Guest]) -> None:
        for one in people:
            if one.number not in self.members and one.comes_at <= self.at and one.is_there(self.at):
                await self.come(one)
            elif one.declines_at is not None and one.declines_at <= self.at < one.declines_at + 2:
                await self.lab.database.transact(partial(self.leave, number=one.number))
        here = [one for one in people if one.number in self.tokens and one.is_there(self.at)]
        there = [hash_token(self.tokens[one.number]) for one in here]
        async with self.lab.database.transaction() as session:
            await have_asked(session, there, self.lab.clock.now())
        await fire_due_timers(self.lab.database, self.lab.clock.now())
        await self.handle()
        await make_groups(self.lab.database, self.lab.clock)
        await self.handle()
        self.lab.clock.advance(2.0)

    async def handle(self) -> None:
        while self.lab.hints:
            await self.lab.deliver(self.lab.next_hints())

    async def come(self, one: Guest) -> None:
        async with self.lab.database.transaction() as session:
            now = self.lab.clock.now()
            member_id, token = await join(
                session, self.experiment_id, now, cohort_id=None, profile=None, external_id=f"P{one.number}"
            )
        self.members[one.number], self.tokens[one.number] = member_id, token

    async def leave(self, session: Session, *, number: int) -> None:
        if number in self.members:
            standing = await lock_standing(session, self.members[number])
            await end_member(session, standing, "left", "left", self.lab.clock.now(), cause="test")

    async def go_on(self, one: Guest) -> None:
        """Those who are there read the page and go on."""
        headers = {"Authorization": f"Bearer {self.tokens[one.number]}"}
        await self.gateway.post("/v1/me/stages/play/advance", json={}, headers=headers)

    async def matches(self) -> list[Any]:
        return await self.lab.rows(
            "SELECT x.people, x.made_at, c.treatment_id AS arm, x.given_back_at FROM matches x "
            "JOIN cohorts c ON c.id = x.cohort_id"
        )

    async def waits(self) -> list[Any]:
        """How each person's wait ended, and when."""
        return await self.lab.rows(
            "SELECT m.id, m.status, m.ended_at, m.joined_at, (SELECT min(x.made_at) FROM matches x "
            "WHERE m.id = ANY(x.people)) AS made_at FROM members m WHERE m.joined_at IS NOT NULL"
        )


@pytest.mark.parametrize("seed", [5])
async def test_a_crowd_that_comes_and_goes_is_grouped_as_well_as_it_can_be(
    gateway: httpx2.AsyncClient, database: Database, seed: int
) -> None:
    people = crowd(PEOPLE, SECONDS, Random(seed))
    lab = DrainLab(database)
    played = Played(lab, gateway, await lab.start(STUDY), lab.clock.now())

    while played.at <= SECONDS + AT_MOST + 20:
        await played.tick(people)
    by_id = {played.members[one.number]: one for one in people if one.number in played.members}
    made, waits = await played.matches(), await played.waits()
    for one in people:
        if one.number in played.tokens and one.is_there(played.at):
            await played.go_on(one)

    oracle = possible_groups(people, Rule(people=4), AT_MOST, SECONDS)
    began = [match for match in made if match.given_back_at is None]
    assert oracle >= 8
    assert len(began) >= 0.95 * oracle
    gone = [by_id[one].gone_for(_since(played, match.made_at)) for match in made for one in match.people]
    assert max(gone) <= 15
    assert max(Counter(one for match in made for one in match.people).values()) == 1
    arms = Counter(match.arm for match in began)
    assert abs(arms["a"] - arms["b"]) <= 1
    ended = [one.made_at or one.ended_at or played.lab.clock.now() for one in waits]
    waited = [(end - one.joined_at).total_seconds() for one, end in zip(waits, ended, strict=True)]
    assert max(waited) <= AT_MOST + 10
    async with database.transaction() as session:
        lines = [line async for line in payments(session, played.experiment_id)]
    assert len(lines) == len(waits)
    assert {line["code"] for line in lines if line["outcome"] != "in_progress"} <= {"DONE", "WAITED", "LEFT"}


def _since(played: Played, at: datetime) -> float:
    return (at - played.begun_at) / timedelta(seconds=1)
