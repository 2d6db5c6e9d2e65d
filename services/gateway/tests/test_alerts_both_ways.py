"""A participant asks for help, the lab sends a message to one participant, and an experimenter resolves the alert."""

from typing import Any

import pytest

from parley_lab.gateway.testing import Api, assert_described, following

pytestmark = pytest.mark.postgres


async def alerts(api: Api, experiment_id: str) -> list[dict[str, Any]]:
    listed = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/alerts")
    found: list[dict[str, Any]] = listed.json()["alerts"]
    return found


async def test_a_call_for_help_is_an_alert_until_someone_has_seen_to_it(api: Api) -> None:
    experiment_id = await api.running()
    ada = await api.join(experiment_id, "Ada")

    asked = [await api.participant(ada, "POST", "/v1/me/help", json={"text": "One"})]
    api.clock.advance(1)
    asked.append(await api.participant(ada, "POST", "/v1/me/help", json={"text": "Two"}))
    first, second = await alerts(api, experiment_id)
    resolved = [await api.experimenter("POST", f"/v1/alerts/{first['id']}/resolve") for _ in range(2)]
    after = await alerts(api, experiment_id)

    assert [one.status_code for one in asked] == [204, 204]
    assert [(one["type"], one["text"], one["member"]) for one in (first, second)] == [
        ("help", "One", "c1/m1"),
        ("help", "Two", "c1/m1"),
    ]
    assert resolved[0].json() == resolved[1].json()
    assert resolved[0].json()["resolved_by"] == "Ellen"
    assert [(one["resolved_at"] is None, one["resolved_by"]) for one in after] == [(False, "Ellen"), (True, None)]


async def test_what_the_lab_says_is_on_the_page_of_one_participant_until_it_is_read(api: Api, address: str) -> None:
    experiment_id = await api.running()
    ada, ben = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Ben")
    member, _ = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")).json()["members"]

    sent = await api.experimenter("POST", f"/v1/members/{member['id']}/message", json={"text": "Hello Ada"})
    mine = (await api.participant(ada, "GET", "/v1/me")).json()["notices"]
    others = (await api.participant(ben, "GET", "/v1/me")).json()["notices"]
    stolen = await api.participant(ben, "POST", f"/v1/me/notices/{mine[0]['id']}/read")
    read = [await api.participant(ada, "POST", f"/v1/me/notices/{mine[0]['id']}/read") for _ in range(2)]
    afterwards = (await api.participant(ada, "GET", "/v1/me")).json()["notices"]

    assert (sent.status_code, [one["text"] for one in mine], others) == (200, ["Hello Ada"], [])
    assert (stolen.status_code, [one.status_code for one in read], afterwards) == (404, [204, 204], [])
    async with following(address, ada) as events:
        async for event in events:
            assert_described(event, is_member=True)
            if event["type"] == "member.messaged":
                break
    await api.participant(ada, "POST", "/v1/me/leave")
    async with following(address, ben) as events:
        async for event in events:
            assert event["type"] != "member.messaged"
            if event["type"] == "member.left":
                break


async def test_nothing_is_said_to_agents_or_empty_seats_and_nothing_by_strangers(api: Api) -> None:
    agent = {"id": "ann", "text": "A careful person"}
    seats = [{"open": True}, {"persona": "ann"}]
    experiment_id = await api.running(personas=[agent], cohorts=[{"seats": seats}])
    members = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")).json()["members"]

    refused = [
        await api.experimenter("POST", f"/v1/members/{one['id']}/message", json={"text": "Hi"}) for one in members
    ]
    unknown = await api.experimenter("POST", f"/v1/alerts/{members[0]['id']}/resolve")

    assert [(one.status_code, one.json()["reason"]) for one in refused] == [(409, "not_a_person")] * 2
    assert unknown.status_code == 404
