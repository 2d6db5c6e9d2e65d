"""Joining by a link."""

import asyncio
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import Api, following
from parley_lab.store import keys

pytestmark = pytest.mark.postgres

FILE: dict[str, Any] = {
    "stages": [{"id": "welcome", "kind": "info", "lines": ["Hello"]}],
    "cohorts": [{"seats": [{"open": True}]}, {"seats": [{"open": True}]}],
}


async def code_of(api: Api, experiment_id: str) -> str:
    found = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}")).json()
    return str(found["join_code"])


async def taken(api: Api, code: str, key: str, **more: Any) -> tuple[int, dict[str, Any]]:
    answer = await api.client.post(f"/v1/join/{code}", json={"join_key": key, **more})
    return answer.status_code, answer.json()


async def test_a_link_says_what_it_leads_to(api: Api) -> None:
    page = {"title": "Buses", "text": "Ten minutes."}
    looks = {"accent": "#7a1f5c", "words": {"go_on": "Next"}}
    code = await code_of(api, await api.running(**FILE, join=page, language="de-CH", appearance=looks))

    answer = await api.client.get(f"/v1/join/{code}")

    assert answer.json() == {
        "code": code,
        **page,
        "external_id_parameter": "PROLIFIC_PID",
        "parameters": [],
        "language": "de-CH",
        "state": "open",
        "may_get_free": False,
        "completion": None,
        "record": None,
        "appearance": {
            "logo": None,
            "logo_text": "",
            "accent": {"light": "#7a1f5c", "on_light": "#ffffff", "dark": "#ba8baa", "on_dark": "#101214"},
            "words": {"go_on": "Next"},
        },
    }


async def test_a_link_that_leads_nowhere_is_not_found(api: Api) -> None:
    looked = await api.client.get("/v1/join/none")
    status, _ = await taken(api, "none", "some-key-1")

    assert (looked.status_code, status) == (404, 404)


async def test_the_id_of_an_experiment_lets_no_one_in_without_a_key_that_may_write(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    async with api.database.transaction() as session:
        reader = await keys.create_key(session, "Ellen", api.clock.now(), scopes=["read"])
    address = f"/v1/experiments/{experiment_id}/join"

    without = await api.client.post(address, json={})
    reading = await api.client.post(address, json={}, headers={"Authorization": f"Bearer {reader}"})
    async with api.database.transaction() as session:
        people = await session.one(text("SELECT count(*) AS n FROM members WHERE joined_at IS NOT NULL"))
        deeds = await session.one(text("SELECT count(*) AS n FROM deeds WHERE deed LIKE '%/join'"))
    by_link, _ = await taken(api, await code_of(api, experiment_id), "my-own-key")
    by_key = await api.take_seat(experiment_id)

    assert (without.status_code, without.json()["code"]) == (401, "not_signed_in")
    assert (reading.status_code, reading.json()["code"]) == (403, "not_allowed")
    assert (people.n, deeds.n) == (0, 0)
    assert (by_link, by_key.status_code) == (201, 201)


async def test_the_same_key_gives_the_same_place_and_ends_the_old_token(api: Api) -> None:
    code = await code_of(api, await api.running(**FILE))

    _, first = await taken(api, code, "my-own-key")
    _, again = await taken(api, code, "my-own-key")
    _, other = await taken(api, code, "another-key")

    assert first["member_id"] == again["member_id"] != other["member_id"]
    old = await api.client.get("/v1/me", headers={"Authorization": f"Bearer {first['token']}"})
    assert old.status_code == 401


async def test_one_key_used_at_once_takes_one_place(api: Api) -> None:
    code = await code_of(api, await api.running(**FILE))

    found = await asyncio.gather(*(taken(api, code, "lost-answer") for _ in range(5)))

    assert {status for status, _ in found} == {201}
    assert len({joined["member_id"] for _, joined in found}) == 1


async def test_an_external_id_gives_the_place_back_to_another_browser(api: Api) -> None:
    code = await code_of(api, await api.running(**FILE))

    _, first = await taken(api, code, "first-browser", external_id="p-1")
    _, again = await taken(api, code, "other-browser", external_id="p-1")

    assert first["member_id"] == again["member_id"]


async def test_a_place_that_is_given_back_by_its_key_ends_the_stream_of_the_old_token_alone(
    api: Api, address: str
) -> None:
    code = await code_of(api, await api.running())
    await taken(api, code, "first-browser", external_id="p-1")
    _, other = await taken(api, code, "other-browser", external_id="p-1")

    async with following(address, other["token"]) as events:
        _, back = await taken(api, code, "first-browser", external_id="p-1")
        assert [event["type"] async for event in events if event["type"].startswith("member.")] == []

    async with following(address, back["token"]) as events:
        await api.advance(back["token"], "welcome")
        async for event in events:
            if event["type"] == "member.moved":
                break
        else:
            pytest.fail("the new stream has ended")


@pytest.mark.parametrize("act", ["check", "pause"])
async def test_the_stream_of_the_old_token_ends_in_every_state(api: Api, address: str, act: str) -> None:
    code = await code_of(api, await api.running())
    await taken(api, code, "first-browser", external_id="p-1")
    _, other = await taken(api, code, "other-browser", external_id="p-1")
    await api.experimenter("POST", f"/v1/members/{other['member_id']}/{act}", json={})

    async with following(address, other["token"]) as events, asyncio.timeout(20):
        await taken(api, code, "first-browser", external_id="p-1")
        assert [event["type"] async for event in events if event["type"] == "member.moved"] == []


async def test_another_person_at_the_same_browser_gets_a_place_of_their_own(api: Api) -> None:
    code = await code_of(api, await api.running(**FILE))

    _, first = await taken(api, code, "one-browser", external_id="p-1")
    status, second = await taken(api, code, "one-browser", external_id="p-2")
    _, back = await taken(api, code, "one-browser", external_id="p-1")
    _, again = await taken(api, code, "one-browser")

    assert (status, second["member_id"] == first["member_id"]) == (201, False)
    assert back["member_id"] == first["member_id"]
    assert again["member_id"] == first["member_id"]


async def ids(api: Api) -> list[str | None]:
    """The external ids of those who have joined."""
    statement = text("SELECT external_id FROM members WHERE joined_at IS NOT NULL ORDER BY path")
    async with api.database.read() as session:
        return [row.external_id for row in await session.all(statement)]


async def test_who_joined_without_an_id_has_the_one_with_which_they_come_back(api: Api) -> None:
    code = await code_of(api, await api.running(**FILE))

    _, first = await taken(api, code, "my-own-key")
    _, named = await taken(api, code, "my-own-key", external_id="p-1")
    _, elsewhere = await taken(api, code, "other-browser", external_id="p-1")

    assert first["member_id"] == named["member_id"] == elsewhere["member_id"]
    assert await ids(api) == ["p-1"]


async def test_an_id_leads_to_its_own_place_in_a_browser_with_a_place_without_an_id(api: Api) -> None:
    code = await code_of(api, await api.running(**FILE))

    _, tried_out = await taken(api, code, "my-own-key")
    _, elsewhere = await taken(api, code, "other-browser", external_id="p-1")
    _, here = await taken(api, code, "my-own-key", external_id="p-1")

    assert here["member_id"] == elsewhere["member_id"] != tried_out["member_id"]
    assert await ids(api) == [None, "p-1"]


async def test_one_id_in_several_browsers_at_once_is_one_place(api: Api) -> None:
    for _ in range(20):
        code = await code_of(api, await api.running(**FILE))
        await taken(api, code, "my-own-key")

        browsers = ["my-own-key", "other-browser", "third-browser"]
        found = await asyncio.gather(*(taken(api, code, key, external_id="p-1") for key in browsers))

        assert [status for status, _ in found] == [201] * 3, found
        assert len({joined["member_id"] for _, joined in found}) == 1


async def test_who_comes_back_by_an_id_in_another_browser_keeps_the_key_of_the_first(api: Api) -> None:
    code = await code_of(api, await api.running(**FILE))

    _, first = await taken(api, code, "first-browser", external_id="p-1")
    await taken(api, code, "other-browser", external_id="p-1")
    _, again = await taken(api, code, "first-browser")

    assert again["member_id"] == first["member_id"]


async def test_where_the_file_demands_the_old_token_a_link_takes_it(api: Api) -> None:
    code = await code_of(api, await api.running(**FILE, rejoin="token"))

    _, first = await taken(api, code, "first-browser", external_id="p-1")
    without, refused = await taken(api, code, "other-browser", external_id="p-1")
    status, again = await taken(api, code, "other-browser", external_id="p-1", token=first["token"])

    assert (without, "send the token" in refused["detail"]) == (409, True)
    assert (status, again["member_id"]) == (201, first["member_id"])


async def test_a_link_to_a_cohort_leads_to_it_alone(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    cohorts = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"]

    _, joined = await taken(api, cohorts[1]["join_code"], "some-key-1")
    full = await api.client.get(f"/v1/join/{cohorts[1]['join_code']}")
    refused, problem = await taken(api, cohorts[1]["join_code"], "some-key-2")

    assert joined["me"]["cohort_id"] == cohorts[1]["id"]
    assert full.json()["state"] == "full"
    assert (refused, problem["reason"]) == (409, "full")


async def test_the_key_does_not_open_a_seat_that_an_agent_has_taken_over(api: Api) -> None:
    code = await code_of(api, await api.running(**FILE))
    _, first = await taken(api, code, "my-own-key")
    taken_over = text(
        "UPDATE members SET player = 'agent', agent_config = '{}', provider = 'mock', token_hash = NULL WHERE id = :id"
    )
    async with api.database.transaction() as session:
        await session.run(taken_over, {"id": first["member_id"]})

    status, problem = await taken(api, code, "my-own-key")

    assert (status, problem["reason"]) == (409, "place_taken")


@pytest.mark.parametrize(
    "typed",
    [
        "aB3-x_Y7kLmN0pQr.",
        "aB3-x_Y7kLmN0pQr,",
        "(aB3-x_Y7kLmN0pQr)",
        "“aB3-x_Y7kLmN0pQr”!",
        " aB3-x_ Y7kLmN0pQr\u200b\t",
        "AB3-X_Y7KLMN0PQR",
        "aB3\u2013x_Y7kLmN0pQr",
        "\uff41\uff22\uff13\uff0d\uff58\uff3f\uff39\uff17\uff4b\uff2c\uff4d\uff2e\uff10\uff50\uff31\uff52\u3002",
    ],
)
async def test_a_code_is_found_as_people_type_it(api: Api, typed: str) -> None:
    await rename(api, await api.running(**FILE), "aB3-x_Y7kLmN0pQr")

    page = await api.client.get(f"/v1/join/{quote(typed)}")
    status, _ = await taken(api, quote(typed), "my-own-key")

    assert (page.status_code, status) == (200, 201)
    assert page.json()["code"] == "aB3-x_Y7kLmN0pQr"


async def test_the_code_of_a_group_is_found_as_people_type_it(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    async with api.database.transaction() as session:
        await session.run(text("UPDATE cohorts SET join_code = 'gRoup-' || path"), {})

    page = await api.client.get("/v1/join/GROUP-C2.")

    assert page.json()["code"] == "gRoup-c2"
    assert (await code_of(api, experiment_id)) != page.json()["code"]


async def test_a_code_that_may_mean_two_leads_nowhere_unless_it_is_exact(api: Api) -> None:
    for code in ("Twin", "tWIN"):
        await rename(api, await api.running(**FILE), code)

    exact = await api.client.get("/v1/join/tWIN")
    inexact = [await api.client.get(f"/v1/join/{one}") for one in ("twin", "...", "%20", "twi", "Twins")]

    assert exact.json()["code"] == "tWIN"
    assert [one.status_code for one in inexact] == [404] * 5


async def rename(api: Api, experiment_id: str, code: str) -> None:
    async with api.database.transaction() as session:
        known = {"id": experiment_id, "code": code}
        await session.run(text("UPDATE experiments SET join_code = :code WHERE id = CAST(:id AS uuid)"), known)
