"""What an experimenter sees of all their experiments: counts, order, filters, and a stream of what changes."""

from typing import Any
from uuid import UUID

import pytest

from parley_lab.gateway.testing import FILE, Api
from parley_lab.gateway.testing.streams import listening, until
from parley_lab.members.alerts import raise_alert, resolve_alerts
from parley_lab.store import keys
from parley_lab.testing.statements import counted

pytestmark = pytest.mark.postgres


async def listed(api: Api, **params: Any) -> list[dict[str, Any]]:
    answer = await api.experimenter("GET", "/v1/experiments", params=params)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["experiments"]
    return found


async def stored(api: Api, name: str, **changes: Any) -> str:
    api.clock.advance(1)
    created = await api.experimenter("POST", "/v1/experiments", json={**FILE, "name": name})
    experiment_id: str = created.json()["id"]
    if changes:
        changed = await api.experimenter("PATCH", f"/v1/experiments/{experiment_id}", json=changes)
        assert changed.status_code == 200, changed.text
    return experiment_id


async def test_an_experiment_is_listed_with_how_far_it_is(api: Api) -> None:
    experiment_id = await api.running(cohorts=[{"seats": [{"open": True, "count": 3}]}])
    token = await api.to_the_talk(experiment_id, "Ada")
    await api.join(experiment_id, "Bo")
    async with api.database.transaction() as session:
        await raise_alert(
            session, experiment_id=UUID(experiment_id), path="a", alert_type="help", text="Help", now=api.clock.now()
        )

    (waits,) = await listed(api)
    await api.participant(token, "POST", "/v1/me/leave", json={})
    (left,) = await listed(api)

    none = dict.fromkeys(("agents", "gone", "through", "out"), 0)
    assert waits["counts"] == {**none, "people": 2, "waiting": 1, "open_seats": 1}
    assert left["counts"] == {**none, "people": 1, "waiting": 0, "open_seats": 1, "out": 1}
    assert (waits["messages"], waits["model_calls"], waits["cost"], waits["alerts_open"]) == (0, 0, None, 1)


async def test_groups_of_people_who_are_there_have_open_seats_until_people_are_on_their_way(api: Api) -> None:
    groups = {"made": "when_together", "at": "talk", "count": 2, "seats": [{"open": True, "count": 3}]}
    experiment_id = await api.running(cohorts=[groups])

    (empty,) = await listed(api)
    await api.join(experiment_id, "Ada")
    (joined,) = await listed(api)
    board = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/board")
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/end")
    (ended,) = await listed(api)

    assert [one["counts"]["open_seats"] for one in (empty, joined, ended)] == [6, 5, 0]
    assert board.json()["experiment"]["counts"]["open_seats"] == 5


async def test_a_list_is_one_statement_beside_the_key(api: Api) -> None:
    for name in "abc":
        await stored(api, name)

    with counted() as statements:
        assert len(await listed(api)) == 3

    assert len(statements) <= 2


async def test_experiments_are_found_by_study_archive_and_name(api: Api) -> None:
    await stored(api, "b", study="One")
    await stored(api, "A", study="Two", is_archived=True)
    await stored(api, "c", study="Two")

    assert [one["name"] for one in await listed(api, study="Two")] == ["c", "A"]
    assert [one["name"] for one in await listed(api, is_archived=False)] == ["c", "b"]
    assert [one["name"] for one in await listed(api, is_archived=True)] == ["A"]
    assert [one["name"] for one in await listed(api, sort="name")] == ["A", "b", "c"]
    assert [one["name"] for one in await listed(api, sort="oldest")] == ["b", "A", "c"]
    assert len(await listed(api, is_test=False)) == 3


@pytest.mark.parametrize("sort", ["newest", "oldest", "name"])
async def test_pages_in_any_order_miss_and_repeat_nothing(api: Api, sort: str) -> None:
    for name in ("Öl", "same", "same", "Same", "a.b"):
        await stored(api, name)
    whole = await listed(api, sort=sort)

    pages: list[dict[str, Any]] = []
    after: dict[str, str] = {}
    while True:
        page = (await api.experimenter("GET", "/v1/experiments", params={"sort": sort, "limit": 2, **after})).json()
        pages += page["experiments"]
        if page["next_after"] is None:
            break
        after = {"after": page["next_after"]}

    assert pages == whole


async def test_a_cursor_of_another_order_is_refused(api: Api) -> None:
    for after, sort in (("???", "name"), ("bm90.nothing", "newest"), ("a.b", "name")):
        refused = await api.experimenter("GET", "/v1/experiments", params={"sort": sort, "after": after})
        assert refused.status_code == 422


async def test_a_started_experiment_is_listed_under_another_name_and_its_file_stays(api: Api) -> None:
    experiment_id = await api.running()
    address = f"/v1/experiments/{experiment_id}"

    changed = await api.experimenter("PATCH", address, json={"name": "Pilot", "study": "Buses", "is_archived": True})
    back = await api.experimenter("PATCH", address, json={"is_archived": False})
    refused = await api.experimenter("PATCH", address, json={"model_mode": "real", "name": "Other"})

    assert [changed.json()[field] for field in ("name", "study", "is_archived")] == ["Pilot", "Buses", True]
    assert (back.json()["name"], back.json()["is_archived"]) == ("Pilot", False)
    assert refused.json()["reason"] == "not_a_draft"
    assert (await api.experimenter("GET", address)).json()["name"] == "Pilot"
    assert (await api.experimenter("GET", f"{address}/file")).json()["name"] == FILE["name"]


async def test_one_stream_says_what_changes_in_any_experiment_of_mine(api: Api, address: str) -> None:
    experiment_id = await api.running()
    async with api.database.transaction() as session:
        stranger = await keys.create_key(session, "Stranger", api.clock.now())

    async with (
        listening(address, "/v1/stream", api.key) as mine,
        listening(address, "/v1/stream", stranger) as of_stranger,
    ):
        await api.join(experiment_id)
        joined = (await until(mine, "experiment.changed"))[-1].data["data"]
        async with api.database.transaction() as session:
            await raise_alert(
                session,
                experiment_id=UUID(experiment_id),
                path="a",
                alert_type="help",
                text="Help",
                now=api.clock.now(),
            )
        raised = (await until(mine, "alert.raised"))[-1].data["data"]
        async with api.database.transaction() as session:
            await resolve_alerts(session, "help", api.clock.now())
        resolved = (await until(mine, "alert.resolved"))[-1].data["data"]
        await api.experimenter("DELETE", f"/v1/experiments/{experiment_id}")
        deleted = (await until(mine, "experiment.deleted"))[-1].data["data"]
        headers = {"Authorization": f"Bearer {stranger}"}
        await api.client.post("/v1/experiments", json=FILE, headers=headers)
        first_of_stranger = await anext(of_stranger)

    assert (joined["id"], joined["counts"]["people"]) == (experiment_id, 1)
    assert (raised["experiment_id"], raised["alert"]["text"]) == (experiment_id, "Help")
    assert resolved["alert"]["resolved_at"] is not None
    assert deleted == {"id": experiment_id}
    assert first_of_stranger.data["data"]["name"] == FILE["name"]
    assert first_of_stranger.data["data"]["id"] != experiment_id


async def test_open_alerts_alone_are_listed_with_ids(api: Api) -> None:
    experiment_id = await api.running()
    token = await api.join(experiment_id)
    await api.participant(token, "POST", "/v1/me/help", json={"text": "Help"})
    me = (await api.participant(token, "GET", "/v1/me")).json()

    (found,) = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/alerts?is_open=true")).json()["alerts"]
    over = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/alerts?is_open=false")).json()["alerts"]

    assert (found["member_id"], found["cohort_id"], found["stage_id"]) == (me["member_id"], me["cohort_id"], "welcome")
    assert over == []
