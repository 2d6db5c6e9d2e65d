"""Groups that grow: those who fit together later join one of their kind while it has room, and others are made."""

from typing import Final

import httpx2
import pytest

from parley_lab.store.session import Database
from tests.flows.meeting import Meeting, open_study, study
from tests.flows.people import Person

pytestmark = pytest.mark.postgres

BY: Final = "by: {stage: before, question: why}"


async def come(meeting: Meeting, whys: str) -> list[Person]:
    """People come with these answers, one letter each, and those who fit together become a group, or join one."""
    number = len((await meeting.ends()).keys())
    people = [await meeting.come(f"P{number + place}", why) for place, why in enumerate(whys)]
    await meeting.look()
    return people


async def test_those_who_fit_together_later_join_their_group_until_it_is_full_and_then_another_is_made(
    gateway: httpx2.AsyncClient, database: Database
) -> None:
    match = f"{{{BY}, want: {{a: {{least: 2, most: 3}}, b: 1}}, grows_to: 7}}"
    meeting = await open_study(gateway, database, study(people=4, match=match))

    await come(meeting, "aab")
    first = await meeting.groups()
    early = await come(meeting, "aa")
    waiting = await meeting.groups()
    late = await come(meeting, "b")
    second = await meeting.groups()
    await come(meeting, "aab")

    assert {path: len(names) for path, names in first.items()} == {"c1": 3}
    assert {path: len(names) for path, names in waiting.items()} == {"c1": 3}
    assert {path: len(names) for path, names in second.items()} == {"c1": 6}
    assert {path: len(names) for path, names in (await meeting.groups()).items()} == {"c1": 6, "c2": 3}
    page = await late[0].get("/v1/me/stages/talk")
    assert (page["state"], len(page["view"]["people"])) == ("current", 8)
    message = {"text": "Here, too.", "client_message_id": "1"}
    await early[0].post(f"/v1/me/threads/{page['thread']['id']}/messages", message, 201)
    made = await meeting.lab.rows(
        "SELECT c.name, cardinality(x.people) AS people FROM matches x JOIN cohorts c ON c.id = x.cohort_id ORDER BY 1"
    )
    assert [tuple(row) for row in made] == [("pair-1", 6), ("pair-2", 3)]


async def test_people_join_the_kind_with_fewer_people_where_kinds_are_balanced(
    gateway: httpx2.AsyncClient, database: Database
) -> None:
    kinds = "[{id: one, want: {a: 2}}, {id: two, want: {a: 2}}]"
    match = f"{{{BY}, kinds: {kinds}, balance: true, grows_to: 4}}"
    meeting = await open_study(gateway, database, study(match=match, count=2))

    await come(meeting, "aaaaaa")
    await come(meeting, "aa")

    found = await meeting.lab.rows(
        "SELECT c.name, cardinality(x.people) AS people FROM matches x JOIN cohorts c ON c.id = x.cohort_id ORDER BY 1"
    )
    assert [tuple(row) for row in found] == [("one-1", 4), ("two-2", 4)]


async def test_a_study_whose_last_group_grows_takes_people_until_it_is_full_or_goes_on(
    gateway: httpx2.AsyncClient, database: Database
) -> None:
    meeting = await open_study(gateway, database, study(count=1, match="{grows_to: 5}"))
    await come(meeting, "aa")
    await come(meeting, "aa")
    four = await meeting.groups()
    last = await meeting.come("Last")
    full = await gateway.post(f"/v1/experiments/{meeting.experiment_id}/join", json={})
    await meeting.look()
    five = await meeting.groups()

    assert [len(names) for names in four.values()] == [4]
    assert (full.status_code, full.json()["reason"]) == (409, "full")
    assert [len(names) for names in five.values()] == [5]
    assert (await last.get("/v1/me/stages/talk"))["state"] == "current"


async def test_no_one_joins_a_conversation_that_has_ended_and_the_last_do_not_wait_in_vain(
    gateway: httpx2.AsyncClient, database: Database
) -> None:
    meeting = await open_study(gateway, database, study(count=1, match="{grows_to: 4}"))
    people = await come(meeting, "aa")
    late = await meeting.come("Late")

    await meeting.pass_time(61, *people, late)

    assert (await meeting.ends())["Late"] == "released"
    assert [len(names) for names in (await meeting.groups()).values()] == [2]


async def test_people_are_matched_by_the_first_rule_that_holds_for_them(
    gateway: httpx2.AsyncClient, database: Database
) -> None:
    high = "{stage: before, question: why, operator: greater_than_or_equal, value: 4}"
    low = "{stage: before, question: why, operator: less_than, value: 4}"
    match = f"{{by: {{rules: {{high: {high}, low: {low}}}}}, want: {{high: 1, low: 1}}}}"
    meeting = await open_study(gateway, database, study(match=match))

    for name, why in (("A", "5"), ("B", "7"), ("C", "no number"), ("D", "1")):
        await meeting.come(name, why)
    await meeting.look()

    assert await meeting.groups() == {"c1": ["A", "D"]}
    assert await meeting.ends() == {
        "A": "in_progress",
        "B": "in_progress",
        "C": "released",
        "D": "in_progress",
    }
