"""The times that run for a participant, told with the time of the lab."""

from datetime import datetime
from typing import Any

import pytest

from parley_lab.gateway.testing import Api
from parley_lab.orchestrator.settling import fire_due_timers
from parley_lab.testing.rounds import rounds_for_info

pytestmark = pytest.mark.postgres

READ: dict[str, Any] = {"id": "read", "kind": "info", "lines": ["Hello"]}
TALK: dict[str, Any] = {"id": "talk", "kind": "group_chat", "time_limit_seconds": 300}
SEATS = [{"seats": [{"open": True}]}]


async def there(api: Api, *stages: dict[str, Any], **more: Any) -> tuple[str, str]:
    """The experiment, and the token of a person on its first stage."""
    experiment_id = await api.running(stages=list(stages), cohorts=SEATS, **more)
    return experiment_id, await api.join(experiment_id)


async def me(api: Api, token: str) -> Any:
    return (await api.participant(token, "GET", "/v1/me")).json()


async def left(api: Api, token: str) -> dict[tuple[str, str | None], float | None]:
    """The seconds that are left by the lab's own words, by purpose and stage; None: held."""
    told = await me(api, token)
    now = datetime.fromisoformat(told["now"])
    return {
        (one["purpose"], one["stage_id"]): one["ends_at"]
        and (datetime.fromisoformat(one["ends_at"]) - now).total_seconds()
        for one in told["timers"]
    }


async def test_a_stage_tells_from_when_and_until_when(api: Api) -> None:
    _, token = await there(api, {**READ, "stay": {"at_least_seconds": 20, "at_most_seconds": 60}})

    at_first = await left(api, token)
    api.clock.advance(15)
    later = await left(api, token)

    assert at_first == {("may_go_on", "read"): 20, ("stage", "read"): 60}
    assert later == {("may_go_on", "read"): 5, ("stage", "read"): 45}


async def test_who_looked_before_the_times_began_is_told_of_them(api: Api) -> None:
    experiment_id = await api.running(stages=[{**READ, "stay": {"at_most_seconds": 60}}], cohorts=SEATS)
    joined = await api.take_seat(experiment_id)
    token = joined.json()["token"]

    early = await me(api, token)
    await api.settle(experiment_id)
    later = await me(api, token)
    await api.settle(experiment_id)
    again = await me(api, token)

    assert (early["timers"], len(later["timers"])) == ([], 1)
    assert later["cursor"] != early["cursor"]
    assert again["cursor"] == later["cursor"]


async def test_the_times_of_a_stage_that_was_left_are_not_told(api: Api) -> None:
    experiment_id, token = await there(api, {**READ, "stay": {"at_most_seconds": 60}}, TALK)

    await api.advance(token, "read")
    await api.settle(experiment_id)

    assert await left(api, token) == {("conversation", "talk"): 300}


async def test_a_pause_holds_the_times_and_they_go_on_afterwards(api: Api) -> None:
    experiment_id, token = await there(api, {**READ, "stay": {"at_most_seconds": 60}})
    api.clock.advance(20)

    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/pause")
    api.clock.advance(1000)
    (held,) = (await me(api, token))["timers"]
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/resume")

    assert (held["ends_at"], held["left_ms"]) == (None, 40_000)
    assert await left(api, token) == {("stage", "read"): 40}


async def test_a_check_says_until_when_it_has_to_be_answered(api: Api) -> None:
    _, token = await there(api, READ)
    member_id = (await me(api, token))["member_id"]

    sent = await api.experimenter("POST", f"/v1/members/{member_id}/check", json={})

    assert sent.is_success, sent.text
    assert list(await left(api, token)) == [("check", None)]


async def test_what_is_asked_comes_with_its_form_and_the_time_that_ends_it(api: Api) -> None:
    with rounds_for_info():
        game = {**READ, "id": "game", "lines": ["2"], "stay": {"at_most_seconds": 60}}
        _, token = await there(api, game)

        told = await me(api, token)
        page = (await api.participant(token, "GET", "/v1/me/stages/game")).json()

    (ask,) = told["asks"]
    assert ask["form"] == page["forms"][0]["form"]
    assert [ask["ends_at"]] == [one["ends_at"] for one in told["timers"]]


LASTING: dict[str, Any] = {"id": "talk", "kind": "group_chat", "time_limit_seconds": 90, "minimum_seconds": 30}


@pytest.mark.parametrize("turn_taking", ["race", "round"])
async def test_a_conversation_tells_how_long_it_lasts_at_least_and_at_most(api: Api, turn_taking: str) -> None:
    experiment_id, token = await there(api, {**LASTING, "turn_taking": turn_taking}, READ)
    at_first = await left(api, token)
    api.clock.advance(10)

    said = {"text": "Hello", "client_message_id": "1"}
    await api.participant(token, "POST", f"/v1/me/threads/{await api.thread(token)}/messages", json=said)
    begun = await left(api, token)
    api.clock.advance(20)
    later = await left(api, token)
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/pause")
    api.clock.advance(100)
    held = {one["purpose"]: (one["ends_at"], one["left_ms"]) for one in (await me(api, token))["timers"]}
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/resume")
    api.clock.advance(10)

    assert at_first == {("conversation", "talk"): 90}
    assert begun == {("may_go_on", "talk"): 30, ("conversation", "talk"): 80}
    assert later == {("may_go_on", "talk"): 10, ("conversation", "talk"): 60}
    assert held == {"may_go_on": (None, 10_000), "conversation": (None, 60_000)}
    assert await left(api, token) == {("conversation", "talk"): 50}
    assert (await api.advance(token, "talk")).status_code == 200


async def test_at_its_end_a_time_is_told_no_more(api: Api) -> None:
    _, token = await there(api, {**READ, "stay": {"at_least_seconds": 20}})

    api.clock.advance(20)
    await fire_due_timers(api.database, api.clock.now())

    assert await left(api, token) == {}
