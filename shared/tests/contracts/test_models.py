"""The contract at the seam to a model."""

import pytest
from pydantic import BaseModel, ValidationError

from parley_lab.contracts.models import ChatMessage, ModelReply, ModelRequest, ModelSettings


@pytest.mark.parametrize(
    ("status", "can_retry"),
    [
        ("ok", False),
        ("invalid", True),
        ("refused", False),
        ("too_long", False),
        ("rate_limited", True),
        ("unavailable", True),
        ("unreachable", True),
        ("auth_error", False),
        ("no_quota", False),
        ("bad_request", False),
        ("timeout", True),
        ("error", True),
    ],
)
def test_the_status_says_whether_another_attempt_can_help(status: str, can_retry: bool) -> None:
    assert ModelReply.model_validate({"status": status}).can_retry is can_retry


def test_a_provider_may_know_better_than_the_status() -> None:
    assert ModelReply(status="rate_limited", can_retry=False).can_retry is False


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 2.1},
        {"top_p": 0},
        {"max_tokens": 0},
        {"timeout_seconds": 0},
        {"max_attempts": 0},
        {"model": ""},
        {"base_url": "file:///etc/passwd"},
        {"temprature": 1},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ModelSettings.model_validate(wrong)


@pytest.mark.parametrize("contract", [ModelSettings, ChatMessage, ModelRequest, ModelReply])
def test_every_field_is_described_for_editors(contract: type[BaseModel]) -> None:
    properties = contract.model_json_schema()["properties"]

    assert [name for name, part in properties.items() if not part.get("description")] == []
