"""What a model is told of a reply that could not be used."""

from datetime import UTC, datetime

from agent_worker.attempts import Attempt, with_reason
from shared.contracts.models import ChatMessage, ModelReply, ModelRequest, ModelSettings

PROMPT = (ChatMessage(role="system", content="You are Ann."), ChatMessage(role="user", content="How old are you?"))
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def an_attempt(
    messages: tuple[ChatMessage, ...], raw: str, *, reason: str = "", finish_reason: str = "stop"
) -> Attempt:
    request = ModelRequest(path="c1/m1/call:1", seed=1, settings=ModelSettings(), messages=messages, reply_schema={})
    reply = ModelReply(status="ok" if reason else "invalid", raw=raw, finish_reason=finish_reason, error="no object")
    return Attempt(1, request.path, request, reply, NOW, NOW, reason=reason or None)


def told(messages: tuple[ChatMessage, ...]) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in messages]


def test_a_model_is_shown_its_reply_and_why_it_cannot_be_used() -> None:
    asked = with_reason(PROMPT, an_attempt(PROMPT, '{"age": 7}', reason="age: at least 18"))

    assert asked[:2] == PROMPT
    assert told(asked[2:]) == [
        ("assistant", '{"age": 7}'),
        ("user", "That reply cannot be used: age: at least 18. Reply again in the requested format."),
    ]


def test_an_empty_reply_is_shown_as_such() -> None:
    asked = with_reason(PROMPT, an_attempt(PROMPT, ""))

    assert told(asked[2:3]) == [("assistant", "(empty)")]


def test_a_reply_that_was_cut_off_is_not_shown_or_a_model_goes_on_with_it() -> None:
    asked = with_reason(PROMPT, an_attempt(PROMPT, "on and on " * 300, finish_reason="length"))

    assert told(asked) == [
        ("system", "You are Ann."),
        ("user", "How old are you?\n\nAn earlier reply of yours cannot be used: no object."),
    ]


def test_a_reply_that_came_again_is_not_shown_again_or_it_comes_once_more() -> None:
    first = with_reason(PROMPT, an_attempt(PROMPT, '{"age": 7}', reason="age: at least 18"))

    second = with_reason(PROMPT, an_attempt(first, '{"age": 7}', reason="age: at least 18"))
    another = with_reason(PROMPT, an_attempt(first, '{"age": 8}', reason="age: at least 18"))

    assert told(second) == [
        ("system", "You are Ann."),
        ("user", "How old are you?\n\nAn earlier reply of yours cannot be used: age: at least 18."),
    ]
    assert told(another[2:3]) == [("assistant", '{"age": 8}')]
