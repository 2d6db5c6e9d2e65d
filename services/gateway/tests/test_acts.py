"""Acts on many members have an outcome for each; Continue acts as if the time was up; each act is a deed."""

from collections import Counter
from typing import Any, Final
from uuid import UUID, uuid4

import httpx2
import pytest

from parley_lab.base.errors import Unavailable
from parley_lab.bus.in_process import InProcessBus
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.gateway.testing import Api
from parley_lab.members.standing import Standing
from parley_lab.people import holding, notices
from parley_lab.store import keys
from parley_lab.store.session import Session

pytestmark = pytest.mark.postgres


async def act(api: Api, experiment_id: str, what: str, **body: Any) -> httpx2.Response:
    return await api.experimenter("POST", f"/v1/experiments/{experiment_id}/members/{what}", json=body)


async def id_of(api: Api, token: str) -> str:
    found: str = (await api.participant(token, "GET", "/v1/me")).json()["member_id"]
    return found


async def go_on(api: Api, member_id: str, reason: str = "it hangs") -> httpx2.Response:
    return await api.experimenter("POST", f"/v1/members/{member_id}/advance", json={"reason": reason})


async def test_each_member_has_an_outcome_and_one_that_is_refused_keeps_no_other_from_it(api: Api) -> None:
    experiment_id, other = await api.running(), await api.running()
    ada = await id_of(api, await api.join(experiment_id, "Ada"))
    stranger = await id_of(api, await api.join(other))
    seats = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")).json()["members"]
    (empty,) = [one["id"] for one in seats if one["status"] == "expected"]
    unknown = str(uuid4())

    api.clock.advance(1)
    paused = await act(api, experiment_id, "pause", member_ids=[empty, ada, unknown, stranger], reason="fire alarm")

    outcomes = paused.json()["outcomes"]
    assert [(one["outcome"], one["status"], one["reason"]) for one in outcomes] == [
        ("refused", "expected", "not_joined"),
        ("done", "paused", None),
        ("not_found", None, None),
        ("not_found", None, None),
    ]
    (deed,) = (await api.experimenter("GET", "/v1/deeds", params={"experiment": experiment_id, "limit": 1})).json()[
        "deeds"
    ]
    assert (deed["deed"], deed["reason"]) == (f"POST /v1/experiments/{experiment_id}/members/pause", "fire alarm")


async def test_the_reason_of_each_act_is_kept_with_its_deed(api: Api) -> None:
    ann = {"id": "ann", "profile": {"name": "Ann"}, "text": "You take the bus."}
    group = {"count": 2, "seats": [{"open": True, "count": 2}]}
    stages = [{"id": "talk", "kind": "group_chat"}]
    experiment_id = await api.running(stages=stages, personas=[ann], cohorts=[group], treatments=None)
    run = f"/v1/experiments/{experiment_id}"
    first, other = [one["id"] for one in (await api.experimenter("GET", f"{run}/cohorts")).json()["cohorts"]]
    ada, bo = [await api.token_of(experiment_id, cohort_id=first, profile={"name": name}) for name in ("Ada", "Bo")]

    for address, body in (
        (f"{run}/start", {}),
        (f"{run}/cohorts", {}),
        (f"{run}/retry-failed", {}),
        (f"/v1/cohorts/{other}/seats", {}),
        (f"/v1/cohorts/{other}/lock", {}),
        (f"/v1/cohorts/{other}/unlock", {}),
        (f"/v1/cohorts/{other}/members", {"persona": "ann"}),
        (f"/v1/members/{await id_of(api, ada)}/message", {"text": "Hello."}),
        (f"/v1/members/{await id_of(api, ada)}/check", {}),
        (f"/v1/members/{await id_of(api, bo)}/transfer", {"cohort_id": other}),
    ):
        api.clock.advance(1)
        name = address.rpartition("/")[2]
        answer = await api.experimenter("POST", address, json={**body, "reason": f"why {name}"})
        assert answer.is_success, answer.text
        deeds = await api.experimenter("GET", "/v1/deeds", params={"experiment": experiment_id, "limit": 1})
        assert [(one["deed"], one["reason"]) for one in deeds.json()["deeds"]] == [(f"POST {address}", f"why {name}")]


@pytest.mark.parametrize(
    ("error", "reason"), [(Unavailable("The lab is busy."), "unavailable"), (RuntimeError("a bug"), "unexpected")]
)
async def test_a_member_with_whom_it_fails_has_an_outcome_and_keeps_no_other_from_it(
    api: Api, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    experiment_id = await api.running()
    ada, bo = [await id_of(api, await api.join(experiment_id, name)) for name in ("Ada", "Bo")]
    pause = holding.pause_member

    async def fail_with_ada(session: Session, standing: Standing, *rest: Any, **options: Any) -> None:
        await pause(session, standing, *rest, **options)
        if standing.member.id == UUID(ada):
            raise error

    monkeypatch.setattr("parley_lab.gateway.routes.acts.holding.pause_member", fail_with_ada)
    paused = await act(api, experiment_id, "pause", member_ids=[ada, bo])

    assert paused.status_code == 200, paused.text
    assert [(one["outcome"], one["status"], one["reason"]) for one in paused.json()["outcomes"]] == [
        ("failed", "in_progress", reason),
        ("done", "paused", None),
    ]
    assert "a bug" not in paused.text


async def test_an_act_is_done_although_the_state_after_it_cannot_be_read(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment_id = await api.running()
    token = await api.join(experiment_id)

    async def away(*_: Any) -> str:
        raise Unavailable("The database is away.")

    monkeypatch.setattr("parley_lab.gateway.routes.acts.acting.status_of", away)
    paused = await act(api, experiment_id, "pause", member_ids=[await id_of(api, token)])

    assert paused.status_code == 200, paused.text
    assert [(one["outcome"], one["status"]) for one in paused.json()["outcomes"]] == [("done", None)]


async def test_an_act_under_a_key_is_done_once_with_each_and_reaches_no_one_who_came_later(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment_id = await api.running(cohorts=[{"seats": [{"open": True, "count": 3}]}])
    ada, bo = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Bo")
    path, headers = f"/v1/experiments/{experiment_id}/members/message", {"Idempotency-Key": "0123456789abcdef"}
    bo_id, send = UUID(await id_of(api, bo)), notices.send_notice

    async def fail_with_bo(session: Session, standing: Standing, *rest: Any, **options: Any) -> None:
        if standing.member.id == bo_id:
            raise Unavailable("The lab is busy.")
        await send(session, standing, *rest, **options)

    async def say(text: str) -> httpx2.Response:
        return await api.experimenter("POST", path, json={"text": text}, headers=headers)

    with monkeypatch.context() as outage:
        outage.setattr("parley_lab.gateway.routes.acts.notices.send_notice", fail_with_bo)
        first = await say("Five minutes left")
    cy = await api.join(experiment_id, "Cy")
    again = await say("Five minutes left")
    other = await say("Two minutes left")

    heard = [(await api.participant(one, "GET", "/v1/me")).json()["notices"] for one in (ada, bo, cy)]
    assert sorted(one["outcome"] for one in first.json()["outcomes"]) == ["done", "failed"]
    assert [one["outcome"] for one in again.json()["outcomes"]] == ["done", "done"]
    assert [[one["text"] for one in of_one] for of_one in heard] == [["Five minutes left"], ["Five minutes left"], []]
    assert (other.status_code, other.json()["reason"]) == (409, "id_used")


async def test_a_member_goes_on_once_when_the_request_is_repeated_under_its_key(api: Api) -> None:
    experiment_id = await api.running()
    ada = await id_of(api, await api.join(experiment_id))
    path, headers = f"/v1/experiments/{experiment_id}/members/advance", {"Idempotency-Key": "0123456789abcdef"}
    body = {"member_ids": [ada], "reason": "it hangs"}

    answers = [await api.experimenter("POST", path, json=body, headers=headers) for _ in range(2)]

    member = (await api.experimenter("GET", f"/v1/members/{ada}")).json()
    assert [one.json()["outcomes"][0]["outcome"] for one in answers] == ["done", "done"]
    assert member["stage_id"] == "before"


async def test_a_message_reaches_all_people_who_take_part_when_no_one_is_named(api: Api) -> None:
    experiment_id = await api.running()
    ada, bo = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Bo")
    await api.participant(bo, "POST", "/v1/me/leave", json={})

    sent = await act(api, experiment_id, "message", text="Five minutes left")

    assert [one["outcome"] for one in sent.json()["outcomes"]] == ["done"]
    assert (await api.participant(ada, "GET", "/v1/me")).json()["notices"][0]["text"] == "Five minutes left"


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("remove", {"member_ids": [str(UUID(int=1))]}),
        ("advance", {"member_ids": [str(UUID(int=1))]}),
        ("message", {"member_ids": [str(UUID(int=1))]}),
        ("pause", {}),
        ("pause", {"member_ids": [str(UUID(int=one)) for one in range(501)]}),
        ("explode", {"member_ids": [str(UUID(int=1))]}),
    ],
)
async def test_an_act_without_what_it_needs_is_refused_as_a_whole(api: Api, what: str, body: dict[str, Any]) -> None:
    experiment_id = await api.running()

    assert (await act(api, experiment_id, what, **body)).status_code == 422


async def test_members_of_another_experimenter_are_not_there(api: Api) -> None:
    experiment_id = await api.running()
    ada = await id_of(api, await api.join(experiment_id))
    async with api.database.transaction() as session:
        stranger = await keys.create_key(session, "Stranger", api.clock.now())
    headers = {"Authorization": f"Bearer {stranger}"}

    answers = [
        await api.client.post(
            f"/v1/experiments/{experiment_id}/members/pause", json={"member_ids": [ada]}, headers=headers
        ),
        await api.client.post(f"/v1/members/{ada}/advance", json={"reason": "x"}, headers=headers),
    ]

    assert [one.status_code for one in answers] == [404, 404]


async def test_urgent_acts_are_counted_beside_other_requests(api: Api, bus: InProcessBus) -> None:
    experiment_id = await api.running()
    ada = await id_of(api, await api.join(experiment_id))
    app = create_app(api.database, bus, api.clock, GatewaySettings(host="0.0.0.0", key_requests=4), environ={})
    transport = httpx2.ASGITransport(app, client=("203.0.113.5", 40_000))
    headers = {"Authorization": f"Bearer {api.key}"}
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://lab") as client,
    ):
        reading = Counter([(await client.get("/v1/experiments", headers=headers)).status_code for _ in range(6)])
        acting = Counter(
            [(await client.post(f"/v1/members/{ada}/pause", headers=headers)).status_code for _ in range(6)]
        )

    assert (reading, acting) == ({200: 4, 429: 2}, {200: 4, 429: 2})


async def test_a_group_is_paused_resumed_and_ended_as_a_whole(api: Api) -> None:
    experiment_id = await api.running(cohorts=[{"count": 2, "seats": [{"open": True, "count": 3}]}])
    ada, bo = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Bo")
    me = (await api.participant(ada, "GET", "/v1/me")).json()
    address = f"/v1/cohorts/{me['cohort_id']}"

    paused = await api.experimenter("POST", f"{address}/pause", json={"reason": "lunch"})
    in_pause = [(await api.participant(one, "GET", "/v1/me")).json()["is_paused"] for one in (ada, bo)]
    resumed = await api.experimenter("POST", f"{address}/resume")
    needs_a_reason = await api.experimenter("POST", f"{address}/end", json={})
    ended = await api.experimenter("POST", f"{address}/end", json={"reason": "no time"})
    await api.settle(experiment_id)
    again = await api.experimenter("POST", f"{address}/end", json={"reason": "no time"})

    cohorts = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"]
    by_id = {one["id"]: (one["status"], one["locked"]) for one in cohorts}
    assert sorted(one["outcome"] for one in paused.json()["outcomes"]) == ["done", "done", "refused"]
    assert in_pause == [True, True]
    assert [one["status"] for one in resumed.json()["outcomes"] if one["outcome"] == "done"] == ["in_progress"] * 2
    assert needs_a_reason.status_code == 422
    assert {one["status"] for one in ended.json()["outcomes"]} == {"removed"}
    assert by_id.pop(me["cohort_id"]) == ("ended", True)
    assert list(by_id.values()) == [("running", False)]
    assert again.status_code == 200


async def test_a_group_is_renamed(api: Api) -> None:
    experiment_id = await api.running()
    (cohort,) = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"]

    renamed = await api.experimenter("PATCH", f"/v1/cohorts/{cohort['id']}", json={"name": "morning"})

    assert (renamed.json()["name"], renamed.json()["path"]) == ("morning", "c1")


async def test_continue_counts_what_was_filled_in_and_moves_on(api: Api) -> None:
    experiment_id = await api.running()
    token = await api.join(experiment_id)
    ada = await id_of(api, token)
    first = await go_on(api, ada)
    saved = await api.participant(token, "PUT", "/v1/me/stages/before/answer", json={"answer": {"age": 44}})
    api.clock.advance(1)

    second = await go_on(api, ada, "stuck")

    answers = (await api.experimenter("GET", f"/v1/members/{ada}/answers")).json()["answers"]
    by_stage = {one["stage_id"]: one["value"] for one in answers}
    assert (first.status_code, first.json()["stage_id"]) == (200, "before")
    assert (second.status_code, second.json()["stage_id"]) == (200, "talk")
    assert saved.status_code == 204, saved.text
    assert by_stage["before"]["age"] == 44
    (deed,) = (await api.experimenter("GET", "/v1/deeds", params={"experiment": experiment_id, "limit": 1})).json()[
        "deeds"
    ]
    assert deed["reason"] == "stuck"


async def test_continue_ends_a_wait_for_those_who_have_come_and_then_leaves_the_talk(api: Api) -> None:
    experiment_id = await api.running()
    ada = await api.to_the_talk(experiment_id, "Ada")
    ada_id = await id_of(api, ada)
    waits = (await api.participant(ada, "GET", "/v1/me/stages/talk")).json()["state"]

    ended = await go_on(api, ada_id)
    await api.settle(experiment_id)
    opened = (await api.participant(ada, "GET", "/v1/me/stages/talk")).json()["state"]
    left = await go_on(api, ada_id)

    assert (waits, ended.status_code, opened) == ("waiting", 200, "current")
    assert (left.status_code, left.json()["stage_id"]) == (200, "after")


QUESTION: Final = {"id": "n", "kind": "choice", "title": "?", "correct": "a", "options": [{"id": "a", "text": "A"}]}


async def test_continue_is_refused_where_the_kind_says_that_answers_must_be_own(api: Api) -> None:
    stages = [{"id": "check", "kind": "comprehension", "questions": [QUESTION]}]
    token = await api.join(await api.running(stages=stages))

    refused = await go_on(api, await id_of(api, token))

    assert (refused.status_code, refused.json()["reason"]) == (409, "cannot_advance")


async def test_continue_is_refused_on_a_consent_and_for_who_takes_no_part(api: Api) -> None:
    stages = [{"id": "terms", "kind": "terms_of_service", "lines": ["We keep your answers."]}]
    experiment_id = await api.running(stages=stages)
    token = await api.join(experiment_id)
    ada = await id_of(api, token)

    consent = await go_on(api, ada)
    await api.experimenter("POST", f"/v1/members/{ada}/pause")
    paused = await go_on(api, ada)
    no_reason = await api.experimenter("POST", f"/v1/members/{ada}/advance", json={"reason": ""})

    assert (consent.status_code, consent.json()["reason"]) == (409, "cannot_advance")
    assert (paused.status_code, paused.json()["reason"]) == (409, "paused")
    assert no_reason.status_code == 422


async def test_continue_in_a_game_stores_what_counts_for_a_missing_move(api: Api) -> None:
    stages = [{"id": "contest", "kind": "beauty_contest", "rounds": 2}]
    experiment_id = await api.running(stages=stages, cohorts=[{"seats": [{"open": True, "count": 2}]}])
    tokens = [await api.join(experiment_id, name) for name in ("Ada", "Bo")]
    await api.settle(experiment_id)
    ada = await id_of(api, tokens[0])

    moved = await go_on(api, ada)
    nothing = await go_on(api, ada)

    answers = (await api.experimenter("GET", f"/v1/members/{ada}/answers")).json()["answers"]
    assert moved.status_code == 200, moved.text
    assert [one["is_valid"] for one in answers] == [False]
    assert (nothing.status_code, nothing.json()["reason"]) == (409, "cannot_advance")
