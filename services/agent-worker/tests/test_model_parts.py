"""What lies around a provider of models: parsing, strict schemas, limits, back-off, the registry."""

import asyncio
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_worker.models import backoff_seconds, build_models
from agent_worker.models.limits import LimitedModel
from agent_worker.models.openai_schema import to_strict
from agent_worker.models.parsing import parse_object
from shared.contracts.models import ChatMessage, ModelReply, ModelRequest, ModelSettings


def a_request(model: str = "some-model") -> ModelRequest:
    return ModelRequest(
        path="c1/m1/talk/call:1",
        seed=1,
        settings=ModelSettings(model=model),
        messages=(ChatMessage(role="user", content="Hello"),),
        reply_schema={"type": "object", "properties": {}},
    )


class HeldModel:
    """Answers nobody until it is let go; counts who waits, by model."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.other_arrived = asyncio.Event()
        self.in_flight: dict[str, int] = {}
        self.is_closed = False

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.in_flight[request.settings.model] = self.in_flight.get(request.settings.model, 0) + 1
        if request.settings.model == "b":
            self.other_arrived.set()
        await self.go.wait()
        return ModelReply(status="ok", parsed={})

    async def aclose(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ('  {"a": {"b": "}"}}\n', {"a": {"b": "}"}}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('Of course.\n```\n{"a": 1}\n```\nAnything {else}?', {"a": 1}),
        ('Here it is: {"a": 1}. Bye.', {"a": 1}),
        ("no object", None),
        ("[1]", None),
        ('"text"', None),
        ("}{", None),
        ("", None),
        ('{"a": NaN}', None),
    ],
)
def test_the_object_in_a_text_is_found(text: str, expected: dict[str, Any] | None) -> None:
    assert parse_object(text) == expected


@given(st.text(alphabet='{}[]"`\\:, \nabnull1\ud800'))
def test_no_text_makes_the_parser_raise(text: str) -> None:
    parsed = parse_object(text)

    assert parsed is None or isinstance(parsed, dict)


def test_a_strict_schema_lacks_what_strict_mode_refuses_and_nothing_else() -> None:
    schema = {
        "title": "Reply",
        "type": "object",
        "properties": {
            "title": {"type": "string", "minLength": 1, "maxLength": 5, "description": "kept"},
            "default": {"type": "integer", "minimum": 1, "default": 3},
            "pets": {"type": "array", "uniqueItems": True, "minItems": 1, "items": {"$ref": "#/$defs/title"}},
            "one": {"oneOf": [{"const": "title"}, {"type": "null", "title": "Nothing"}], "discriminator": {}},
            "word": {"enum": ["default", "title"]},
        },
        "required": ["title", "default", "pets", "one", "word"],
        "additionalProperties": False,
        "$defs": {"title": {"type": "string", "title": "Title"}},
    }

    assert to_strict(schema) == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "kept"},
            "default": {"type": "integer", "minimum": 1},
            "pets": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/title"}},
            "one": {"anyOf": [{"const": "title"}, {"type": "null"}]},
            "word": {"enum": ["default", "title"]},
        },
        "required": ["title", "default", "pets", "one", "word"],
        "additionalProperties": False,
        "$defs": {"title": {"type": "string"}},
    }


async def test_calls_of_one_model_are_limited_and_those_of_another_are_not_held_up() -> None:
    held = HeldModel()
    limited = LimitedModel(held, 2)

    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(limited.reply(a_request(model))) for model in ["a"] * 5 + ["b"]]
        await held.other_arrived.wait()
        in_flight = dict(held.in_flight)
        held.go.set()
    await limited.aclose()

    assert in_flight == {"a": 2, "b": 1}
    assert [call.result().status for call in calls] == ["ok"] * 6
    assert held.is_closed


async def test_a_cancelled_call_gives_its_place_to_the_next() -> None:
    held = HeldModel()
    limited = LimitedModel(held, 1)
    first = asyncio.create_task(limited.reply(a_request()))
    await asyncio.sleep(0)

    first.cancel()
    held.go.set()

    assert (await limited.reply(a_request())).status == "ok"


def test_no_limit_of_no_calls() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        LimitedModel(HeldModel(), 0)


def test_waits_grow_with_attempts_and_are_jittered() -> None:
    reply = ModelReply(status="unavailable")

    waits = [[backoff_seconds(reply, attempt, Random(seed)) or 0 for seed in range(50)] for attempt in (1, 2, 3)]

    assert all(0.75 <= wait <= 1.25 for wait in waits[0])
    assert all(3 <= wait <= 5 for wait in waits[2])
    assert len(set(waits[1])) > 40
    assert (backoff_seconds(reply, 1000, Random(0)) or 0) <= 75


def test_what_the_provider_asks_for_is_the_least_wait() -> None:
    reply = ModelReply(status="rate_limited", retry_after_seconds=20)

    assert all((backoff_seconds(reply, 1, Random(seed)) or 0) >= 20 for seed in range(50))


def test_an_invalid_reply_is_asked_again_at_once_and_a_hopeless_call_never() -> None:
    assert backoff_seconds(ModelReply(status="invalid"), 3, Random(0)) == 0
    assert backoff_seconds(ModelReply(status="auth_error"), 1, Random(0)) is None
    assert backoff_seconds(ModelReply(status="rate_limited", can_retry=False), 1, Random(0)) is None


def test_a_provider_without_a_key_is_not_served_and_the_mock_always_is() -> None:
    assert set(build_models({})) == {"mock"}
    assert set(build_models({"OPENAI_API_KEY": "  "})) == {"mock"}
    assert set(build_models({"OPENAI_API_KEY": "any text"})) == {"mock", "openai"}
