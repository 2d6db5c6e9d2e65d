"""The guest list of an experiment: who may join, and who of them came."""

import asyncio
from typing import Any, Final

import pytest
from alembic import command
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from parley_lab.experiments.retention import forget_people
from parley_lab.gateway.testing import Api
from parley_lab.members.person_ids import comparable, without_margins
from parley_lab.store import migrate

pytestmark = pytest.mark.postgres

FILE: Final[dict[str, Any]] = {
    "pace": "live",
    "stages": [
        {"id": "terms", "kind": "terms_of_service", "lines": ["Yes?"], "delete_when_declined": True},
        {"id": "end", "kind": "info", "lines": ["Hello"]},
    ],
    "cohorts": [{"seats": [{"open": True, "count": 4}]}],
}


async def put(api: Api, experiment_id: str, *guests: str) -> Any:
    return await api.experimenter("PUT", f"/v1/experiments/{experiment_id}/guests", json={"guests": guests})


async def take_list_away(api: Api, experiment_id: str) -> Any:
    return await api.experimenter("DELETE", f"/v1/experiments/{experiment_id}/guests")


async def has_list(api: Api, experiment_id: str) -> bool:
    found: bool = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/guests")).json()["has_list"]
    return found


async def listed(api: Api, experiment_id: str) -> dict[str, str | None]:
    """The state of each guest."""
    answer = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/guests")
    return {one["external_id"]: one["status"] for one in answer.json()["guests"]}


async def count_forgotten(api: Api, experiment_id: str) -> int:
    answer = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/guests")
    found: int = answer.json()["forgotten"]
    return found


async def come(api: Api, experiment_id: str, key: str, external_id: str | None) -> Any:
    found = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}")).json()
    body = {"join_key": key, "external_id": external_id}
    return await api.client.post(f"/v1/join/{found['join_code']}", json=body)


async def test_only_guests_join_and_the_list_says_who_came(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    stored = await put(api, experiment_id, "ada", "ben", " ada\u200b")

    came = await come(api, experiment_id, "browser-1", "ada")
    other = await come(api, experiment_id, "browser-2", "eve")
    without = await come(api, experiment_id, "browser-3", None)
    by_staff = await api.take_seat(experiment_id, external_id="eve")

    assert [one["external_id"] for one in stored.json()["guests"]] == ["ada", "ben"]
    assert came.status_code == 201
    refused = [(one.status_code, one.json()["reason"]) for one in (other, without, by_staff)]
    assert refused == [(409, "not_invited")] * 3
    assert await listed(api, experiment_id) == {"ada": "in_progress", "ben": None}


async def test_an_empty_list_invites_no_one_until_it_is_taken_away(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    before = await has_list(api, experiment_id)
    empty = await put(api, experiment_id)

    refused = [await come(api, experiment_id, f"browser-{n}", one) for n, one in enumerate(("ada", None))]
    taken = [await take_list_away(api, experiment_id) for _ in range(2)]
    came = await come(api, experiment_id, "browser-3", "ada")

    assert (before, empty.json()["has_list"], empty.json()["guests"]) == (False, True, [])
    assert [(one.status_code, one.json()["reason"]) for one in refused] == [(409, "not_invited")] * 2
    assert [one.status_code for one in taken] == [204, 204]
    assert not await has_list(api, experiment_id)
    assert came.status_code == 201


async def test_the_list_of_an_ended_experiment_is_not_taken_away(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    await put(api, experiment_id, "ada")
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/end")

    late = await take_list_away(api, experiment_id)

    assert (late.status_code, late.json()["reason"]) == (409, "not_running")
    assert await listed(api, experiment_id) == {"ada": None}


async def test_a_list_of_an_earlier_version_stays_closed_and_an_empty_one_survives_a_downgrade(
    api: Api, database_url: str
) -> None:
    empty, filled, open_to_all = [await api.running(**FILE) for _ in range(3)]
    await put(api, empty)
    await put(api, filled, "ada")

    await asyncio.to_thread(upgrade_again, database_url, "0027")
    experiments = (empty, filled, open_to_all)
    refused = [await come(api, one, f"browser-{n}", "eve") for n, one in enumerate(experiments)]

    assert [one.status_code for one in refused] == [409, 409, 201]
    assert [await has_list(api, one) for one in experiments] == [True, True, False]
    assert [await count_forgotten(api, one) for one in experiments] == [0, 0, 0]
    assert migrate.differences(database_url) == []


async def test_a_list_that_a_server_of_an_earlier_version_stored_is_one(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    await put(api, experiment_id, "ada")
    async with api.database.transaction() as session:
        await session.run(text("UPDATE experiments SET has_guest_list = false"), {})

    other = await come(api, experiment_id, "browser-1", "eve")

    assert (other.status_code, await has_list(api, experiment_id)) == (409, True)


async def test_one_id_is_one_person_whatever_surrounds_it(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    await put(api, experiment_id, "anna berg")

    ways = ("anna berg", "\u00a0anna berg ", "annaberg", "anna\u200bberg\ufeff")
    places = [await come(api, experiment_id, f"browser-{number}", way) for number, way in enumerate(ways)]
    await take_list_away(api, experiment_id)
    free = [await come(api, experiment_id, f"another-{n}", way) for n, way in enumerate(("eve", " eve\u200b\t"))]

    assert len({one.json()["member_id"] for one in places}) == 1
    assert len({one.json()["member_id"] for one in free}) == 1


async def test_a_person_is_found_by_their_id_whatever_surrounds_it(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    first = await come(api, experiment_id, "browser-1", "anna berg")

    same_browser = await come(api, experiment_id, "browser-1", "annaberg")
    other_browser = await come(api, experiment_id, "browser-2", "anna\u200bberg")
    by_staff = await api.take_seat(experiment_id, external_id=" annaberg")
    await put(api, experiment_id, "anna  berg", "ben")
    path = f"/v1/experiments/{experiment_id}/members"
    found = (await api.experimenter("GET", path, params={"external_id": "anna berg\ufeff"})).json()["members"]

    member_id = first.json()["member_id"]
    assert [one.json()["member_id"] for one in (same_browser, other_browser, by_staff)] == [member_id] * 3
    assert [one["id"] for one in found] == [member_id]
    assert await listed(api, experiment_id) == {"anna  berg": "in_progress", "ben": None}


async def test_a_person_who_declined_gets_their_end_again_whatever_surrounds_the_id(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    await put(api, experiment_id, "anna berg")
    anna = (await come(api, experiment_id, "browser-1", "annaberg")).json()
    await api.advance(anna["token"], "terms", {"accepted": False})

    again = await come(api, experiment_id, "browser-2", "anna\u00a0berg")

    assert again.json()["member_id"] == anna["member_id"]
    assert await listed(api, experiment_id) == {}


async def test_an_upgrade_stores_how_the_ids_of_members_compare(api: Api, database_url: str) -> None:
    experiment_id = await api.running(**FILE)
    ids = ["5f2b81c0", "anna berg", "\u00a0Zo\u00eb\u200bM"]
    for number, one in enumerate(ids):
        assert (await come(api, experiment_id, f"browser-{number}", one)).status_code == 201

    await asyncio.to_thread(upgrade_again, database_url, "0022")
    async with api.database.transaction() as session:
        found = await session.all(text("SELECT compared_id FROM members WHERE player = 'person' ORDER BY path"), {})

    assert [row.compared_id for row in found] == ["5f2b81c0", "annaberg", "Zo\u00ebM", None]
    assert migrate.differences(database_url) == []


def upgrade_again(url: str, revision: str) -> None:
    """Go back to a revision of the tables, and to the newest again."""
    with migrate._connect(url) as connection:
        command.downgrade(migrate._config(connection, migrate.OURS), revision)
        connection.commit()
    migrate.upgrade(url)


async def test_a_member_of_an_earlier_version_is_found_by_the_exact_id(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    ada = (await come(api, experiment_id, "browser-1", "ada")).json()
    async with api.database.transaction() as session:
        await session.run(text("UPDATE members SET compared_id = NULL"), {})

    again = await come(api, experiment_id, "browser-2", "ada")
    await put(api, experiment_id, "ada")

    assert again.json()["member_id"] == ada["member_id"]
    assert await listed(api, experiment_id) == {"ada": "in_progress"}


async def test_an_id_that_an_earlier_version_deleted_finds_no_member(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    await come(api, experiment_id, "browser-1", "ada")
    await put(api, experiment_id, "ada")
    async with api.database.transaction() as session:
        await session.run(text("UPDATE members SET external_id = NULL, join_key_hash = NULL"), {})

    path = f"/v1/experiments/{experiment_id}/members"
    found = (await api.experimenter("GET", path, params={"external_id": "ada"})).json()["members"]

    assert found == []
    assert await listed(api, experiment_id) == {"ada": None}


async def test_a_place_without_an_id_takes_the_id_with_which_its_person_comes_back(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    first = (await come(api, experiment_id, "browser-1", "ada")).json()
    async with api.database.transaction() as session:
        await session.run(text("UPDATE members SET external_id = NULL"), {})

    again = (await come(api, experiment_id, "browser-1", "anna berg")).json()
    elsewhere = (await come(api, experiment_id, "browser-2", "annaberg")).json()

    assert first["member_id"] == again["member_id"] == elsewhere["member_id"]


async def test_a_person_who_has_joined_keeps_the_place_without_being_on_the_list(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    first = await come(api, experiment_id, "browser-1", "ada")
    await put(api, experiment_id, "ben")

    again = await come(api, experiment_id, "browser-2", "ada")

    assert again.json()["member_id"] == first.json()["member_id"]


async def test_what_is_no_id_is_refused_with_its_place(api: Api) -> None:
    experiment_id = await api.running(**FILE)

    refused = await put(api, experiment_id, "ada", " \u200b", "{{%PROLIFIC_PID%}}")

    assert [one["where"] for one in refused.json()["problems"]] == ["guests[1]", "guests[2]"]
    assert await listed(api, experiment_id) == {}


async def test_the_list_goes_with_the_data_of_people(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    await put(api, experiment_id, "ada", "ben")
    ada = (await come(api, experiment_id, "browser-1", "ada")).json()
    await api.advance(ada["token"], "terms", {"accepted": False})
    declined = await listed(api, experiment_id)
    again = await come(api, experiment_id, "browser-2", "ada")

    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/end")
    late = await put(api, experiment_id, "eve")
    async with api.database.transaction() as session:
        (member,) = [again.json()["me"]["experiment_id"]]
        await forget_people(session, member, api.clock.now())

    assert declined == {"ben": None}
    assert again.json()["member_id"] == ada["member_id"]
    assert (late.status_code, late.json()["reason"]) == (409, "not_running")
    assert await listed(api, experiment_id) == {}


async def test_a_list_stays_one_when_the_data_of_its_last_guest_goes(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    await put(api, experiment_id, "ada", "ben")
    for number, name in enumerate(("ada", "ben")):
        token = (await come(api, experiment_id, f"browser-{number}", name)).json()["token"]
        await api.advance(token, "terms", {"accepted": False})

    others = [await come(api, experiment_id, f"another-{number}", one) for number, one in enumerate(("eve", "0", None))]
    async with api.database.transaction() as session:
        kept = await session.all(text("SELECT compared, external_id FROM guests ORDER BY place"), {})

    assert [(one.status_code, one.json().get("reason")) for one in others] == [(409, "not_invited")] * 3
    assert [(one.compared, one.external_id) for one in kept] == [(" 0", ""), (" 1", "")]
    assert await listed(api, experiment_id) == {}
    assert await count_forgotten(api, experiment_id) == 2
    await take_list_away(api, experiment_id)
    assert await count_forgotten(api, experiment_id) == 0
    assert (await come(api, experiment_id, "another-4", "eve")).status_code == 201


@given(st.text(), st.text(alphabet=" \t\u00a0\u200b\u200f\ufeff\u2060"), st.text(alphabet="\u200b \r\n"))
def test_what_surrounds_an_id_makes_no_difference(own: str, before: str, after: str) -> None:
    assert comparable(before + own + after) == comparable(own)
    assert without_margins(before + own + after) == without_margins(own)
    assert comparable(without_margins(own)) == comparable(own)
