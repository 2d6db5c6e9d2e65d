"""The body of a hint: what is written is read, and what cannot be read says why."""

import pytest

from parley_lab.contracts.hints import Hint, HintInvalid, provider_queue
from parley_lab.testing.buses import a_hint


def test_a_hint_survives_its_body() -> None:
    hint = a_hint("orchestrator")

    assert Hint.decode("orchestrator", hint.encode()) == hint


def test_a_body_with_more_keys_than_we_know_is_read() -> None:
    hint = a_hint()

    assert Hint.decode("work", hint.encode()[:-1] + b',"priority":3}') == hint


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"", "is JSON"),
        (b"\xff", "is JSON"),
        (b"3", "an object, not int"),
        (b"{}", "type is a word"),
        (b'{"type":"a","id":"A0000000-0000-0000-0000-000000000000"}', "lower-case uuid"),
        (b'{"type":"a","id":"00000000-0000-0000-0000-000000000000\\n"}', "lower-case uuid"),
        (b'{"type":"a","id":"00000000-0000-0000-0000-000000000000","correlation":null}', "correlation is a text"),
    ],
)
def test_a_bad_body_is_refused_with_its_reason(body: bytes, complaint: str) -> None:
    with pytest.raises(HintInvalid, match=complaint):
        Hint.decode("work", body)


def test_a_provider_cannot_take_the_name_of_another_queue() -> None:
    assert provider_queue("openai") == "agent-worker.openai"
    for name in ("steps", "", "openai.dead", "Open AI"):
        with pytest.raises(HintInvalid):
            provider_queue(name)
