"""Pausing, resuming, ending and deleting an experiment over REST, and what people are told meanwhile."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, get_args
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.answers.asking import open_asks
from parley_lab.contracts.experiment import PauseReason
from parley_lab.drafts import called_keys
from parley_lab.experiments import pausing
from parley_lab.experiments.runs import seat_of
from parley_lab.gateway.testing import ANSWER, FILE, Api
from parley_lab.kinds import PAGE, Ask
from parley_lab.members.alerts import raise_alert, resolve_alerts
from parley_lab.members.standings import lock_standing
from parley_lab.store import keys

pytestmark = pytest.mark.postgres


async def change(api: Api, experiment_id: str, what: str) -> dict[str, Any]:
    response = await api.experimenter("POST", f"/v1/experiments/{experiment_id}/{what}")
    assert response.status_code == 200, response.text
    changed: dict[str, Any] = response.json()
    return changed


async def rows(api: Api, query: str) -> list[Any]:
    async with api.database.transaction() as session:
        return list(await session.all(text(query)))


async def say(api: Api, token: str, thread_id: str, words: str) -> Any:
    body = {"text": words, "client_message_id": words}
    return await api.participant(token, "POST", f"/v1/me/threads/{thread_id}/messages", json=body)


async def in_talk(api: Api) -> tuple[str, str, str, str]:
    """A running experiment, two people in its conversation, and the conversation."""
    experiment_id = await api.running()
    ada, ben = await api.to_the_talk(experiment_id, "Ada"), await api.to_the_talk(experiment_id, "Ben")
    return experiment_id, ada, ben, await api.thread(ada)


async def test_what_people_send_to_a_paused_experiment_is_refused_and_taken_after_it_is_resumed(api: Api) -> None:
    experiment_id, ada, ben, thread_id = await in_talk(api)
    message_id = (await say(api, ben, thread_id, "hello")).json()["id"]

    paused = await change(api, experiment_id, "pause")
    again = await change(api, experiment_id, "pause")
    refused = [
        await say(api, ada, thread_id, "too late"),
        await api.advance(ada, "talk"),
        await api.take_seat(experiment_id),
        await api.participant(ada, "PUT", f"/v1/me/messages/{message_id}/reactions/heart"),
    ]
    repeated = await say(api, ben, thread_id, "hello")
    me = (await api.participant(ada, "GET", "/v1/me")).json()
    resumed = await change(api, experiment_id, "resume")
    taken = await say(api, ada, thread_id, "too late")

    assert (paused["status"], paused["pause_reason"]) == ("paused", "requested")
    assert again["paused_at"] == paused["paused_at"] is not None
    assert [(one.status_code, one.json().get("reason")) for one in refused] == [(409, "paused")] * 4
    assert repeated.json()["id"] == message_id, "the stored message is returned in a pause, too"
    assert me["is_paused"]
    assert (resumed["status"], resumed["paused_at"]) == ("running", None)
    assert taken.status_code == 201
    assert not (await api.participant(ada, "GET", "/v1/me")).json()["is_paused"]


async def test_an_answer_in_a_pause_is_refused_and_the_page_stays(api: Api) -> None:
    experiment_id = await api.running()
    token = await api.join(experiment_id)
    await api.advance(token, "welcome")
    await change(api, experiment_id, "pause")

    refused = await api.advance(token, "before", ANSWER)
    page = (await api.participant(token, "GET", "/v1/me/stages/before")).json()
    await change(api, experiment_id, "resume")
    taken = await api.advance(token, "before", ANSWER)

    assert refused.json()["reason"] == "paused"
    assert page["state"] == "current"
    assert taken.status_code == 200


async def test_a_timer_that_was_paused_has_as_long_to_go_as_it_had(api: Api) -> None:
    stages = [{"id": "talk", "kind": "group_chat", "time_limit_seconds": 60}]
    experiment_id = await api.running(stages=stages)
    ada, ben = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Ben")
    thread_id = await api.thread(ada)
    api.clock.advance(20)

    await change(api, experiment_id, "pause")
    (held,) = await rows(api, "SELECT state, due_at, remaining_ms FROM timers")
    api.clock.advance(3600)
    (still,) = await rows(api, "SELECT state, due_at, remaining_ms FROM timers")
    await change(api, experiment_id, "resume")
    said = (await say(api, ben, thread_id, "after the pause")).json()
    (armed,) = await rows(api, "SELECT state, due_at, remaining_ms FROM timers")

    assert held == still == ("held", None, 40_000)
    assert (armed.state, armed.due_at - api.clock.now()) == ("armed", timedelta(seconds=40))
    assert said["elapsed_ms"] == 20_000, "the pause is no time of the conversation"


async def test_who_leaves_in_a_pause_is_out_and_their_goodbye_is_said_after_it(api: Api) -> None:
    experiment_id, ada, ben, thread_id = await in_talk(api)
    await change(api, experiment_id, "pause")

    left = await api.participant(ada, "POST", "/v1/me/leave")
    in_the_pause = (await api.participant(ben, "GET", f"/v1/me/threads/{thread_id}/messages")).json()["messages"]
    await change(api, experiment_id, "resume")
    await api.settle(experiment_id)
    after_it = (await api.participant(ben, "GET", f"/v1/me/threads/{thread_id}/messages")).json()["messages"]

    assert left.json()["status"] == "left"
    assert in_the_pause == []
    assert [message["text"] for message in after_it] == ["Ada has left the chat."]


async def test_an_experiment_is_ended_with_what_there_is(api: Api) -> None:
    experiment_id, ada, ben, thread_id = await in_talk(api)
    await say(api, ben, thread_id, "so far")

    ended = await change(api, experiment_id, "end")
    again = await change(api, experiment_id, "end")
    refused = await say(api, ada, thread_id, "one more")
    me = (await api.participant(ada, "GET", "/v1/me")).json()
    export = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export")
    not_again = await api.experimenter("POST", f"/v1/experiments/{experiment_id}/resume")

    assert ended["status"] == again["status"] == "ended"
    assert ended["progress"]["members_by_status"] == {"removed": 2}
    assert refused.json()["reason"] == "thread_ended"
    assert (me["status"], me["status_reason"]) == ("removed", "experiment_ended")
    assert export.status_code == 200
    assert (not_again.status_code, not_again.json()["reason"]) == (409, "ended")
    assert await rows(api, "SELECT status, ended_at IS NULL FROM cohorts") == [("ended", False)]
    assert await rows(api, "SELECT end_reason FROM threads") == [("experiment_ended",)]
    assert [row.text for row in await rows(api, "SELECT text FROM messages ORDER BY seq")] == ["so far"]


async def test_a_paused_experiment_can_be_ended(api: Api) -> None:
    experiment_id, *_ = await in_talk(api)
    await change(api, experiment_id, "pause")

    ended = await change(api, experiment_id, "end")

    assert (ended["status"], ended["paused_at"], ended["pause_reason"]) == ("ended", None, None)
    assert await rows(api, "SELECT held FROM threads") == [(False,)]


@pytest.mark.parametrize("reason", get_args(PauseReason))
async def test_whatever_an_experiment_is_paused_for_is_told(api: Api, reason: PauseReason) -> None:
    experiment_id = await api.running()
    async with api.database.transaction() as session:
        await pausing.pause(session, UUID(experiment_id), api.clock.now(), reason=reason)

    one = await api.experimenter("GET", f"/v1/experiments/{experiment_id}")
    listed = await api.experimenter("GET", "/v1/experiments")

    assert one.json()["pause_reason"] == listed.json()["experiments"][0]["pause_reason"] == reason


async def test_an_experiment_tells_of_the_paused_keys_that_its_answers_wait_for(api: Api) -> None:
    agents = {
        "stages": [FILE["stages"][1]],
        "personas": [{"id": "ada"}],
        "cohorts": [{"seats": [{"persona": "ada"}]}],
    }
    experiment_id, other = await api.running(**agents), await api.running(**agents)
    since = api.clock.now()
    async with api.database.transaction() as session:
        gate = await called_keys.locked_gate(session, "openai", is_tried=True)
        refused = replace(gate, paused_at=since, fault="auth_error", reason="HTTP 401: no", asked="c1/m1")
        await called_keys.keep(session, refused)
        member_id = (await seat_of(session, UUID(experiment_id), "c1/m1")).id
        standing = await lock_standing(session, member_id)
        open_asks(session, standing, [Ask(member_id, PAGE, "page")], since)
        await session.run(text("UPDATE drafts SET waits_for = 'openai'"))

    waiting = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}")).json()
    not_waiting = (await api.experimenter("GET", f"/v1/experiments/{other}")).json()

    (key,) = waiting["paused_keys"]
    assert (key["key"], key["reason"], key["asked"], key["answers"]) == ("openai", "HTTP 401: no", "c1/m1", 1)
    assert key["paused_at"] == since.isoformat().replace("+00:00", "Z")
    assert not_waiting["paused_keys"] == []


async def test_alerts_come_in_pages_and_say_what_they_are_about_and_whether_it_is_over(api: Api) -> None:
    experiment_id, other = await api.running(), await api.running()
    async with api.database.transaction() as session:
        member = await lock_standing(session, (await seat_of(session, UUID(experiment_id), "c1/m2")).id)
    for number in range(3):
        async with api.database.transaction() as session:
            await raise_alert(
                session,
                experiment_id=UUID(experiment_id),
                path=f"alert {number}",
                alert_type="model_failed",
                text=f"Number {number}",
                now=api.clock.now(),
                cohort_id=member.cohort_id if number else None,
                member_id=member.member.id if number else None,
            )
        if number:
            api.clock.advance(1)
    async with api.database.transaction() as session:
        await resolve_alerts(session, "model_failed", api.clock.now(), path="alert 1")

    address = f"/v1/experiments/{experiment_id}/alerts"
    first = (await api.experimenter("GET", f"{address}?limit=2")).json()
    second = (await api.experimenter("GET", f"{address}?limit=2&after={first['next_after']}")).json()
    of_the_other = (await api.experimenter("GET", f"/v1/experiments/{other}/alerts")).json()

    found = [*first["alerts"], *second["alerts"]]
    assert (len(first["alerts"]), second["next_after"]) == (2, None)
    assert {alert["text"] for alert in found} == {"Number 0", "Number 1", "Number 2"}
    assert second["alerts"][0]["text"] == "Number 2"
    assert {alert["text"]: (alert["cohort"], alert["member"]) for alert in found} == {
        "Number 0": (None, None),
        "Number 1": ("c1", "c1/m2"),
        "Number 2": ("c1", "c1/m2"),
    }
    assert [alert["text"] for alert in found if alert["resolved_at"]] == ["Number 1"]
    assert of_the_other == {"alerts": [], "next_after": None}


async def test_no_one_reads_the_alerts_of_someone_else(api: Api) -> None:
    experiment_id = await api.running()
    async with api.database.transaction() as session:
        key = await keys.create_key(session, "Somebody else", api.clock.now())

    refused = await api.participant(key, "GET", f"/v1/experiments/{experiment_id}/alerts")
    no_cursor = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/alerts?after=x")

    assert refused.status_code == 404
    assert (no_cursor.status_code, no_cursor.json()["problems"][0]["where"]) == (422, "after")


async def test_the_alert_of_spent_calls_is_over_when_the_experiment_goes_on(api: Api) -> None:
    experiment_id = await api.running()
    async with api.database.transaction() as session:
        now = api.clock.now()
        await pausing.pause(session, UUID(experiment_id), now, reason="calls_spent")
        for alert_type in ("calls_spent", "model_failed"):
            await raise_alert(
                session,
                experiment_id=UUID(experiment_id),
                path=alert_type,
                alert_type=alert_type,
                text=alert_type,
                now=now,
            )

    await change(api, experiment_id, "resume")
    alerts = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/alerts")).json()["alerts"]

    assert [alert["type"] for alert in alerts if alert["resolved_at"]] == ["calls_spent"]


@pytest.mark.parametrize("what", ["pause", "resume", "end"])
async def test_a_draft_can_only_be_started_or_deleted(api: Api, what: str) -> None:
    experiment_id = (await api.experimenter("POST", "/v1/experiments", json=_SMALL)).json()["id"]

    refused = await api.experimenter("POST", f"/v1/experiments/{experiment_id}/{what}")
    deleted = await api.experimenter("DELETE", f"/v1/experiments/{experiment_id}")

    assert (refused.status_code, refused.json()["reason"]) == (409, "not_started")
    assert deleted.status_code == 204


_SMALL = {
    "parley": 1,
    "name": "Small",
    "stages": [{"id": "welcome", "kind": "info", "lines": ["Hello"]}],
    "cohorts": [{"seats": [{"open": True}]}],
}


async def test_deleting_removes_every_row_of_the_experiment_and_none_of_another(api: Api) -> None:
    other, _, _, _ = await in_talk(api)
    counted = await counts(api)
    experiment_id, ada, ben, thread_id = await in_talk(api)
    said = (await say(api, ben, thread_id, "gone soon")).json()
    await api.participant(ada, "PUT", f"/v1/me/messages/{said['id']}/reactions/heart")

    deleted = await api.experimenter("DELETE", f"/v1/experiments/{experiment_id}")
    again = await api.experimenter("DELETE", f"/v1/experiments/{experiment_id}")

    assert (deleted.status_code, again.status_code) == (204, 404)
    assert (await api.experimenter("GET", f"/v1/experiments/{experiment_id}")).status_code == 404
    assert (await api.participant(ada, "GET", "/v1/me")).status_code == 401
    # What experimenters did stays known: that they deleted it, too.
    assert {**await counts(api), "deeds": 0} == {**counted, "deeds": 0}
    assert (await api.experimenter("GET", f"/v1/experiments/{other}")).json()["status"] == "running"


async def counts(api: Api) -> dict[str, int]:
    """The number of rows about an experiment, by table."""
    tables = [
        row.name
        for row in await rows(
            api,
            """
            SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
                AND relname NOT IN
                    ('outbox', 'alembic_version', 'lab', 'api_keys', 'experimenters', 'workers', 'gateways')
            ORDER BY relname
            """,
        )
    ]
    assert {"experiments", "members", "drafts", "model_calls", "events"} <= {*tables}
    return {name: (await rows(api, f"SELECT count(*) AS n FROM {name}"))[0].n for name in tables}  # noqa: S608


async def test_no_one_touches_the_experiment_of_someone_else(api: Api) -> None:
    experiment_id = await api.running()
    mine, api.key = api.key, "parley_not_a_key_of_anybody"

    refused = [
        await api.experimenter("POST", f"/v1/experiments/{experiment_id}/{what}") for what in ("pause", "resume", "end")
    ]
    refused.append(await api.experimenter("DELETE", f"/v1/experiments/{experiment_id}"))
    api.key = mine

    assert [one.status_code for one in refused] == [401] * 4
    assert (await api.experimenter("GET", f"/v1/experiments/{experiment_id}")).json()["status"] == "running"


async def test_who_failed_is_asked_again_and_a_limit_of_calls_is_kept(api: Api) -> None:
    experiment_id = await api.running()
    limit = f"/v1/experiments/{experiment_id}/max-calls"

    no_one = await change(api, experiment_id, "retry-failed")
    set_once = await api.experimenter("PUT", limit, json={"calls": 7})
    refused = await api.experimenter("PUT", limit, json={"calls": 0})
    foreign = await api.client.post(f"/v1/experiments/{experiment_id}/retry-failed")

    assert no_one == {"members": 0, "asks": 0}
    assert set_once.json() == {"calls": 7, "made": 0}
    assert (refused.status_code, foreign.status_code) == (422, 401)


async def test_an_ended_experiment_of_real_models_is_not_begun_again_where_they_are_refused(api: Api) -> None:
    document = {
        "parley": 1,
        "name": "Paid",
        "stages": [{"id": "page", "kind": "survey", "questions": [{"id": "q", "kind": "text", "title": "Why"}]}],
        "personas": [{"id": "ann", "profile": {"name": "Ann"}, "model": {"provider": "openai", "model": "any"}}],
        "cohorts": [{"seats": [{"persona": "ann"}]}],
    }
    created = await api.experimenter("POST", "/v1/experiments", json=document)
    experiment_id = created.json()["id"]
    await change(api, experiment_id, "start")
    async with api.database.transaction() as session:
        await session.run(text("UPDATE members SET status = 'failed'"))
        await session.run(text("UPDATE experiments SET status = 'ended', model_mode = 'real'"))

    refused = await api.experimenter("POST", f"/v1/experiments/{experiment_id}/retry-failed")

    assert refused.status_code == 409
    assert refused.json()["reason"] == "real_models_refused"
    assert (await api.experimenter("GET", f"/v1/experiments/{experiment_id}")).json()["status"] == "ended"
