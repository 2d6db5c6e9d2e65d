"""What people may look back at once they have gone on from a stage."""

from typing import Any, Final

import pytest

from parley_lab.gateway.testing import Api
from parley_lab.gateway.testing.streams import listening, say, until

pytestmark = pytest.mark.postgres

REFUSED: Final = (409, False, False, "no_look_back")
STAGES: Final[list[dict[str, Any]]] = [
    {"id": "read", "kind": "info", "lines": ["Read *this*."]},
    {
        "id": "ask",
        "kind": "survey",
        "description": "About you.",
        "questions": [{"id": "why", "kind": "text", "title": "Why?"}],
    },
    {"id": "talk", "kind": "group_chat", "progress": {"wait_for_all": False}},
    {"id": "secret", "kind": "info", "name": "You were deceived", "lines": ["Thank you."]},
]


async def through(api: Api, *, stages: list[dict[str, Any]] = STAGES, **changes: Any) -> tuple[str, str]:
    """The token of a person on the last stage, and the thread of the conversation from which they came."""
    experiment_id = await api.running(stages=stages, cohorts=[{"seats": [{"open": True}]}], **changes)
    token = await api.join(experiment_id)
    await api.advance(token, "read")
    await api.advance(token, "ask", {"why": "Because"})
    await api.settle(experiment_id)
    thread = (await api.participant(token, "GET", "/v1/me/stages/talk")).json()["thread"]["id"]
    said = {"text": "Good morning", "client_message_id": "1"}
    assert (await api.participant(token, "POST", f"/v1/me/threads/{thread}/messages", json=said)).status_code == 201
    assert (await api.advance(token, "talk")).json()["me"]["stage_id"] == "secret"
    return token, thread


async def looked_at(api: Api, token: str, thread: str) -> list[tuple[int, bool, bool, str]]:
    """Of each stage and the conversation: the status, whether there is a view, an answer, and the reason."""
    paths = [f"/v1/me/stages/{stage}" for stage in ("read", "ask", "talk")]
    answers = [await api.participant(token, "GET", path) for path in (*paths, f"/v1/me/threads/{thread}/messages")]
    pages = [(one.status_code, one.json()) for one in answers]
    return [
        (status, page.get("view") is not None, page.get("answer") is not None, page.get("reason", ""))
        for status, page in pages
    ]


@pytest.mark.parametrize(
    ("look_back", "found"),
    [
        ("all", [(200, True, True, ""), (200, True, True, ""), (200, True, True, ""), (200, False, False, "")]),
        ("texts", [(200, True, True, ""), (200, False, False, ""), (200, False, False, ""), REFUSED]),
        (None, [(200, True, True, ""), (200, False, False, ""), (200, False, False, ""), REFUSED]),
        ("none", [REFUSED] * 4),
    ],
    ids=["all", "texts", "usual", "none"],
)  # fmt: skip
async def test_people_look_back_as_the_experiment_says(api: Api, look_back: str | None, found: list[Any]) -> None:
    token, thread = await through(api, look_back=look_back)

    assert await looked_at(api, token, thread) == found


async def test_a_stage_may_say_it_itself_and_texts_are_the_usual(api: Api) -> None:
    stages = [{**STAGES[0], "look_back": "none"}, *STAGES[1:2], {**STAGES[2], "look_back": "all"}, STAGES[3]]
    token, thread = await through(api, stages=stages, look_back="texts")

    found = await looked_at(api, token, thread)
    texts = (await api.participant(token, "GET", "/v1/me/stages/ask")).json()["texts"]
    marks = (await api.participant(token, "GET", "/v1/me")).json()["stages"]

    assert [(status, has_view) for status, has_view, _, _ in found] == [
        (409, False),
        (200, False),
        (200, True),
        (200, False),
    ]
    assert (texts["description"], [one["title"] for one in texts["questions"]]) == ("About you.", ["Why?"])
    assert [one["look_back"] for one in marks] == ["none", "texts", "all", "all"]


@pytest.mark.parametrize(("look_back", "is_told"), [("all", True), ("texts", False), ("none", False)])
async def test_the_stream_repeats_a_conversation_that_people_may_look_back_at(
    api: Api, look_back: str, is_told: bool
) -> None:
    token, _ = await through(api, look_back=look_back)

    events = (await api.participant(token, "GET", "/v1/me/stream?wait=false&after=start")).text

    assert ("Good morning" in events, "event: message.created" in events) == (is_told, is_told)
    assert "event: member.moved" in events


async def two_who_talk(api: Api) -> tuple[str, str]:
    """The tokens of Ada and Bo, who have come to their conversation and may look back at texts alone."""
    experiment_id = await api.running(
        stages=STAGES, cohorts=[{"seats": [{"open": True, "count": 2}]}], look_back="texts"
    )
    ada, bo = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Bo")
    for token in (ada, bo):
        await api.advance(token, "read")
        await api.advance(token, "ask", {"why": "Because"})
    await api.settle(experiment_id)
    return ada, bo


async def test_a_conversation_goes_on_without_those_who_left_its_stage_and_may_not_look_back(
    api: Api, address: str
) -> None:
    ada, bo = await two_who_talk(api)

    async with listening(address, "/v1/me/stream", bo) as bos, listening(address, "/v1/me/stream", ada) as adas:
        await say(api, ada, "Early")
        heard = await until(bos, "message.created")
        again = (await api.participant(bo, "GET", "/v1/me/stream?wait=false&after=start")).text
        await api.advance(bo, "talk")
        await until(bos, "member.moved")
        await say(api, ada, "Late")
        of_ada = [(await until(adas, "message.created"))[-1].data["data"]["text"] for _ in range(3)]
        await api.participant(ada, "POST", "/v1/me/leave", json={})
        later = await until(bos, "member.left")

    assert of_ada == ["Early", "Bo has left the chat.", "Late"]
    assert heard[-1].data["data"]["text"] == "Early"
    assert "Early" in again
    assert [one.type for one in later if one.type.startswith(("message", "thread"))] == []


async def test_a_stream_hides_who_types_where_its_reader_may_not_look_back(api: Api, address: str) -> None:
    ada, bo = await two_who_talk(api)
    thread = (await api.participant(ada, "GET", "/v1/me/stages/talk")).json()["thread"]["id"]
    await api.advance(bo, "talk")

    async with listening(address, "/v1/me/stream", bo) as bos:
        await api.participant(ada, "POST", f"/v1/me/threads/{thread}/typing", json={"is_typing": True})
        await api.participant(ada, "POST", f"/v1/me/threads/{thread}/typing", json={"is_typing": False})
        await api.participant(ada, "POST", "/v1/me/leave", json={})
        told = await until(bos, "member.left")

    assert "thread.typing" not in [one.type for one in told]


async def test_the_names_of_coming_stages_are_not_told(api: Api) -> None:
    token = await api.join(await api.running(stages=STAGES))

    marks = (await api.participant(token, "GET", "/v1/me")).json()["stages"]

    assert [one["title"] for one in marks] == ["read", "", "", ""]
