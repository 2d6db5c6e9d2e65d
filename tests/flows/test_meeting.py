"""Groups of those who are there: each goes through the stages before alone, and meets the others at a stage."""

from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import httpx2
import pytest

from parley_lab.people.confirming import answer_of
from parley_lab.people.rooms import Lately, close_rooms
from parley_lab.people.waits import wait_from
from parley_lab.store.session import Database
from tests.flows.meeting import open_study, study, study_at_one_clock

pytestmark = pytest.mark.postgres


async def test_a_person_who_closed_the_page_is_passed_over_and_meets_others_once_back(
    gateway: httpx2.AsyncClient, database: Database
) -> None:
    meeting = await open_study(gateway, database, study(people=3))
    ghost = await meeting.come("A")
    await meeting.pass_time(30)
    b = await meeting.come("B")
    c = await meeting.come("C")
    await meeting.pass_time(1, b, c)
    early = await meeting.groups()

    d = await meeting.come("D")
    await meeting.pass_time(1, b, c, d)
    first = await meeting.groups()
    e = await meeting.come("E")
    f = await meeting.come("F")
    await meeting.pass_time(1, ghost, e, f)

    assert early == {}
    assert first == {"c1": ["B", "C", "D"]}
    assert await meeting.groups() == {"c1": ["B", "C", "D"], "c2": ["A", "E", "F"]}


async def test_a_group_has_its_agent_and_mediator_and_what_each_did_alone_stays_readable(
    gateway: httpx2.AsyncClient, database: Database
) -> None:
    meeting = await open_study(gateway, database, study())
    pia = await meeting.come("Pia")
    waiting = (await pia.get("/v1/me"))["waiting"]
    await meeting.come("Ben")
    told = await meeting.lab.rows("SELECT 1 AS one FROM cohort_stages WHERE stage_id = 'talk'")

    await meeting.look()

    me = await pia.get("/v1/me")
    assert (waiting["arrived"], waiting["expected"], waiting["missing"]) == (1, 2, 1)
    assert told == []
    assert sorted(one["profile"]["name"] for one in me["members"]) == ["Ada", "Ben", "Guide"]
    assert (await pia.get("/v1/me/stages/before"))["state"] == "done"
    (own,) = await meeting.lab.rows(
        "SELECT a.value FROM answers a JOIN members m ON m.id = a.member_id AND m.cohort_id = a.cohort_id "
        "WHERE a.stage_id = 'before' AND m.profile ->> 'name' = 'Pia'"
    )
    assert own.value == {"why": "As Pia thinks."}
    assert (await pia.get("/v1/me/stages/talk"))["state"] == "current"
    members = await meeting.lab.rows(
        "SELECT path, seat, position FROM members WHERE kind = 'participant' ORDER BY path"
    )
    assert [tuple(row) for row in members] == [("c1/m3", None, 1), ("w1/m1", 1, 1), ("w2/m1", 2, 1)]
    alone = await meeting.lab.rows("SELECT path, status FROM cohorts WHERE alone ORDER BY path")
    assert [tuple(row) for row in alone] == [("w1", "ended"), ("w2", "ended")]
    prompts = [row.prompt for row in await meeting.lab.calls()]
    assert not any("As Ben thinks." in str(prompt) for prompt in prompts)


@pytest.mark.parametrize(
    ("progress", "ends", "group"),
    [
        ("at_most_seconds: 100", ["released", "in_progress"], {}),
        ("at_most_seconds: 100, then: go_on, min_participants: 2", ["in_progress", "in_progress"], {"c1": ["A", "B"]}),
        ("at_most_seconds: 100, then: go_on, min_participants: 4", ["released", "in_progress"], {}),
        ("at_most_seconds: 100, then: fill, fill_with: ada", ["in_progress", "in_progress"], {"c1": ["A", "B"]}),
    ],
)
async def test_those_left_over_come_to_what_the_file_says(
    gateway: httpx2.AsyncClient, database: Database, progress: str, ends: list[str], group: dict[str, list[str]]
) -> None:
    meeting = await open_study(gateway, database, study(people=3, progress=progress))
    a = await meeting.come("A")
    await meeting.pass_time(60, a)
    b = await meeting.come("B")

    await meeting.pass_time(39, a, b)
    before = await meeting.ends()
    await meeting.pass_time(1, a, b)

    assert before == {"A": "in_progress", "B": "in_progress"}
    assert await meeting.ends() == dict(zip("AB", ends, strict=True))
    assert await meeting.groups() == group
    agents = await meeting.lab.rows("SELECT 1 AS one FROM members WHERE player = 'agent' AND kind = 'participant'")
    assert len(agents) == (0 if not group else 2 if "fill" in progress else 1)


async def test_the_study_is_full_with_its_last_group_and_ends_with_it(
    gateway: httpx2.AsyncClient, database: Database
) -> None:
    meeting = await open_study(gateway, database, study(count=1))
    people = [await meeting.come("A"), await meeting.come("B")]
    full = await gateway.post(f"/v1/experiments/{meeting.experiment_id}/join", json={})
    await meeting.look()
    await meeting.pass_time(61)
    running = await meeting.lab.rows("SELECT status FROM experiments")

    for person in people:
        await person.advance("talk")
        await person.advance("after")

    assert (full.status_code, full.json()["reason"]) == (409, "full")
    assert [row.status for row in running] == ["running"]
    assert [row.status for row in await meeting.lab.rows("SELECT status FROM experiments")] == ["ended"]


BY: Final = "by: {stage: before, question: why}"


async def test_people_meet_those_who_fit_by_their_answers_and_the_arm_is_that_of_the_composition(
    gateway: httpx2.AsyncClient, database: Database
) -> None:
    kinds = "[{id: alike, want: {con: 2}, treatment: b}, {id: mixed, want: {pro: 1, con: {least: 0, most: 2}}}]"
    arms = "treatments: [{id: a}, {id: b}]"
    match = f"{{{BY}, kinds: {kinds}}}"
    meeting = await open_study(gateway, database, study(people=2, arms=arms, match=match))
    for name, why in (("A", "con"), ("B", "neither"), ("C", "con")):
        await meeting.come(name, why)

    await meeting.look()

    assert await meeting.groups() == {"c1": ["A", "C"]}
    assert (await meeting.ends())["B"] == "released"
    (made,) = await meeting.lab.rows(
        "SELECT x.kind, c.name, c.treatment_id FROM matches x JOIN cohorts c ON c.id = x.cohort_id"
    )
    assert tuple(made) == ("alike", "alike-1", "b")


async def test_one_for_and_one_against_meet_an_agent_that_fits_the_first_of_them(
    gateway: httpx2.AsyncClient, database: Database
) -> None:
    match = f"{{{BY}, want: {{pro: 1, con: 1}}}}"
    meeting = await open_study(gateway, database, study(match=match, fitting="{con: eva}"))
    for name, why in (("A", "con"), ("B", "con"), ("C", "pro"), ("D", "pro")):
        await meeting.come(name, why)

    await meeting.look()

    assert await meeting.groups() == {"c1": ["A", "C"], "c2": ["B", "D"]}
    agents = await meeting.lab.rows(
        "SELECT profile ->> 'name' AS name FROM members WHERE player = 'agent' AND kind = 'participant'"
    )
    assert [row.name for row in agents] == ["Eva", "Eva"]


async def test_the_last_who_are_left_do_not_wait_for_people_who_cannot_come(
    gateway: httpx2.AsyncClient, database: Database
) -> None:
    match = f"{{{BY}, values: different}}"
    meeting = await open_study(gateway, database, study(count=1, match=match))
    await meeting.come("A", "con")
    await meeting.come("B", "con")
    await meeting.look()
    waiting = await meeting.ends()

    async with meeting.lab.database.transaction() as session:
        await close_rooms(session, UUID(meeting.experiment_id), meeting.lab.clock.now())
    await meeting.look()

    assert waiting == {"A": "in_progress", "B": "in_progress"}
    assert await meeting.ends() == {"A": "released", "B": "released"}


async def test_who_does_not_confirm_is_passed_over_until_they_do(database: Database) -> None:
    async with study_at_one_clock(database, study(match="{confirm_seconds: 20}")) as meeting:
        a, b = await meeting.come("A"), await meeting.come("B")
        await meeting.look()
        asked = (await a.get("/v1/me"))["waiting"]
        await b.post("/v1/me/confirm", {})
        early = await meeting.groups()

        await meeting.pass_time(21, a, b)
        missed = (await a.get("/v1/me"))["waiting"]
        c = await meeting.come("C")
        await meeting.look()
        await c.post("/v1/me/confirm", {})
        await meeting.look()
        first = await meeting.groups()
        await a.post("/v1/me/confirm", {})
        d = await meeting.come("D")
        await meeting.seen(a)
        await meeting.look()
        await d.post("/v1/me/confirm", {})
        await meeting.look()

        assert (early, asked["is_passed_over"], missed["is_passed_over"]) == ({}, False, True)
        assert (asked["confirm_until"] is not None, missed["confirm_until"]) == (True, None)
        assert first == {"c1": ["B", "C"]}
        assert await meeting.groups() == {"c1": ["B", "C"], "c2": ["A", "D"]}


@pytest.mark.parametrize(("seconds", "counts_for"), [(20, 90), (60, 90), (600, 630)])
def test_a_confirmation_counts_longer_than_the_others_have_for_theirs(seconds: float, counts_for: float) -> None:
    asked_at = datetime(2030, 1, 1, tzinfo=UTC)

    answers = [
        answer_of(asked_at, asked_at, seconds, asked_at + timedelta(seconds=counts_for + more)) for more in (-1, 0)
    ]

    assert answers == ["confirmed", "not_asked"]


async def test_those_who_wait_read_their_place_and_how_long_it_may_take(database: Database) -> None:
    async with study_at_one_clock(database, study(people=4)) as meeting:
        people = []
        for name in "ABC":
            people.append(await meeting.come(name))
            await meeting.pass_time(30, *people)

        told = [(await one.get("/v1/me"))["waiting"] for one in people]

        assert [one["position"] for one in told] == [1, 2, 3]
        assert [one["arrived"] for one in told] == [3, 3, 3]
        assert [one["wait_seconds"] for one in told] == [30, 30, 30]


@pytest.mark.parametrize(
    ("position", "there", "people", "came", "seconds"),
    [(1, 1, 4, 2, None), (1, 1, 4, 3, 300), (4, 4, 4, 0, 0), (5, 5, 4, 10, 90), (9, 11, 4, 10, 30)],
)
def test_the_wait_is_that_until_the_own_group_is_complete(
    position: int, there: int, people: int, came: int, seconds: int | None
) -> None:
    assert wait_from(position, there, people, Lately(came, 300)) == seconds


async def test_people_meet_strangers_in_each_round(database: Database) -> None:
    document = study(count=9, at="[talk, again]", match="{never_again: true}")
    async with study_at_one_clock(database, document) as meeting:
        people = {name: await meeting.come(name) for name in "ABCD"}
        await meeting.look()
        first = await meeting.groups()
        await meeting.pass_time(61, *people.values())
        for person in people.values():
            await person.advance("talk")
        for name in "AB":
            await people[name].advance("after")
        await meeting.seen(*people.values())
        await meeting.look()
        await meeting.seen(*people.values())
        waiting = (await people["A"].get("/v1/me"))["waiting"]
        early = await meeting.groups()

        for name in "CD":
            await people[name].advance("after")
        await meeting.seen(*people.values())
        await meeting.look()
        await meeting.seen(*people.values())
        await meeting.look()
        second = await meeting.groups()
        looked_back = (await people["A"].get("/v1/me/stages/talk"))["state"]
        await meeting.pass_time(61, *people.values())
        for person in people.values():
            await person.advance("again")
            await person.advance("end")

        assert first == {"c1": ["A", "B"], "c2": ["C", "D"]}
        assert (waiting["arrived"], waiting["missing"]) == (2, 0)
        assert early == {"c2": ["C", "D"]}
        assert second == {"c1.2": ["A", "C"], "c2.2": ["B", "D"]}
        assert looked_back == "done"
        assert set((await meeting.ends()).values()) == {"completed"}
        agents = await meeting.lab.rows("SELECT status FROM members WHERE player = 'agent' AND kind = 'participant'")
        assert [row.status for row in agents] == ["completed"] * 4
        assert await meeting.lab.rows("SELECT path FROM cohorts WHERE status = 'running'") == []
