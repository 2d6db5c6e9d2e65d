"""Groups of those who are there: each goes through the stages before alone, and meets the others at a stage."""

import httpx2
import pytest

from parley_lab.store.session import Database
from tests.flows.meeting import open_study, study

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
