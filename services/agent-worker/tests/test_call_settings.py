"""What a call is given where a persona says nothing: its time-out and the most tokens of its reply."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from parley_lab.agent_worker.models import most_reply_tokens
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.base.errors import SettingsInvalid
from parley_lab.base.settings import read_settings
from parley_lab.contracts.models import DEFAULT_TIMEOUT_SECONDS, ModelSettings

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


NUMBER, TEXT = {"type": "integer", "minimum": 0, "maximum": 5}, {"type": "string"}
YES_NO, OPTION = {"type": "boolean"}, {"type": "string", "enum": ["yes", "no"]}
OPTIONS = {"type": "array", "items": {"type": "string", "enum": ["a" * 300, "b" * 300]}}


@pytest.mark.parametrize(
    ("purpose", "fields", "tokens"),
    [
        ("talk", {"explanation": TEXT, "shouldRespond": YES_NO, "response": TEXT}, 800),
        ("ready", {"explanation": TEXT, "readyToEndChat": YES_NO}, 200),
        ("question", {"q": NUMBER}, 250),
        ("question", {"q": OPTION}, 250),
        ("question", {"q": {"const": "yes", "type": "string"}}, 250),
        ("question", {"q": {"type": "string", "enum": ["x" * 300]}}, 300),
        ("question", {"q": OPTIONS}, 400),
        ("question", {"q": TEXT}, 1_000),
        ("question", {"q": {}}, 1_000),
        ("question", {"q": {"type": "array", "items": {"type": "string"}}}, 1_000),
        ("question", {"q": {"type": "string", "maxLength": 300}}, 1_000),
        ("question", {"q": {"type": "string", "maxLength": 6_000}}, 2_200),
        ("question", {"q": {"type": "string", "maxLength": 10_000}}, 1_000),
        ("page", {"a": NUMBER, "b": YES_NO, "c": OPTION}, 350),
        ("page", {"a": NUMBER, "b": TEXT}, 1_000),
        ("page", {"a": NUMBER, "b": TEXT, "c": TEXT, "d": {"type": "string", "maxLength": 3_000}}, 1_850),
        ("move", {"action": OPTION, "reasoning": TEXT}, 550),
        ("message", {"message": TEXT}, 1_000),
        ("private_question", {"response": NUMBER, "reasoning": TEXT, "speculation_score": NUMBER}, 600),
        ("private_question", {"response": TEXT, "reasoning": TEXT}, 1_000),
    ],
)
def test_a_reply_has_room_for_what_is_asked_and_little_more(purpose: str, fields: dict[str, Any], tokens: int) -> None:
    assert most_reply_tokens(ModelSettings(model="gpt-4.1-mini"), purpose, schema(**fields)) == tokens


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "o3-mini"},
        {"model": "openai/o4-mini"},
        {"model": "gpt-5-nano"},
        {"model": "deepseek/deepseek-reasoner"},
        {"model": "gemini/gemini-2.5-flash"},
        {"model": "gemini-flash-latest"},
        {"model": "google/gemini-flash-lite-latest"},
        {"model": "gemini/gemini-pro-latest"},
        {"model": "kimi-k2.5"},
        {"model": "moonshotai/kimi-k2.5"},
        {"model": "openrouter/moonshotai/kimi-k2.6:free"},
        {"model": "MiniMaxAI/MiniMax-M2"},
        {"model": "z-ai/glm-5"},
        {"model": "qwen3:8b"},
        {"model": "some-model", "reasoning_effort": "low"},
        {"model": "some-model", "extra_body": {"thinking": {"type": "enabled"}}},
        {"model": "some-model", "extra_body": {"max_completion_tokens": 50}},
        {"model": "some-model", "max_tokens": 50},
    ],
)
def test_models_that_think_first_and_those_with_a_limit_of_their_own_get_none(settings: dict[str, Any]) -> None:
    assert most_reply_tokens(ModelSettings(**settings), "talk", schema()) is None


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4o",
        "gpt-4o-mini",
        "smollm2-135m",
        "meta/llama-3.1-8b",
        "claude-sonnet-4",
        "gemini-1.5-flash-latest",
        "moonshotai/kimi-k2-instruct",
        "glm-4-9b-chat",
    ],
)
def test_other_models_have_a_limit(model: str) -> None:
    assert most_reply_tokens(ModelSettings(model=model), "talk", schema()) == 800
