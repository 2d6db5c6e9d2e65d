"""Whatever a page may meet has a code with the values for words of its own."""

from typing import Any

import pytest

from parley_lab.gateway.testing import Api

pytestmark = pytest.mark.postgres

SURVEY: dict[str, Any] = {
    "id": "about",
    "kind": "survey",
    "questions": [
        {"id": "age", "kind": "number", "title": "How old are you?", "minimum": 18, "maximum": 99},
        {"id": "half", "kind": "number", "title": "Half of it?", "integer": True},
        {"id": "city", "kind": "text", "title": "Where do you live?", "min_chars": 3, "max_chars": 5},
        {"id": "why", "kind": "text", "title": "Why?"},
    ],
}
TALK: dict[str, Any] = {
    "id": "talk",
    "kind": "group_chat",
    "minimum_seconds": 60,
    "post_limit": {"posts": 1, "seconds": 10},
}


async def there(api: Api, stage: dict[str, Any]) -> str:
    """The token of a participant who is alone on this stage."""
    experiment_id = await api.running(stages=[stage], cohorts=[{"seats": [{"open": True}]}])
    return await api.join(experiment_id)


async def test_each_problem_of_an_answer_has_its_code_and_values(api: Api) -> None:
    token = await there(api, SURVEY)

    low = (await api.advance(token, "about", {"age": 7, "half": 1.5, "city": "Ur"})).json()["problems"]
    high = (await api.advance(token, "about", {"age": 120, "half": "two", "city": "Geneva"})).json()["problems"]

    assert {one["where"]: (one["code"], one.get("params", {})) for one in low} == {
        "age": ("at_least", {"bound": 18}),
        "half": ("write_a_whole_number", {}),
        "city": ("write_more", {"count": 3}),
        "why": ("answer_this", {}),
    }
    assert {one["where"]: (one["code"], one.get("params", {})) for one in high} == {
        "age": ("at_most", {"bound": 99}),
        "half": ("write_a_number", {}),
        "city": ("write_less", {"count": 5}),
        "why": ("answer_this", {}),
    }


async def test_why_one_cannot_go_on_is_told_by_code_on_the_page_and_with_the_refusal(api: Api) -> None:
    token = await there(api, SURVEY)

    page = (await api.participant(token, "GET", "/v1/me/stages/about")).json()

    assert page["reasons"] == [
        {"code": "answer_first", "params": {}, "text": "Please answer the questions on this page."}
    ]
    assert page["blocked_by"] == [one["text"] for one in page["reasons"]]


async def test_a_conversation_says_for_how_long_it_goes_on(api: Api) -> None:
    token = await there(api, TALK)
    thread_id = await api.thread(token)

    before = (await api.advance(token, "talk")).json()
    body = {"text": "Hello", "client_message_id": "m-1"}
    await api.participant(token, "POST", f"/v1/me/threads/{thread_id}/messages", json=body)
    api.clock.advance(1)
    soon = await api.participant(
        token, "POST", f"/v1/me/threads/{thread_id}/messages", json={**body, "client_message_id": "m-2"}
    )
    after = (await api.advance(token, "talk")).json()

    assert [one["code"] for one in before["params"]["reasons"]] == ["goes_on"]
    assert [(one["code"], one["params"]) for one in after["params"]["reasons"]] == [("talk_goes_on_for", {"count": 59})]
    assert (soon.status_code, soon.json()["code"], soon.json()["params"]) == (429, "too_soon", {"seconds": 9})


async def test_an_attention_check_has_a_code_unless_it_has_words_of_its_own(api: Api) -> None:
    experiment_id = await api.running()
    ada, ben = [await api.join(experiment_id) for _ in range(2)]

    for token, words in ((ada, {}), (ben, {"text": "Hello?"})):
        member_id = (await api.participant(token, "GET", "/v1/me")).json()["member_id"]
        await api.experimenter("POST", f"/v1/members/{member_id}/check", json=words or None)

    checks = [(await api.participant(token, "GET", "/v1/me")).json()["check"] for token in (ada, ben)]
    assert [(one["text"], one["code"]) for one in checks] == [("Are you still there?", "still_there"), ("Hello?", None)]


async def test_no_answer_is_taken_for_something_that_it_is_not(api: Api) -> None:
    answers = [await api.client.get(path) for path in ("/healthz", "/v1/me", "/docs", "/openapi.json", "/no-such-page")]

    assert {answer.headers["x-content-type-options"] for answer in answers} == {"nosniff"}
    assert {answer.headers["referrer-policy"] for answer in answers} == {"no-referrer"}
