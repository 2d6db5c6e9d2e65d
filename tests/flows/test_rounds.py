"""Agents and people who change groups in studies where people meet anew: no member waits before the next meeting."""

from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.members.standings import lock_standing
from parley_lab.people.giving_back import give_back
from parley_lab.people.presence import apply_rule
from parley_lab.people.rooms import partners_of
from parley_lab.people.standing_in import stand_in
from parley_lab.store.session import Database
from tests.flows.meeting import Meeting, study, study_at_one_clock
from tests.flows.people import Person

pytestmark = pytest.mark.postgres

ROUNDS = study(count=9, at="[talk, again]")


async def a_group(meeting: Meeting, names: str = "AB") -> dict[str, Person]:
    people = {name: await meeting.come(name) for name in names}
    await meeting.look()
    return people


async def end_talk(meeting: Meeting, stage_id: str, *people: Person) -> None:
    await meeting.pass_time(61, *people)
    for person in people:
        await person.advance(stage_id)


async def id_of(person: Person) -> UUID:
    return UUID((await person.get("/v1/me"))["member_id"])


async def let_stand_in(meeting: Meeting, member_id: UUID) -> bool:
    async with meeting.lab.database.transaction() as session:
        stood_in = await stand_in(session, await lock_standing(session, member_id), "ada", meeting.lab.clock.now())
    await meeting.lab.drain()
    return stood_in


async def row(meeting: Meeting, member_id: UUID | str) -> Any:
    (found,) = await meeting.lab.rows(
        "SELECT m.status, m.player, m.stage_ids, m.stage_ids[m.position + 1] AS stage_id, c.path FROM members m "
        "JOIN cohorts c ON c.id = m.cohort_id WHERE m.id = CAST(:id AS uuid)",
        id=str(member_id),
    )
    return found


async def cohort(meeting: Meeting, path: str) -> str:
    (found,) = await meeting.lab.rows("SELECT id FROM cohorts WHERE path = :path", path=path)
    return str(found.id)


async def move(meeting: Meeting, member_id: UUID | str, path: str) -> Any:
    body = {"cohort_id": await cohort(meeting, path)}
    return await meeting.gateway.post(f"/v1/members/{member_id}/transfer", json=body)


async def add(meeting: Meeting, path: str, **more: str) -> Any:
    url = f"/v1/cohorts/{await cohort(meeting, path)}/members"
    added = await meeting.gateway.post(url, json={"persona": "ada", **more})
    await meeting.lab.drain()
    return added


async def test_the_part_of_an_agent_that_stands_in_ends_before_the_next_meeting(database: Database) -> None:
    async with study_at_one_clock(database, ROUNDS) as meeting:
        people = await a_group(meeting, "ABC")
        gone = await id_of(people["A"])

        assert await let_stand_in(meeting, gone)
        await end_talk(meeting, "talk", people["B"])
        await people["B"].advance("after")
        await meeting.look()

        stands_in, stays = await row(meeting, gone), await row(meeting, await id_of(people["B"]))
        assert (stands_in.status, stands_in.stage_ids) == ("completed", ["before", "talk", "after"])
        assert (stays.stage_id, stays.path) == ("again", "w1.2")


async def test_a_person_who_is_back_meets_others_after_the_stand_in_was_sent_away(database: Database) -> None:
    async with study_at_one_clock(database, ROUNDS) as meeting:
        people = await a_group(meeting)
        gone = await id_of(people["A"])
        meeting.lab.clock.advance(1)
        async with meeting.lab.database.transaction() as session:
            now = meeting.lab.clock.now()
            assert await stand_in(session, await lock_standing(session, gone), "ada", now)
            cut = [*(await lock_standing(session, gone)).stage_ids]
            assert await give_back(session, gone, now)
        await end_talk(meeting, "talk", *people.values())
        for person in people.values():
            await person.advance("after")
        await meeting.seen(*people.values())
        await meeting.look()
        await meeting.seen(*people.values())
        await meeting.look()

        back = await row(meeting, gone)
        assert cut == ["before", "talk", "after"]
        assert back.stage_ids == ["before", "talk", "after", "again", "end"]
        assert (back.path, back.stage_id) == ("c1.2", "again")


@pytest.mark.parametrize("is_first", [True, False], ids=["first meeting", "next meeting"])
async def test_no_agent_stands_in_for_a_person_who_waits_for_a_group(database: Database, is_first: bool) -> None:
    async with study_at_one_clock(database, ROUNDS) as meeting:
        if is_first:
            person = await meeting.come("A")
        else:
            people = await a_group(meeting)
            await end_talk(meeting, "talk", *people.values())
            person = people["A"]
            await person.advance("after")
        waits = await id_of(person)

        assert not await let_stand_in(meeting, waits)
        assert (await row(meeting, waits)).player == "person"


async def test_a_person_who_is_gone_while_they_wait_for_a_group_drops_out_where_an_agent_would_stand_in(
    database: Database,
) -> None:
    document = ROUNDS.replace(
        "{id: talk, kind: group_chat,", "{id: talk, kind: group_chat, when_gone: replace, stand_in: ada,"
    )
    async with study_at_one_clock(database, document) as meeting:
        gone = await id_of(await meeting.come("A"))
        now = meeting.lab.clock.now()
        async with meeting.lab.database.transaction() as session:
            found = {"member_id": gone, "now": now}
            await session.run(text("UPDATE presence SET gone_at = :now WHERE member_id = :member_id"), found)
        meeting.lab.clock.advance(61)

        async with meeting.lab.database.transaction() as session:
            assert await apply_rule(session, gone, meeting.lab.clock.now())

        found_now = await row(meeting, gone)
        assert (found_now.player, found_now.status) == ("person", "dropped_out")


async def test_people_have_met_those_who_moved_to_their_group(database: Database) -> None:
    async with study_at_one_clock(database, ROUNDS) as meeting:
        people = await a_group(meeting, "ABCD")
        ids = {name: await id_of(person) for name, person in people.items()}

        assert (await move(meeting, ids["A"], "c2")).status_code == 200
        await people["A"].post("/v1/me/transfer", {"accept": True})

        async with meeting.lab.database.read() as session:
            met = await partners_of(session, UUID(meeting.experiment_id), [*ids.values()])
        assert met[ids["A"]] == {ids["B"], ids["C"], ids["D"]}
        assert met[ids["B"]] == {ids["A"]}


async def test_an_added_agent_begins_where_the_group_was_made_and_ends_before_the_next_meeting(
    database: Database,
) -> None:
    async with study_at_one_clock(database, ROUNDS) as meeting:
        people = await a_group(meeting)

        added = (await add(meeting, "c1")).json()
        refused = [await add(meeting, "c1", stage_id=one) for one in ("before", "again")]
        await end_talk(meeting, "talk", *people.values())
        await meeting.lab.drain()

        assert added["stage_id"] == "talk"
        assert [one.status_code for one in refused] == [422, 422]
        assert "one of talk, after: the group is made at 'talk'" in refused[0].text
        found = await row(meeting, added["id"])
        assert (found.status, found.stage_ids) == ("completed", ["before", "talk", "after"])


async def test_an_agent_that_moves_to_another_group_ends_there_before_the_next_meeting(database: Database) -> None:
    async with study_at_one_clock(database, ROUNDS) as meeting:
        people = await a_group(meeting, "ABCD")
        (agent,) = await meeting.lab.rows(
            "SELECT m.id FROM members m JOIN cohorts c ON c.id = m.cohort_id "
            "WHERE c.path = 'c1' AND m.player = 'agent' AND m.kind = 'participant'"
        )

        moved = await move(meeting, str(agent.id), "c2")
        await meeting.lab.drain()
        await end_talk(meeting, "talk", *people.values())
        await meeting.lab.drain()

        assert moved.status_code == 200, moved.text
        found = await row(meeting, str(agent.id))
        assert (found.path, found.status, found.stage_ids) == ("c2", "completed", ["before", "talk", "after"])


async def test_no_member_moves_to_a_group_that_is_elsewhere_in_the_rounds(database: Database) -> None:
    async with study_at_one_clock(database, ROUNDS) as meeting:
        people = await a_group(meeting, "ABCD")
        await meeting.pass_time(61, *people.values())
        for name in "ABC":
            await people[name].advance("talk")
        for name in "AB":
            await people[name].advance("after")
        await meeting.seen(*people.values())
        await meeting.look()
        await meeting.seen(*people.values())
        await meeting.look()
        early, late = await id_of(people["C"]), await id_of(people["A"])

        too_early, too_late = await move(meeting, early, "c1.2"), await move(meeting, late, "c2")

        assert [one.status_code for one in (too_early, too_late)] == [409, 409]
        assert "was made at the stage again, to which the member has not come" in too_early.text
        assert "leave the other group at the stage again, to which the member has come" in too_late.text
