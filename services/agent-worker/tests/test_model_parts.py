"""What lies around a provider of models: parsing, strict schemas, limits, back-off, the registry."""

import json
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parley_lab.agent_worker.models import backoff_seconds, build_models
from parley_lab.agent_worker.models.openai_schema import to_strict
from parley_lab.agent_worker.models.parsing import Unreadable, parse_object
from parley_lab.base.replies import OpenThought
from parley_lab.contracts.endpoints import read_endpoints
from parley_lab.contracts.models import ChatMessage, ModelReply, ModelRequest, ModelSettings
from parley_lab.testing.fake_endpoint import FakeEndpoint


def a_request(model: str = "some-model") -> ModelRequest:
    return ModelRequest(
        path="c1/m1/talk/call:1",
        seed=1,
        settings=ModelSettings(model=model),
        messages=(ChatMessage(role="user", content="Hello"),),
        reply_schema={"type": "object", "properties": {}},
    )


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


@pytest.mark.parametrize(
    "text",
    [
        'json\n{"response": "Hi", "ready": false}',
        '```json\n{"response": "Hi", "ready": false,}\n```',
        '{"response": "Hi", "ready": false,}',
        '{"response": "Hi" "ready": false}',
        "{'response': 'Hi', 'ready': False}",
        '{\\n  "response": "Hi",\\n  "ready": false\\n}',
        '{"response": "Hi", // what I say\n"ready": false}',
        '{"type": "object", "properties": {"response": {"type": "string"}}}\n{"response": "Hi", "ready": false}',
        '{"note": "a first object"}\n{"response": "Hi", "ready": false}',
        '{"response": "A draft", "ready": true}\nNo, better:\n{"response": "Hi", "ready": false}',
        '<think>{"response": "A draft", "ready": true}</think>{"response": "Hi", "ready": false}',
        '{"response": "A draft", "ready": true}\n</think>\n{"response": "Hi", "ready": false}',
        '<|channel|>analysis<|message|>{"response": "A draft", "ready": true}<|end|><|start|>assistant<|channel|>final'
        '<|message|>{"response": "Hi", "ready": false}<|return|>',
        '{"response": "Hi", "ready": false}\nA note: {"mood": "calm"}',
        '{"response": "Hi", "ready": false}}',
        'With {name} in mind: {"response": "Hi", "ready": false}',
    ],
)
def test_a_reply_that_is_badly_written_is_read(text: str) -> None:
    assert parse_object(text, ["response", "ready"]) == {"response": "Hi", "ready": False}


def test_quotes_inside_a_text_and_line_breaks_are_kept() -> None:
    assert parse_object('{"a": "He said "hi" to me", "b": true}') == {"a": 'He said "hi" to me', "b": True}
    assert parse_object('{"a": "one\ntwo \\u00e9 \\"q\\"",}') == {"a": 'one\ntwo \u00e9 "q"'}


@pytest.mark.parametrize(
    "text",
    [
        'Sure! {"response": "I was about to say',
        '{"response": "Hi", "ready":',
        '{"a": {"response": "inside"}',
        '{"response": }',
        '{"response": "", "ready": "Hi" + name}',
        "{response}",
        '{"type": "object", "properties": {"response": {"type": "string"}}, "required": ["response"]}',
        "{" * 5_000 + "}" * 5_000,
        '{"a":' * 5_000 + "1," + "}" * 5_000,
    ],
)
def test_what_was_not_said_whole_is_no_reply(text: str) -> None:
    assert parse_object(text) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"response": "Hi", "response": "No"}',
        "{'response': 'Hi', 'response': 'No'}",
        'First {"response": "Hi"}, then {"response": "No',
        'First {"response": "Hi"}, then <think>{"response": "No</think>", "ready": true}',
    ],
)
def test_an_object_that_says_two_things_is_not_read(text: str) -> None:
    with suppress(Unreadable):
        assert parse_object(text) is None


PIECES = st.sampled_from(
    [
        *('{"response": "hello there"', "{'a': True", ', "ready": false', "```json\n", "\n```", "json", "NaN", "null"),
        *("}", "{", ",", "\n", '"', "'", "Hi", "[", "]", ":", "\\n", '\\"', "//", "#", "/*", "*/", "-1", "1e5"),
        *("\ud800", "\u201c"),
    ]
)
OBJECTS = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.text(max_size=8) | st.booleans() | st.none() | st.integers(-(2**53), 2**53),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
        max_leaves=4,
    ),
    min_size=1,
    max_size=3,
)


def texts_in(value: object) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(text for part in value.values() for text in texts_in(part))]
    if isinstance(value, list):
        return [text for part in value for text in texts_in(part)]
    return [value] if isinstance(value, str) else []


@settings(max_examples=1_000)
@given(st.lists(PIECES, max_size=20).map("".join) | st.text(alphabet='{}[]"`\\:, \nabnull1\ud800'))
@example('{"response": "hello there"\\"```json\n[```json\n}')
def test_no_text_makes_the_parser_raise_or_say_what_is_not_in_an_object_of_it(text: str) -> None:
    try:
        parsed = parse_object(text)
    except (Unreadable, OpenThought):
        parsed = None

    inside = text[text.find("{") : text.rfind("}") + 1].replace("\\", "").replace("\n", "n")
    for said in texts_in(parsed):
        assert said.replace("\\", "").replace("\n", "n") in inside
    if "{" not in text or "}" not in text:
        assert parsed is None


@given(OBJECTS, st.data())
def test_an_object_that_was_cut_off_is_no_reply(written: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(written)
    cut = data.draw(st.integers(0, len(text) - 1))

    assert parse_object(text[:cut]) is None
    assert parse_object(f"Well: {text} Bye.") == written


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
    def served(**environ: str) -> set[str]:
        return set(build_models(environ, endpoints=read_endpoints(environ, is_open=False))) - {"crewai"}

    assert served() == {"mock"}
    assert served(OPENAI_API_KEY="  ") == {"mock"}
    assert served(OPENAI_API_KEY="any text") == {"mock", "openai"}
    assert served(HF_API_KEY="any text") == {"mock", "hf-inference"}


async def test_an_inference_endpoint_has_no_usual_address() -> None:
    models = build_models({"HF_API_KEY": "any text"})

    homeless = await models["hf-inference"].reply(a_request())
    for model in models.values():
        await model.aclose()

    assert (homeless.status, homeless.can_retry) == ("bad_request", False)
    assert "base_url" in str(homeless.error)


async def test_an_inference_endpoint_is_called_only_where_the_lab_allows_it() -> None:
    async with FakeEndpoint() as endpoint:
        for allowed, status in ((endpoint.base_url, "ok"), ("https://models.example.org", "bad_request")):
            endpoints = read_endpoints({"PARLEY_ALLOWED_BASE_URLS": allowed}, is_open=False)
            model = build_models({"HF_API_KEY": "any text"}, endpoints=endpoints)["hf-inference"]
            settings = ModelSettings(provider="hf-inference", model="tgi", base_url=endpoint.base_url)

            reply = await model.reply(a_request().model_copy(update={"settings": settings}))
            await model.aclose()

            assert reply.status == status
        assert len(endpoint.calls) == 1


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("\u22125", "\u22125"),
        *((text, text) for text in ("5 million", "5 or 6", "1 000", "10^2", "3 - 5", "2\u00bd", "12:30", ">5")),
        *((text, text) for text in ("true or false", "false if they cheat", "null or 5")),
        ("5 // note\n", 5),
        ("-5.5 ", -5.5),
    ],
)
def test_a_value_without_quotes_is_taken_whole(written: str, value: object) -> None:
    assert parse_object(f'{{"amount": {written}, "why": "5, or 6: fine",}}') == {
        "amount": value,
        "why": "5, or 6: fine",
    }


@pytest.mark.parametrize(
    "text",
    [
        '{"response": "I agree."\n "Let us share equally."}',
        '{"response": "I agree",  "but only half"}',
        '{"response": """Hello all"""}',
    ],
)
def test_a_text_that_goes_on_after_its_quotes_is_not_cut_short(text: str) -> None:
    assert parse_object(text) is None


def test_a_text_may_be_followed_by_a_name_without_a_comma_or_by_the_end_of_a_list() -> None:
    assert parse_object('{"a": "x" "b": ["y", "z",], c: "w",}') == {"a": "x", "b": ["y", "z"], "c": "w"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{'text': 'it's: 5 tokens, ok', 'n': 2,}", {"text": "it's: 5 tokens, ok", "n": 2}),
        ("{'text': 'Don't, I keep 5 of them, ok?', 'n': 2}", {"text": "Don't, I keep 5 of them, ok?", "n": 2}),
        ('{"text": \u201ca: 5 t, b\u201d, "n": 1}', {"text": "a: 5 t, b", "n": 1}),
        (
            "{'text': 'I'll take 10: 4 for me, you get 6', 'n': 4}",
            {"text": "I'll take 10: 4 for me, you get 6", "n": 4},
        ),
        ('{"text": "He said "plan: 5 t, ok" to me", "n": 1}', {"text": 'He said "plan: 5 t, ok" to me', "n": 1}),
        ('{"n": [1, 2 t, 3],}', {"n": [1, "2 t", 3]}),
        ('{"text": "x", "offer": 1,000}', None),
        ('{"offer": 12,500 tokens}', None),
        ('{"n": 1,000, "text": "x"}', None),
    ],
)
def test_numbers_in_a_text_leave_the_text_as_it_is(text: str, found: dict[str, object] | None) -> None:
    assert parse_object(text) == found
