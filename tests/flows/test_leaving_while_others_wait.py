"""Every way of leaving a stage where others wait, in cohorts of each kind, with every rule for the end of the wait.

The studies of a test run in one lab. Their arms keep and leave out stages, and every other one is paused and goes on
after all hints were lost.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from parley_lab.store.session import Database
from tests.flows.meeting import Meeting, leave, study_at_one_clock
from tests.flows.people import begin

pytestmark = pytest.mark.postgres

STUDY: Final = """
parley: 1
name: {name}
seed: 4
pace: live
joining: by_arrival
treatments: [{{id: a, keep: [extra]}}, {{id: b, leave_out: [after]}}]
personas:
  - {{id: ada, profile: {{name: Ada}}, chat: {{max_responses: 1}}, pages: {{reading_words_per_minute: 0}}}}
  - {{id: guide, profile: {{name: Guide}}, chat: {{max_responses: 1}}}}
stages:
  - {{id: before, kind: survey, questions: [{{id: why, kind: text, title: Why}}]}}
  - id: talk
    kind: group_chat
    time_limit_seconds: 60
    progress: {{wait_for_all: true, at_most_seconds: 100, {then}}}
  - {{id: extra, kind: info, lines: [More]}}
  - {{id: after, kind: info, lines: [Bye]}}
cohorts:
  - {{count: 2, seats: [{{open: true, count: 3}}, {{persona: ada}}], mediators: [guide], {made}}}
"""
MADE: Final = {
    "at_start": "made: at_start",
    "on_arrival": "made: on_arrival",
    "together": "made: when_together, at: talk",
}
RULES: Final = {
    "release": "then: release",
    "go_on": "then: go_on, min_participants: 2",
    "fill": "then: fill, fill_with: ada",
}
WAYS: Final = {"leaves": "left", "removed": "removed", "paused": "paused", "gone": "", "moved": "", "time up": ""}
"""The state to which each way leads; empty: the one to which the rule leads."""


@dataclass(frozen=True)
class Case:
    made: str
    then: str
    way: str
    number: int

    @property
    def is_stopped(self) -> bool:
        return self.number % 2 == 1

    @property
    def of_the_rule(self) -> str:
        return "released" if self.then == "release" else "in_progress"

    @property
    def expected(self) -> str:
        if self.way == "gone" and self.made == "together":
            return "released"
        return WAYS[self.way] or self.of_the_rule


def cases(turn: int) -> Iterator[Case]:
    """Each way with one rule, in cohorts of one kind; people move between cohorts of the start."""
    for number, way in enumerate(WAYS, turn):
        made = "at_start" if way == "moved" else [*MADE][(number + number // 3) % len(MADE)]
        yield Case(made, [*RULES][number % len(RULES)], way, number)


@pytest.mark.parametrize("turn", [0, *(pytest.param(turn, marks=pytest.mark.long) for turn in (1, 2))])
async def test_everybody_comes_to_a_named_state_and_no_one_waits_on(database: Database, turn: int) -> None:
    studies = list(cases(turn))
    async with study_at_one_clock(database, document(studies[0])) as first:
        rooms = [first]
        for case in studies[1:]:
            rooms.append(Meeting(first.gateway, first.lab, await begin(first.gateway, first.lab, document(case))))
        people = [(await room.come("A"), await room.come("B")) for room in rooms]
        for case, room, (a, _) in zip(studies, rooms, people, strict=True):
            group = await id_of(room, "c2") if case.way == "moved" else ""
            await leave(room, case.way, a, group)
            if case.is_stopped:
                await stop_and_go_on(room)
        there = [b for _, b in people]
        there += [a for case, (a, _) in zip(studies, people, strict=True) if case.way == "time up"]
        for _ in range(13):
            first.lab.clock.advance(10)
            await first.lab.fire_timers()
            # The clock goes on while agents fill in their pages.
            await first.lab.drain()
            await first.seen(*there)
            await first.look()

        found = {case: (await a.status(), await b.status()) for case, (a, b) in zip(studies, people, strict=True)}
        waiting = await first.lab.rows(
            """
            SELECT m.path, m.status FROM members m
            WHERE m.player = 'person' AND m.status = 'in_progress' AND NOT EXISTS (
                SELECT FROM cohort_stages o WHERE o.cohort_id = m.cohort_id AND o.stage_id = 'talk')
            """
        )
        failed = await first.lab.rows("SELECT path FROM members WHERE status = 'failed'")

    assert found == {case: (case.expected, case.of_the_rule) for case in studies}
    assert (waiting, failed) == ([], [])


def document(case: Case) -> str:
    return STUDY.format(name=f"{case.made} {case.then} {case.way}", then=RULES[case.then], made=MADE[case.made])


async def id_of(room: Meeting, path: str) -> str:
    query = "SELECT id FROM cohorts WHERE experiment_id = :id AND path = :path"
    (found,) = await room.lab.rows(query, id=room.experiment_id, path=path)
    return str(found.id)


async def stop_and_go_on(room: Meeting) -> None:
    """The experiment is paused and resumed, and all hints of it are lost."""
    for act in ("pause", "resume"):
        done = await room.gateway.post(f"/v1/experiments/{room.experiment_id}/{act}")
        assert done.status_code == 200, done.text
    room.lab.hints.clear()
    room.lab.hints += await room.lab.overlooked()
    await room.lab.drain()
