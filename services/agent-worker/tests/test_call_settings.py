"""What a call is given where a persona says nothing: its time-out and the most tokens of its reply."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from agent_worker.models import most_reply_tokens
from agent_worker.settings import WorkerSettings
from shared.contracts.models import DEFAULT_TIMEOUT_SECONDS, ModelSettings
from shared.errors import SettingsInvalid
from shared.settings import read_settings

ROOT = Path(__file__).parents[3]


def test_a_time_out_is_the_personas_else_that_of_the_narrowest_name_in_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGENT_WORKER_TIMEOUTS", '{"openai": 60, "openai/gpt-5": 300}')
    monkeypatch.setenv("AGENT_WORKER_TIMEOUT_SECONDS", "90")
    settings = read_settings(WorkerSettings)

    assert settings.timeout_of("openai", ModelSettings(model="gpt-5", timeout_seconds=7)) == 7
    assert settings.timeout_of("openai", ModelSettings(model="gpt-5")) == 300
    assert settings.timeout_of("openai", ModelSettings(model="gpt-4.1")) == 60
    assert settings.timeout_of("gemini", ModelSettings(model="gemini/flash")) == 90


def test_without_a_word_it_is_two_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_WORKER_TIMEOUTS", "")

    assert read_settings(WorkerSettings).timeout_of("openai", ModelSettings()) == DEFAULT_TIMEOUT_SECONDS == 120


@pytest.mark.parametrize("written", ["{", '{"openai": 0}', '{"openai": "long"}', "[60]"])
def test_time_outs_that_cannot_be_read_are_named(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv("AGENT_WORKER_TIMEOUTS", written)

    with pytest.raises(SettingsInvalid, match="AGENT_WORKER_TIMEOUTS"):
        read_settings(WorkerSettings)


def test_a_container_of_workers_may_finish_a_call_before_it_is_killed() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]

    grace = services["agent-worker"]["stop_grace_period"]

    assert grace == "${AGENT_WORKER_GRACE:-150s}"
    assert DEFAULT_TIMEOUT_SECONDS < 150


def schema(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


@pytest.mark.parametrize(
    ("purpose", "fields", "tokens"),
    [
        ("talk", {"message": {"type": "string"}}, 800),
        ("ready", {"ready": {"type": "boolean"}}, 200),
        ("question", {"q": {"type": "integer"}}, 1_000),
        ("question", {"q": {"type": "string", "maxLength": 6_000}}, 2_400),
        ("question", {"q": {"type": "string", "maxLength": 10_000}}, 1_000),
        ("page", {"a": {}, "b": {}, "c": {}}, 1_300),
        ("move", {"action": {}}, 1_500),
    ],
)
def test_a_reply_has_room_for_what_is_asked(purpose: str, fields: dict[str, Any], tokens: int) -> None:
    assert most_reply_tokens(ModelSettings(model="gpt-4.1-mini"), purpose, schema(**fields)) == tokens


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "o3-mini"},
        {"model": "openai/o4-mini"},
        {"model": "gpt-5-nano"},
        {"model": "deepseek/deepseek-reasoner"},
        {"model": "gemini/gemini-2.5-flash"},
        {"model": "qwen3:8b"},
        {"model": "some-model", "reasoning_effort": "low"},
        {"model": "some-model", "extra_body": {"thinking": {"type": "enabled"}}},
        {"model": "some-model", "extra_body": {"max_completion_tokens": 50}},
        {"model": "some-model", "max_tokens": 50},
    ],
)
def test_models_that_think_first_and_those_with_a_limit_of_their_own_get_none(settings: dict[str, Any]) -> None:
    assert most_reply_tokens(ModelSettings(**settings), "talk", schema()) is None


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4o-mini", "smollm2-135m", "meta/llama-3.1-8b", "claude-sonnet-4"])
def test_other_models_have_a_limit(model: str) -> None:
    assert most_reply_tokens(ModelSettings(model=model), "talk", schema()) == 800
