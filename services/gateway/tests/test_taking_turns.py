"""Turns and topics as people meet them through the API."""

import asyncio
from collections import Counter
from typing import Any
from uuid import UUID

import httpx2
import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import Api, following

ROUNDS: list[dict[str, Any]] = [{"id": "talk", "kind": "group_chat", "turn_taking": "round", "post_limit": None}]
TOPICS: list[dict[str, Any]] = [
    {
        "id": "talk",
        "kind": "group_chat",
        "topics": [{"id": "cost", "name": "Who pays"}, {"id": "route", "name": "Where"}, {"id": "end", "name": "And?"}],
    }
]
NAMES = ("Ada", "Bo", "Cy")


async def people_talking(api: Api, stages: list[dict[str, Any]], count: int = 3) -> tuple[str, dict[str, str]]:
    """The experiment, and the tokens of so many people in its conversation, by the id under which others know them."""
    seats = {"seats": [{"open": True, "count": count}]}
    experiment_id = await api.running(stages=stages, cohorts=[seats])
    tokens = [await api.join(experiment_id, name) for name in NAMES[:count]]
    await api.settle(experiment_id)
    me = [await api.participant(token, "GET", "/v1/me/stages/talk") for token in tokens]
    ids = [next(one["id"] for one in page.json()["view"]["people"] if one["is_you"]) for page in me]
    return experiment_id, dict(zip(ids, tokens, strict=True))


async def view(api: Api, token: str) -> dict[str, Any]:
    page = await api.participant(token, "GET", "/v1/me/stages/talk")
    found: dict[str, Any] = page.json()["view"]
    return found


async def say(api: Api, token: str, words: str) -> httpx2.Response:
    address = f"/v1/me/threads/{await api.thread(token)}/messages"
    return await api.participant(token, "POST", address, json={"text": words, "client_message_id": words})


async def go_on(api: Api, token: str, topic: str) -> httpx2.Response:
    address = f"/v1/me/threads/{await api.thread(token)}/go-on"
    return await api.participant(token, "POST", address, json={"topic": topic})


async def said(api: Api, token: str) -> list[dict[str, Any]]:
    listed = await api.participant(token, "GET", f"/v1/me/threads/{await api.thread(token)}/messages")
    messages: list[dict[str, Any]] = listed.json()["messages"]
    return messages


_EVERYTHING = text(
    """
    SELECT to_jsonb(t) FROM messages t UNION ALL SELECT to_jsonb(t) FROM events t
    UNION ALL SELECT to_jsonb(t) FROM outbox t UNION ALL SELECT to_jsonb(t) FROM threads t
    """
)


async def everything_stored(api: Api) -> str:
    """All that the database has of messages, events and what is to be told, as one text."""
    async with api.database.transaction() as session:
        return "\n".join(str(row) for row in await session.all(_EVERYTHING))


async def test_what_is_said_out_of_turn_is_refused_at_once_and_nowhere_to_be_found(api: Api, address: str) -> None:
    experiment_id, tokens = await people_talking(api, ROUNDS)
    holder = (await view(api, next(iter(tokens.values()))))["whose_turn"]
    others = [token for member_id, token in tokens.items() if member_id != holder]

    refused = [await say(api, token, "outofturncanary") for token in others]
    accepted = await say(api, tokens[holder], "in turn")

    assert [(one.status_code, one.json()["reason"]) for one in refused] == [(409, "not_now")] * 2
    assert accepted.status_code == 201
    assert [message["text"] for message in await said(api, others[0])] == ["in turn"]
    assert "canary" not in await everything_stored(api)
    assert all("canary" not in one.text for one in refused)
    exported = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export")
    assert b"canary" not in exported.content
    async with following(address, others[0]) as events:
        seen = []
        async for event in events:
            seen.append(str(event))
            if "in turn" in seen[-1]:
                break
    assert not any("canary" in event for event in seen)


async def test_every_turn_is_one_message_however_many_speak_at_once(api: Api) -> None:
    _, tokens = await people_talking(api, ROUNDS)
    turns = 30

    accepted: Counter[str] = Counter()
    for number in range(turns):
        holder = (await view(api, next(iter(tokens.values()))))["whose_turn"]
        attempts = [(member_id, copy) for member_id in tokens for copy in range(3)]
        answers = await asyncio.gather(
            *(say(api, tokens[member_id], f"{number}/{member_id}/{copy}") for member_id, copy in attempts)
        )
        spoke = [member_id for (member_id, _), one in zip(attempts, answers, strict=True) if one.status_code == 201]
        assert {one.status_code for one in answers} <= {201, 409}
        # Others may have spoken too, when their turn had come by then.
        assert holder in spoke
        accepted.update(spoke)

    messages = await said(api, next(iter(tokens.values())))
    authors = [message["author"]["id"] for message in messages]
    cycle = authors[:3]
    assert sorted(cycle) == sorted(tokens)
    assert authors == [cycle[place % 3] for place in range(len(authors))]
    assert Counter(authors) == accepted


async def test_the_turn_of_a_person_who_leaves_passes_to_the_next(api: Api) -> None:
    experiment_id, tokens = await people_talking(api, ROUNDS)
    holder = (await view(api, next(iter(tokens.values()))))["whose_turn"]
    rest = {member_id: token for member_id, token in tokens.items() if member_id != holder}

    await api.participant(tokens[holder], "POST", "/v1/me/leave")
    await api.settle(experiment_id)

    next_holder = (await view(api, next(iter(rest.values()))))["whose_turn"]
    assert next_holder in rest
    assert (await say(api, rest[next_holder], "My turn now.")).status_code == 201


async def test_all_who_are_done_at_once_open_one_topic_however_often_they_say_so(api: Api) -> None:
    _, tokens = await people_talking(api, TOPICS)

    answers = await asyncio.gather(*(go_on(api, token, "cost") for token in tokens.values() for _ in range(4)))

    assert Counter(one.status_code for one in answers) == {204: 12}
    token = next(iter(tokens.values()))
    assert (await view(api, token))["topic"] == "route"
    assert not (await view(api, token))["is_done_with_topic"]
    assert [(message["text"], message["topic"]) for message in await said(api, token)] == [
        ("The conversation goes on to: Where", "route")
    ]


async def test_a_topic_ends_when_the_third_of_three_is_done_or_leaves(api: Api) -> None:
    experiment_id, tokens = await people_talking(api, TOPICS)
    first, second, third = tokens.values()

    await go_on(api, first, "cost")
    await go_on(api, second, "cost")
    before = await view(api, first)
    await go_on(api, third, "cost")
    after = await view(api, first)
    await go_on(api, first, "route")
    await go_on(api, second, "route")
    await api.participant(third, "POST", "/v1/me/leave")
    await api.settle(experiment_id)
    last = await view(api, first)

    assert (before["topic"], before["is_done_with_topic"]) == ("cost", True)
    assert (after["topic"], after["is_done_with_topic"]) == ("route", False)
    assert (last["topic"], last["is_done_with_topic"]) == ("end", False)


async def test_after_the_last_topic_nothing_follows(api: Api) -> None:
    _, tokens = await people_talking(api, TOPICS, count=1)
    (token,) = tokens.values()
    for topic in ("cost", "route"):
        assert (await go_on(api, token, topic)).status_code == 204

    refused = await go_on(api, token, "end")
    late = await go_on(api, token, "cost")

    assert (refused.status_code, refused.json()["reason"]) == (409, "no_more_topics")
    assert late.status_code == 204
    assert (await view(api, token))["topic"] == "end"
    assert [message["topic"] for message in await said(api, token)] == ["route", "end"]


async def test_a_topic_that_has_not_begun_or_is_not_there_cannot_be_done(api: Api) -> None:
    _, tokens = await people_talking(api, TOPICS, count=1)
    (token,) = tokens.values()

    early = await go_on(api, token, "route")
    wrong = await go_on(api, token, "weather")
    blank = await go_on(api, token, "")

    assert (early.status_code, early.json()["reason"]) == (409, "not_yet")
    assert wrong.status_code == blank.status_code == 422
    assert wrong.json()["problems"][0] == {
        "where": "topic",
        "found": "'weather'",
        "expected": "one of cost, route, end",
    } | {key: value for key, value in wrong.json()["problems"][0].items() if key in ("wrong", "hint")}
    assert (await view(api, token))["topic"] == "cost"


async def test_no_one_is_done_with_a_topic_of_others(api: Api) -> None:
    _, tokens = await people_talking(api, TOPICS, count=1)
    (token,) = tokens.values()
    thread_id = UUID(await api.thread(token))
    stranger = await api.join(await api.running())

    refused = await api.participant(stranger, "POST", f"/v1/me/threads/{thread_id}/go-on", json={"topic": "cost"})

    assert refused.status_code == 404
    assert (await view(api, token))["topic"] == "cost"


async def test_posts_beyond_the_limit_are_refused_with_the_seconds_to_wait_and_only_stored_ones_count(
    api: Api, address: str
) -> None:
    free: list[dict[str, Any]] = [{"id": "talk", "kind": "group_chat", "post_limit": {"posts": 3, "seconds": 5}}]
    _, tokens = await people_talking(api, free, count=2)
    ada, bo = tokens.values()

    stored = [await say(api, ada, f"Post {number}") for number in range(3)]
    api.clock.advance(1.5)
    refused = [await say(api, ada, f"Too much {number}") for number in range(5)]
    again = await say(api, ada, "Post 0")
    of_another = await say(api, bo, "Me, too")
    api.clock.advance(3.5)
    later = await say(api, ada, "Too much 0")

    assert [one.status_code for one in stored] == [201] * 3
    assert {(one.status_code, one.headers["Retry-After"]) for one in refused} == {(429, "4")}
    assert {(one.json()["code"], one.json()["can_retry"]) for one in refused} == {("too_soon", True)}
    assert "in 4 s" in refused[0].json()["detail"]
    assert (again.status_code, again.json()["id"]) == (201, stored[0].json()["id"])
    assert of_another.status_code == 201
    assert later.status_code == 201
    assert [one["text"] for one in await said(api, ada)] == ["Post 0", "Post 1", "Post 2", "Me, too", "Too much 0"]


@pytest.mark.parametrize(("limit", "accepted"), [({}, 10), ({"post_limit": None}, 12)])
async def test_ten_posts_in_five_seconds_are_the_limit_unless_the_file_has_none(
    api: Api, address: str, limit: dict[str, Any], accepted: int
) -> None:
    _, tokens = await people_talking(api, [{"id": "talk", "kind": "group_chat", **limit}], count=1)
    (ada,) = tokens.values()

    posts = await asyncio.gather(*(say(api, ada, f"Post {number}") for number in range(12)))

    assert Counter(one.status_code for one in posts) == Counter({201: accepted, 429: 12 - accepted})
