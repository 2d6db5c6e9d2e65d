"""Drawn stories of people, agents and staff in rounds with strangers: every member comes to an end."""

from random import Random
from typing import Any, Final
from uuid import UUID

import httpx2
import pytest

from parley_lab.base.errors import Conflict
from parley_lab.members.standings import lock_standing
from parley_lab.people.giving_back import give_back
from parley_lab.people.standing_in import stand_in
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.meeting import Meeting, study_at_one_clock
from tests.flows.people import Person, join

pytestmark = pytest.mark.postgres

STUDY: Final = """
parley: 1
name: Rounds with rules, orders and arms
seed: 4
pace: live
treatments: [{id: plain}, {id: told, leave_out: [hint]}]
allocation: {by: participant}
assigned: [{id: order, kind: permutation, values: [p, q], order: latin, block: cases}]
personas:
  - {id: ada, profile: {name: Ada}, chat: {max_responses: 1}, pages: {reading_words_per_minute: 0}}
stages:
  - id: before
    kind: survey
    questions: [{id: why, kind: choice, title: Why, options: [{id: 'yes', text: 'Yes'}, {id: 'no', text: 'No'}]}]
  - {id: hint, kind: info, lines: [Hint], show_if: {stage: before, question: why, value: 'yes'}}
  - id: talk
    kind: group_chat
    time_limit_seconds: 60
    progress: {at_most_seconds: 100, then: go_on, min_participants: 2}
  - {id: extra, kind: info, lines: [Extra], show_if: {stage: before, question: why, value: 'no'}}
  - {id: p, kind: info, lines: [P], block: cases}
  - {id: q, kind: info, lines: [Q], block: cases}
  - {id: again, kind: group_chat, time_limit_seconds: 60, progress: {at_most_seconds: 100, then: RULE}}
  - {id: end, kind: info, lines: [Bye]}
cohorts:
  - made: when_together
    at: [talk, again]
    count: 9
    seats: [{open: true, count: 2}, {persona: ada}]
    match: {never_again: true}
"""
RULES: Final = ("release", "go_on, min_participants: 2", "fill, fill_with: ada")
ACTS: Final = ("stand in", "come back", "move", "pause", "hold", "add", "leave", "remove")
OVER: Final = ("completed", "released", "left", "removed", "dropped_out", "transfer_timed_out", "transfer_declined")


@pytest.mark.parametrize("seed", quick_first((1, 0, *range(2, 40)), 1))
async def test_every_member_of_a_drawn_story_comes_to_an_end(database: Database, seed: int) -> None:
    rng = Random(seed)
    async with study_at_one_clock(database, STUDY.replace("RULE", rng.choice(RULES))) as meeting:
        people = [await come(meeting, name, rng) for name in "ABCDEF"]
        for _ in range(40):
            for _ in range(rng.choice((0, 0, 1, 2))):
                await act(meeting, rng)
            await go_on(meeting, people, rng)
            await meeting.pass_time(rng.choice((5, 30, 61)), *people)
        for _ in range(30):
            await resume_all(meeting)
            await go_on(meeting, people, None)
            await meeting.pass_time(61, *people)
            if not await still_in(meeting):
                break

        assert await still_in(meeting) == []
        assert await positions_of_those_who_moved(meeting) == []


async def come(meeting: Meeting, name: str, rng: Random) -> Person:
    person = await join(meeting.gateway, meeting.lab, meeting.experiment_id, name)
    await person.advance("before", {"why": rng.choice(("yes", "no"))})
    await meeting.seen(person)
    return person


async def go_on(meeting: Meeting, people: list[Person], rng: Random | None) -> None:
    """Have those who can go on do so; not all of them, where there is chance."""
    for person in people:
        if rng is not None and rng.random() < 0.4:
            continue
        headers = {"Authorization": f"Bearer {person.token}"}
        me = await meeting.gateway.get("/v1/me", headers=headers)
        if me.status_code != 200:
            continue
        if me.json()["status"] == "transfer_pending":
            await meeting.gateway.post("/v1/me/transfer", headers=headers, json={"accept": True})
        elif me.json()["stage_id"] is not None:
            url = f"/v1/me/stages/{me.json()['stage_id']}/advance"
            await meeting.gateway.post(url, headers=headers, json={"answer": None})
        await meeting.lab.drain()


async def act(meeting: Meeting, rng: Random) -> httpx2.Response | None:
    """One act of staff, or of the lab, with a member; it may be refused."""
    way = rng.choice(ACTS)
    members = await meeting.lab.rows("SELECT id, player FROM members WHERE kind = 'participant' ORDER BY path")
    groups = await meeting.lab.rows("SELECT id FROM cohorts WHERE NOT alone ORDER BY path")
    one = rng.choice(members)
    group = str(rng.choice(groups).id) if groups else None
    done: httpx2.Response | None = None
    match way:
        case "stand in" | "come back":
            await play_on(meeting, one.id, gives_back=way == "come back")
        case "move" if group:
            body = {"cohort_id": group, "seconds": 30}
            done = await meeting.gateway.post(f"/v1/members/{one.id}/transfer", json=body)
        case "add" if group:
            body = {"persona": "ada", **rng.choice(({}, {"stage_id": rng.choice(("extra", "q", "again", "talk"))}))}
            done = await meeting.gateway.post(f"/v1/cohorts/{group}/members", json=body)
        case "pause":
            verb = rng.choice(("pause", "resume"))
            done = await meeting.gateway.post(f"/v1/members/{one.id}/{verb}")
        case "hold":
            verb = rng.choice(("pause", "resume"))
            done = await meeting.gateway.post(f"/v1/experiments/{meeting.experiment_id}/{verb}")
        case "leave" | "remove" if rng.random() < 0.3:
            done = await meeting.gateway.post(f"/v1/members/{one.id}/remove", json={"reason": "a test"})
    assert done is None or done.status_code < 500, done.text
    await meeting.lab.drain()
    return done


async def play_on(meeting: Meeting, member_id: UUID, *, gives_back: bool) -> None:
    meeting.lab.clock.advance(1)
    try:
        async with meeting.lab.database.transaction() as session:
            if gives_back:
                await give_back(session, member_id, meeting.lab.clock.now())
            else:
                standing = await lock_standing(session, member_id)
                if standing.member.player == "person" and not standing.is_paused:
                    await stand_in(session, standing, "ada", meeting.lab.clock.now())
    except Conflict:
        return


async def resume_all(meeting: Meeting) -> None:
    await meeting.gateway.post(f"/v1/experiments/{meeting.experiment_id}/resume")
    for row in await meeting.lab.rows("SELECT id FROM members WHERE status = 'paused'"):
        await meeting.gateway.post(f"/v1/members/{row.id}/resume")
    await meeting.lab.drain()


async def still_in(meeting: Meeting) -> list[Any]:
    rows = await meeting.lab.rows(
        "SELECT m.path, m.player, m.status, c.path AS cohort, m.stage_ids[m.position + 1] AS stage_id, m.stage_ids "
        "FROM members m JOIN cohorts c ON c.id = m.cohort_id "
        "WHERE m.kind = 'participant' AND m.status <> ALL(CAST(:over AS text[])) ORDER BY m.path",
        over=list(OVER),
    )
    return [tuple(row) for row in rows]


async def positions_of_those_who_moved(meeting: Meeting) -> list[Any]:
    """Members whose stages have one twice, or miss one that no rule and no meeting takes from them."""
    rows = await meeting.lab.rows(
        "SELECT path, player, stage_ids FROM members WHERE kind = 'participant' AND player = 'person' "
        "AND (NOT stage_ids @> '{before,p,talk,q,again,end}' "
        "OR cardinality(stage_ids) <> (SELECT count(DISTINCT s) FROM unnest(stage_ids) s))"
    )
    return [tuple(row) for row in rows]
