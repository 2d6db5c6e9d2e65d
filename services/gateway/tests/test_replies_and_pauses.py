"""Replies that are being made or typed wait through the pause of a member and of the experiment."""

from datetime import timedelta
from typing import Any, Final

import pytest
from sqlalchemy import text

from parley_lab.drafts.due_drafts import due_threads
from parley_lab.gateway.testing import Api

pytestmark = pytest.mark.postgres

ALONE_WITH_A_GUIDE: Final[dict[str, Any]] = {
    "personas": [{"id": "guide", "text": "You answer questions.", "profile": {"name": "Guide"}}],
    "stages": [{"id": "talk", "kind": "private_chat"}],
    "cohorts": [{"seats": [{"open": True}], "mediators": ["guide"]}],
}
SAID: Final = {"text": "Hello.", "client_message_id": "1"}
WANTED: Final = "SELECT count(*) AS n FROM outbox WHERE type = 'draft.wanted'"
DUE: Final = "SELECT due_at FROM drafts WHERE state = 'ready'"


async def asked_about_a_message(api: Api) -> tuple[str, str]:
    """The ids of a running experiment and of its person, whose message a mediator is asked about."""
    experiment_id = await api.running(**ALONE_WITH_A_GUIDE)
    token = await api.join(experiment_id)
    me = (await api.participant(token, "GET", "/v1/me")).json()
    thread = (await api.participant(token, "GET", "/v1/me/stages/talk")).json()["thread"]
    said = await api.participant(token, "POST", f"/v1/me/threads/{thread['id']}/messages", json=SAID)
    assert said.status_code == 201, said.text
    await api.settle(experiment_id)
    return experiment_id, me["member_id"]


async def run(api: Api, statement: str, **params: Any) -> None:
    async with api.database.transaction() as session:
        await session.run(text(statement), params)


async def one(api: Api, statement: str) -> Any:
    async with api.database.read() as session:
        return (await session.one(text(statement)))[0]


async def type_until(api: Api, seconds: float) -> None:
    """The mediator's reply is there and is typed for so long."""
    due_at = api.clock.now() + timedelta(seconds=seconds)
    await run(api, "UPDATE drafts SET state = 'ready', due_at = :due_at", due_at=due_at)


async def pause(api: Api, member_id: str, act: str = "pause") -> None:
    answer = await api.experimenter("POST", f"/v1/members/{member_id}/{act}")
    assert answer.status_code == 200, answer.text


async def test_a_mediator_is_asked_again_once_the_person_goes_on(api: Api) -> None:
    _, member_id = await asked_about_a_message(api)
    await pause(api, member_id)
    await run(api, "DELETE FROM outbox")

    await pause(api, member_id, "resume")

    assert await one(api, WANTED) == 1


async def test_a_reply_that_a_mediator_types_waits_for_the_person(api: Api) -> None:
    _, member_id = await asked_about_a_message(api)
    await type_until(api, 60)
    await pause(api, member_id)
    api.clock.advance(3600)

    async with api.database.read() as session:
        assert await due_threads(session, api.clock.now()) == {}
    await pause(api, member_id, "resume")

    assert await one(api, DUE) == api.clock.now() + timedelta(seconds=60)


async def test_a_pause_of_the_experiment_within_the_pause_of_a_member_counts_once(api: Api) -> None:
    experiment_id, member_id = await asked_about_a_message(api)
    await type_until(api, 300)
    await pause(api, member_id)
    api.clock.advance(60)
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/pause")
    api.clock.advance(3600)
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/resume")
    api.clock.advance(60)

    await pause(api, member_id, "resume")

    assert await one(api, DUE) == api.clock.now() + timedelta(seconds=300)
