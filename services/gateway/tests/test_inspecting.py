"""An experimenter reads a run: from a message to its wave, its drafts and each attempt, and all calls."""

from datetime import timedelta
from typing import Any, Final
from uuid import UUID, uuid4

import pytest

from parley_lab.gateway.testing import Api
from parley_lab.store import tables

pytestmark = pytest.mark.postgres

TALK: Final[dict[str, Any]] = {
    "personas": [{"id": "guide", "text": "A guide"}],
    "stages": [{"id": "talk", "kind": "group_chat", "name": "The talk"}],
    "cohorts": [{"seats": [{"open": True, "count": 2}], "mediators": ["guide"]}],
}
STATUSES: Final = ("timeout", "ok")


async def get(api: Api, path: str, **params: Any) -> Any:
    answer = await api.experimenter("GET", f"/v1/{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def called(api: Api, draft_id: str) -> None:
    """A first call that timed out, and a second one that did not."""
    calls = [
        {
            "id": uuid4(),
            "draft_id": UUID(draft_id),
            "attempt": number + 1,
            "path": f"d/{number}",
            "provider": "mock",
            "model_asked": "m",
            "model_mode": "mock",
            "settings": {"temperature": 1},
            "prompt": [],
            "prompt_hash": "0",
            "raw": "Hello",
            "parsed": {"text": "Hello"},
            "status": status,
            "tokens_in": 10,
            "tokens_out": 2,
            "cost": "0.001",
            "started_at": api.clock.now() + timedelta(seconds=number),
            "finished_at": api.clock.now() + timedelta(seconds=number + 0.5),
        }
        for number, status in enumerate(STATUSES)
    ]
    async with api.database.transaction() as session:
        await session.insert(tables.model_calls, calls)


async def talked(api: Api) -> tuple[str, str, str]:
    """The experiment, its conversation, and the draft of the mediator about what Ada said."""
    experiment_id = await api.running(**TALK)
    ada, _ = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Ben")
    await api.settle(experiment_id)
    (thread,) = (await get(api, f"experiments/{experiment_id}/threads"))["threads"]
    said = {"text": "Who pays 10% of it?", "client_message_id": "1"}
    posted = await api.participant(ada, "POST", f"/v1/me/threads/{thread['id']}/messages", json=said)
    assert posted.status_code == 201, posted.text
    drafts = (await get(api, f"threads/{thread['id']}/drafts"))["drafts"]
    draft_id: str = next(one["id"] for one in drafts if one["trigger_key"].startswith("message:"))
    await called(api, draft_id)
    return experiment_id, thread["id"], draft_id


async def test_a_message_leads_to_its_wave_and_its_draft_to_each_attempt(api: Api) -> None:
    _, thread_id, draft_id = await talked(api)

    (message,) = (await get(api, f"threads/{thread_id}/messages"))["messages"]
    wave = [one for one in (await get(api, f"threads/{thread_id}/drafts"))["drafts"] if one["id"] == draft_id]
    draft = await get(api, f"drafts/{draft_id}")

    assert (message["author"], message["author_kind"], message["audience"]) == ("Ada", "person", None)
    assert wave[0]["trigger_key"] == f"message:{message['id']}"
    assert (wave[0]["calls"], wave[0]["failed_calls"], wave[0]["tokens_in"], wave[0]["cost"]) == (2, 1, 20, 0.002)
    assert wave[0]["milliseconds"] == 1000
    assert [one["status"] for one in draft["attempts"]] == list(STATUSES)
    assert draft["attempts"][1]["parsed"] == {"text": "Hello"}
    assert {**wave[0], "attempts": None, "reply": None} == {**draft, "attempts": None}


async def test_conversations_are_listed_with_counts_and_found_by_words(api: Api) -> None:
    experiment_id, thread_id, _ = await talked(api)

    (found,) = (await get(api, f"experiments/{experiment_id}/threads", q="who PAYS 10%", stage="talk"))["threads"]
    none = [
        await get(api, f"experiments/{experiment_id}/threads", **params)
        for params in ({"q": "10 of"}, {"state": "ended"}, {"stage": "other"}, {"cohort": str(uuid4())})
    ]

    assert (found["id"], found["stage"], found["cohort"], found["messages"]) == (thread_id, "The talk", "c1", 1)
    assert (found["of_people"], found["of_agents"], found["calls"], found["cost"]) == (1, 0, 2, 0.002)
    assert (found["author"], found["last_words"]) == ("Ada", "Who pays 10% of it?")
    assert [one["threads"] for one in none] == [[], [], [], []]


async def test_the_last_messages_are_read_and_then_those_before_them(api: Api) -> None:
    experiment_id = await api.running(**TALK)
    ada, _ = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Ben")
    (thread,) = (await get(api, f"experiments/{experiment_id}/threads"))["threads"]
    for number in range(5):
        said = {"text": f"{number}", "client_message_id": f"{number}"}
        await api.participant(ada, "POST", f"/v1/me/threads/{thread['id']}/messages", json=said)
    path = f"threads/{thread['id']}/messages"

    last = (await get(api, path, before_seq=2**31 - 1, limit=2))["messages"]
    before = (await get(api, path, before_seq=last[0]["seq"], limit=2))["messages"]
    after = (await get(api, path, after_seq=1, limit=2))["messages"]

    assert [[one["seq"] for one in page] for page in (last, before, after)] == [[4, 5], [2, 3], [2, 3]]


async def test_all_calls_are_listed_by_status_member_and_stage_in_both_orders(api: Api) -> None:
    experiment_id, _, draft_id = await talked(api)
    path = f"experiments/{experiment_id}/calls"
    draft = await get(api, f"drafts/{draft_id}")

    newest = await get(api, path, limit=1)
    rest = await get(api, path, limit=1, after=newest["next_after"])
    oldest = await get(api, path, order="oldest", member=draft["member_id"], stage="talk")
    failed = await get(api, path, status="failed")
    none = [await get(api, path, **params) for params in ({"status": "refused"}, {"stage": "x"})]

    pages = [*newest["calls"], *rest["calls"]]
    assert [one["status"] for one in pages] == ["ok", "timeout"]
    assert pages == oldest["calls"][::-1]
    assert (rest["next_after"], [one["status"] for one in failed["calls"]]) == (None, ["timeout"])
    assert (pages[0]["draft_id"], pages[0]["milliseconds"], pages[0]["cohort"]) == (draft_id, 500, "c1")
    assert [one["calls"] for one in none] == [[], []]


async def test_one_member_is_read_with_events_answers_and_drafts(api: Api) -> None:
    experiment_id = await api.running()
    token = await api.to_the_talk(experiment_id, "Ada")
    member_id = (await api.participant(token, "GET", "/v1/me")).json()["member_id"]

    member = await get(api, f"members/{member_id}")
    events = await get(api, f"members/{member_id}/events", limit=2)
    earlier = await get(api, f"members/{member_id}/events", before=events["next_before"])
    answers = (await get(api, f"members/{member_id}/answers"))["answers"]

    assert (member["path"], member["profile"]["name"]) == ("c1/m1", "Ada")
    told = [one["type"] for one in (*events["events"], *earlier["events"])]
    assert told[0] == "member.moved"
    assert told[-1] == "member.joined"
    assert earlier["next_before"] is None
    by_stage = {one["stage_id"]: one["value"] for one in answers if one["key"] == ""}
    assert by_stage == {"welcome": {}, "before": {"age": 33, "why": "Curious"}}
    assert (await get(api, f"members/{member_id}/drafts")) == {"drafts": [], "next_after": None}


async def test_activity_counts_each_event_message_and_call_once(api: Api) -> None:
    experiment_id, thread_id, _ = await talked(api)
    api.clock.advance(10)

    whole = await get(api, f"experiments/{experiment_id}/activity", buckets=7)
    recent = await get(api, f"experiments/{experiment_id}/activity", minutes=1)
    later = api.clock.now() + timedelta(hours=1)
    api.clock.advance(3600)
    none = await get(api, f"experiments/{experiment_id}/activity", minutes=1)

    for found in (whole, recent):
        assert sum(one["messages"] for one in found["buckets"]) == 1
        assert sum(sum(one["calls"].values()) for one in found["buckets"]) == 2
        assert sum(one["tokens_in"] for one in found["buckets"]) == 20
    assert (len(whole["buckets"]), len(recent["buckets"]), none["until"]) == (
        7,
        60,
        later.isoformat().replace("+00:00", "Z"),
    )
    assert sum(one["events"] for one in none["buckets"]) == 0
    assert {one["milliseconds"] for one in whole["buckets"] if one["calls"]} == {500}
    assert thread_id
