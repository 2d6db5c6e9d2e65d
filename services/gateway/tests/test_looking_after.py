"""How experimenters look after single members over REST: pausing, resuming, checking and removing them."""

from datetime import timedelta
from typing import Any, Final

import pytest
from sqlalchemy import text

from parley_lab.contracts.lives import STATES, TRANSITIONS, Command
from parley_lab.gateway.testing import ANSWER, Api, assert_described, following
from parley_lab.orchestrator.settling import fire_due_timers

pytestmark = pytest.mark.postgres

REMOVAL: Final = {"reason": "for the test"}
PRIVATE: Final = [{"id": "talk", "kind": "private_chat", "time_limit_seconds": 60}]
GUIDED: Final[dict[str, Any]] = {
    "personas": [{"id": "guide", "text": "A guide"}],
    "cohorts": [{"seats": [{"open": True}], "mediators": ["guide"]}],
    "stages": PRIVATE,
}


async def members(api: Api, experiment_id: str) -> list[dict[str, Any]]:
    listed = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")
    found: list[dict[str, Any]] = listed.json()["members"]
    return found


async def do(api: Api, member: dict[str, Any], what: str, **body: Any) -> Any:
    json = REMOVAL if what == "remove" else body or None
    return await api.experimenter("POST", f"/v1/members/{member['id']}/{what}", json=json)


async def rows(api: Api, query: str) -> list[Any]:
    async with api.database.transaction() as session:
        return list(await session.all(text(query)))


async def me(api: Api, token: str) -> dict[str, Any]:
    found: dict[str, Any] = (await api.participant(token, "GET", "/v1/me")).json()
    return found


async def test_a_paused_person_is_shown_their_page_and_can_do_nothing_until_they_go_on(api: Api) -> None:
    experiment_id = await api.running()
    ada = await api.to_the_talk(experiment_id, "Ada")
    ben = await api.to_the_talk(experiment_id, "Ben")
    thread_id = await api.thread(ada)
    member, _ = await members(api, experiment_id)
    words = {"text": "hello", "client_message_id": "1"}

    paused = await do(api, member, "pause")
    again = await do(api, member, "pause")
    refused = [
        await api.participant(ada, "POST", f"/v1/me/threads/{thread_id}/messages", json=words),
        await api.advance(ada, "talk"),
    ]
    other = await api.participant(ben, "POST", f"/v1/me/threads/{thread_id}/messages", json=words)
    shown = await api.participant(ada, "GET", "/v1/me/stages/talk")
    resumed = await do(api, member, "resume")
    once_more = await do(api, member, "resume")
    said = await api.participant(ada, "POST", f"/v1/me/threads/{thread_id}/messages", json=words)

    assert (paused.json()["status"], paused.json()["paused_at"]) == ("paused", again.json()["paused_at"])
    assert [(one.status_code, one.json()["reason"]) for one in refused] == [(409, "paused")] * 2
    assert (other.status_code, said.status_code) == (201, 201)
    assert shown.json()["thread"]["id"] == thread_id
    assert (resumed.json()["status"], once_more.json()["paused_at"]) == ("in_progress", None)
    told = await rows(api, "SELECT type, actor FROM events WHERE type IN ('member.paused', 'member.resumed')")
    assert [(row.type, row.actor) for row in told] == [("member.paused", "Ellen"), ("member.resumed", "Ellen")]


async def test_only_the_one_who_is_paused_or_checked_is_told(api: Api, address: str) -> None:
    experiment_id = await api.running(cohorts=[{"seats": [{"open": True, "count": 3}]}])
    ada, ben, _ = [await api.join(experiment_id, name) for name in ("Ada", "Ben", "Cyd")]
    member, _, last = await members(api, experiment_id)

    for what in ("pause", "resume", "check"):
        assert (await do(api, member, what)).status_code == 200
    await api.participant(ada, "POST", "/v1/me/check")
    await do(api, last, "remove")

    own = ["member.paused", "member.resumed", "member.checked", "member.check_passed"]
    assert await _types(address, ada) == [*own, "member.left"]
    assert await _types(address, ben) == ["member.left"]


async def test_the_page_of_who_is_paused_says_so(api: Api) -> None:
    experiment_id = await api.running(cohorts=[{"seats": [{"open": True, "count": 2}]}])
    ada, ben = [await api.join(experiment_id, name) for name in ("Ada", "Ben")]
    member = (await members(api, experiment_id))[0]

    told = []
    for what in ("pause", "resume"):
        await do(api, member, what)
        told.append([(await api.participant(one, "GET", "/v1/me")).json()["is_paused"] for one in (ada, ben)])

    assert told == [[True, False], [False, False]]


async def _types(address: str, token: str) -> list[str]:
    """What a stream tells of members, up to the first who is out."""
    found: list[str] = []
    async with following(address, token) as events:
        async for event in events:
            assert_described(event, is_member=True)
            if event["type"].startswith("member."):
                found.append(event["type"])
            if event["type"] == "member.left":
                break
    return found


async def test_who_waits_goes_on_when_the_one_they_wait_for_is_paused(api: Api) -> None:
    stages: list[dict[str, Any]] = [{"id": name, "kind": "info", "lines": ["Hi"]} for name in ("one", "two")]
    stages[1]["progress"] = {"wait_for_all": True}
    experiment_id = await api.running(stages=stages)
    ada, ben = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Ben")
    await api.advance(ada, "one")
    await api.settle(experiment_id)
    before = (await api.participant(ada, "GET", "/v1/me/stages/two")).json()["state"]

    _, member = await members(api, experiment_id)
    await do(api, member, "pause")
    await api.settle(experiment_id)
    after = (await api.participant(ada, "GET", "/v1/me/stages/two")).json()["state"]
    await do(api, member, "resume")
    late = await api.advance(ben, "one")

    assert (before, after) == ("waiting", "current")
    assert late.json()["page"]["state"] == "current"


@pytest.mark.parametrize("pauses_around", [False, True])
async def test_the_timer_of_a_paused_member_has_as_long_to_go_as_it_had(api: Api, pauses_around: bool) -> None:
    experiment_id = await api.running(**GUIDED)
    await api.join(experiment_id)
    member = next(one for one in await members(api, experiment_id) if one["kind"] == "participant")
    timers = "SELECT state, due_at, remaining_ms FROM timers WHERE purpose = 'time_limit'"
    api.clock.advance(20)

    await do(api, member, "pause")
    (held,) = await rows(api, timers)
    if pauses_around:
        await api.experimenter("POST", f"/v1/experiments/{experiment_id}/pause")
        refused = await do(api, member, "resume")
        assert (refused.status_code, refused.json()["reason"]) == (409, "paused")
    api.clock.advance(3600)
    if pauses_around:
        await api.experimenter("POST", f"/v1/experiments/{experiment_id}/resume")
    (still,) = await rows(api, timers)
    await fire_due_timers(api.database, api.clock.now())
    await do(api, member, "resume")
    (armed,) = await rows(api, timers)
    (thread,) = await rows(api, "SELECT held, paused_ms, ended_at FROM threads")

    assert held == still == ("held", None, 40_000)
    assert (armed.state, armed.due_at - api.clock.now()) == ("armed", timedelta(seconds=40))
    assert thread == (False, 3_600_000, None)


async def test_the_private_conversation_of_someone_removed_in_a_pause_is_held_no_more(api: Api) -> None:
    experiment_id = await api.running(**GUIDED)
    await api.join(experiment_id)
    member = next(one for one in await members(api, experiment_id) if one["kind"] == "participant")

    await do(api, member, "pause")
    removed = await do(api, member, "remove")
    await api.settle(experiment_id)

    assert (removed.json()["status"], removed.json()["paused_at"]) == ("removed", None)
    assert [row.held for row in await rows(api, "SELECT held FROM threads")] == [False]
    assert [row.status for row in await rows(api, "SELECT status FROM cohorts")] == ["ended"]


async def test_a_check_is_answered_in_time_and_nothing_else_is_taken_before(api: Api) -> None:
    experiment_id = await api.running(attention_checks={"seconds": 30})
    ada = await api.join(experiment_id)
    member, _ = await members(api, experiment_id)

    sent = await do(api, member, "check", text="Hello?")
    twice = await do(api, member, "check")
    asked = await me(api, ada)
    refused = await api.advance(ada, "welcome")
    api.clock.advance(29)
    passed = await api.participant(ada, "POST", "/v1/me/check")
    again = await api.participant(ada, "POST", "/v1/me/check")
    api.clock.advance(60)
    await fire_due_timers(api.database, api.clock.now())
    went_on = await api.advance(ada, "welcome")

    assert (sent.json()["status"], twice.status_code) == ("attention_check", 200)
    assert asked["check"]["text"] == "Hello?"
    assert asked["check"]["due_at"] is not None
    assert (refused.status_code, refused.json()["reason"]) == (409, "attention_check")
    assert (passed.json()["status"], passed.json()["check"], again.status_code) == ("in_progress", None, 200)
    assert went_on.status_code == 200
    (check,) = await rows(api, "SELECT number, sent_by, outcome FROM attention_checks")
    assert check == (1, "Ellen", "passed")


@pytest.mark.parametrize(("then", "status"), [("remove", "attention_failed"), ("alert", "attention_check")])
async def test_a_missed_check_ends_a_part_or_tells_the_experimenter(api: Api, then: str, status: str) -> None:
    experiment_id = await api.running(attention_checks={"seconds": 30, "then": then})
    ada = await api.join(experiment_id)
    member, _ = await members(api, experiment_id)
    await do(api, member, "check")

    api.clock.advance(29.9)
    early = await fire_due_timers(api.database, api.clock.now())
    api.clock.advance(0.2)
    fired = [await fire_due_timers(api.database, api.clock.now()) for _ in range(2)]
    late = await api.participant(ada, "POST", "/v1/me/check")

    assert (early, fired) == (0, [1, 0])
    alerts = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/alerts")).json()["alerts"]
    assert [(one["type"], one["member"]) for one in alerts] == [("attention_missed", "c1/m1")]
    if then == "remove":
        assert (await me(api, ada))["status"] == status
        assert (late.status_code, late.json()["reason"]) == (409, "not_in_progress")
        assert [row.outcome for row in await rows(api, "SELECT outcome FROM attention_checks")] == ["missed"]
    else:
        assert late.json()["status"] == "in_progress"


async def test_checks_of_a_schedule_come_again_and_again_and_wait_while_the_person_is_paused(api: Api) -> None:
    experiment_id = await api.running(attention_checks={"every_seconds": 100, "seconds": 30})
    ada = await api.join(experiment_id)
    member, _ = await members(api, experiment_id)

    async def status_after(seconds: float) -> str:
        api.clock.advance(seconds)
        await fire_due_timers(api.database, api.clock.now())
        found: str = (await me(api, ada))["status"]
        return found

    found = [await status_after(99), await status_after(1)]
    await api.participant(ada, "POST", "/v1/me/check")
    found.append(await status_after(99))
    await do(api, member, "pause")
    found.append(await status_after(1000))
    await do(api, member, "resume")
    found += [await status_after(0.9), await status_after(0.2), await status_after(31)]

    assert found == [
        "in_progress", "attention_check", "in_progress", "paused", "in_progress", "attention_check", "attention_failed",
    ]  # fmt: skip


async def test_someone_removed_in_a_check_has_failed_it(api: Api) -> None:
    experiment_id = await api.running()
    await api.join(experiment_id)
    member, _ = await members(api, experiment_id)
    await do(api, member, "check")

    removed = await do(api, member, "remove")

    assert (removed.json()["status"], removed.json()["status_reason"]) == ("attention_failed", "for the test")


async def test_a_pause_of_a_member_takes_an_answer_no_more(api: Api) -> None:
    experiment_id = await api.running()
    ada = await api.join(experiment_id)
    await api.advance(ada, "welcome")
    member, _ = await members(api, experiment_id)

    await do(api, member, "pause")
    refused = await api.advance(ada, "before", ANSWER)
    await do(api, member, "resume")
    taken = await api.advance(ada, "before", ANSWER)

    assert (refused.json()["reason"], taken.status_code) == ("paused", 200)


ROUTES: Final[dict[str, Command]] = {"pause": "pause", "resume": "resume", "check": "check", "remove": "remove"}


@pytest.mark.parametrize("what", ROUTES)
async def test_every_command_over_rest_finds_every_state_and_is_done_or_refused(api: Api, what: str) -> None:
    experiment_id = await api.running()
    await api.join(experiment_id)
    member, _ = await members(api, experiment_id)

    for state in STATES:
        await rows(
            api,
            "UPDATE members SET version = version + 1, paused_at = CASE WHEN "  # noqa: S608 - a constant of ours
            f"'{state}' = 'paused' THEN now() END, status = '{state}' WHERE path = 'c1/m1' RETURNING id",
        )
        answer = await do(api, member, what)
        table = TRANSITIONS[ROUTES[what]]
        if state in table:
            assert (answer.status_code, answer.json()["status"]) == (200, table[state]), state
        else:
            assert (answer.status_code, answer.json()["code"]) == (409, "conflict"), state
            assert answer.json()["reason"] in {state, "not_joined", "not_in_progress"}


async def test_a_check_sent_by_hand_begins_the_time_of_the_schedule_anew(api: Api) -> None:
    experiment_id = await api.running(attention_checks={"every_seconds": 100, "seconds": 30})
    ada = await api.join(experiment_id)
    member, _ = await members(api, experiment_id)
    api.clock.advance(50)
    await do(api, member, "check")
    await api.participant(ada, "POST", "/v1/me/check")

    found = []
    for seconds in (99, 1):
        api.clock.advance(seconds)
        await fire_due_timers(api.database, api.clock.now())
        found.append((await me(api, ada))["status"])

    assert found == ["in_progress", "attention_check"]
