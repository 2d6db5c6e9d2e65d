"""The members of a group have names of their own: after a move, a choice, a join, and beside mediators."""

import asyncio
from typing import Any, Final

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import Api
from parley_lab.gateway.testing.moves import Study, a_study
from parley_lab.members.forgetting import forget

pytestmark = pytest.mark.postgres

TWO: Final[dict[str, Any]] = {
    "personas": [{"id": "guide", "profile": {"name": "Owl"}}],
    "stages": [
        {"id": "who", "kind": "profile", "set": "free"},
        {"id": "talk", "kind": "group_chat", "progress": {"wait_for_all": False}},
    ],
    "cohorts": [{"seats": [{"open": True, "count": 3}], "count": 2}],
}


async def names(study: Study) -> dict[str, tuple[str, str | None]]:
    rows = await study.rows("SELECT path, profile ->> 'name' AS name, own_name FROM members WHERE status <> 'expected'")
    return {row.path: (row.name, row.own_name) for row in rows}


async def choose(study: Study, **chosen: str) -> None:
    for name, choice in chosen.items():
        await study.go_on(name, "who", {"name": choice})


async def test_who_moves_to_a_group_with_an_owl_is_owl_2_there_and_an_owl_where_no_other_is(api: Api) -> None:
    study = await a_study(api, **TWO)
    await choose(study, Ada="Owl", Ann="Fox", Bob="\u041ewl")

    await study.move("Ada", "c2")
    there = await names(study)
    await study.say("Ada", "hello")
    thread = f"/v1/me/threads/{await study.thread('Bob')}/messages"
    heard = (await api.participant(study.tokens["Bob"], "GET", thread)).json()["messages"]
    page = (await api.participant(study.tokens["Ada"], "GET", "/v1/me/stages/who")).json()["view"]
    met = (await study.me("Bob"))["members"]
    await study.move("Ada", "c1")

    assert there["c1/m1"] == ("Owl 2", "Owl")
    assert [one["author"]["profile"]["name"] for one in heard if one["author"]] == ["Owl 2"]
    assert [one["profile"]["name"] for one in met] == ["Owl 2"]
    assert page["name"] == "Owl 2"
    assert (await names(study))["c1/m1"] == ("Owl", None)
    changes = await study.rows(
        "SELECT public FROM events WHERE type = 'member.profile_changed' AND cohort_id IN "
        "(SELECT id FROM cohorts WHERE path = 'c2') AND actor = 'c1/m1'"
    )
    assert [row.public["profile"]["name"] for row in changes] == ["Owl 2"]


async def test_of_two_who_choose_one_name_at_once_one_is_numbered(api: Api) -> None:
    study = await a_study(api, **TWO)

    advanced = await asyncio.gather(
        *(api.advance(study.tokens[name], "who", {"name": choice}) for name, choice in (("Ada", "Owl"), ("Ann", "OWL")))
    )

    assert {one.status_code for one in advanced} == {200}
    found = await names(study)
    assert {found["c1/m1"], found["c1/m2"]} in (
        {("Owl", None), ("OWL 2", "OWL")},
        {("Owl 2", "Owl"), ("OWL", None)},
    )


async def test_a_name_that_is_chosen_again_keeps_its_number(api: Api) -> None:
    again = [{"id": "who", "kind": "profile", "set": "free"}, {"id": "again", "kind": "profile", "set": "free"}]
    study = await a_study(api, **{**TWO, "stages": again})
    await choose(study, Ada="Owl", Ann="Owl")

    await study.go_on("Ann", "again", {"name": "Owl"})

    assert (await names(study))["c1/m2"] == ("Owl 2", "Owl")


async def test_who_joins_under_a_name_that_is_taken_is_numbered(api: Api) -> None:
    study = await a_study(api)

    joined = await api.take_seat(study.id, cohort_id=study.cohorts["c2"], profile={"name": "bob"})

    assert joined.json()["me"]["profile"]["name"] == "bob 2"


async def test_mediators_and_members_have_names_of_their_own(api: Api) -> None:
    study = await a_study(api, **TWO)
    await choose(study, Ada="Owl")

    body = {"persona": "guide", "kind": "mediator"}
    added = await api.experimenter("POST", f"/v1/cohorts/{study.cohorts['c1']}/members", json=body)
    await choose(study, Ann="owl")

    assert added.status_code == 201
    found = await names(study)
    assert (found["c1/med1"], found["c1/m2"]) == (("Owl 2", "Owl"), ("owl 3", "owl"))


async def test_a_name_that_shows_nothing_is_refused(api: Api) -> None:
    study = await a_study(api, **TWO)

    chosen = await api.advance(study.tokens["Ada"], "who", {"name": "\u3164"})
    joined = await api.take_seat(study.id, profile={"name": "\u200b\u200b"})

    assert (chosen.status_code, chosen.json()["problems"][0]["where"]) == (422, "name")
    assert joined.status_code == 422


async def test_who_is_forgotten_is_named_nowhere_and_the_other_owl_stays(api: Api) -> None:
    study = await a_study(api, **TWO)
    await choose(study, Ada="Owl", Bob="Owl")
    await study.move("Ada", "c2")
    await api.experimenter("POST", f"/v1/members/{study.ids['Ada']}/remove")
    async with api.database.transaction() as session:
        await session.run(text("UPDATE experiments SET status = 'ended', ended_at = now()"))

    async with api.database.transaction() as session:
        (ada,) = await session.all(text("SELECT id, path, profile FROM members WHERE path = 'c1/m1'"))
        await forget(session, ada.id, ada.path, ada.profile["name"])

    lines = await study.rows(
        "SELECT c.path, g.text FROM messages g JOIN threads t ON t.id = g.thread_id JOIN cohorts c "
        "ON c.id = t.cohort_id WHERE g.member_id IS NULL ORDER BY c.path, g.seq"
    )
    assert [(row.path, row.text) for row in lines if "Owl" in row.text] == []
    assert any("Participant 1" in row.text for row in lines if row.path == "c1")
    assert (await names(study))["c2/m1"] == ("Owl", None)
