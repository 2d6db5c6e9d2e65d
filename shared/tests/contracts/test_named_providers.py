"""Providers that the environment names: what is taken, what is refused, and whose key goes where."""

import json
from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput, SettingsInvalid
from parley_lab.contracts.endpoints import read_endpoints
from parley_lab.contracts.model_keys import read_model_keys
from parley_lab.contracts.named_providers import read_providers
from parley_lab.contracts.real_models import ModelUse, model_mode_problems
from parley_lab.design import load

URL = "https://models.example.org/v1"
MINE = {"PARLEY_PROVIDERS": json.dumps({"mine": {"base_url": URL, "key": "MINE_KEY"}}), "MINE_KEY": "sk-0123456789"}
FILE = """
parley: 1
name: A page
seed: 0
stages: [{id: page, kind: survey, questions: [{id: why, kind: text, title: Why}]}]
personas: [{id: ann, model: {provider: mine, model: small}}]
cohorts: [{seats: [{persona: ann}]}]
"""


def test_its_key_goes_to_its_address_and_to_no_other() -> None:
    keys = read_model_keys(MINE)

    assert keys.key("mine", None) == "sk-0123456789"
    assert keys.key("mine", f"{URL}/deeper") == "sk-0123456789"
    assert keys.key("mine", "https://elsewhere.example.org/v1") is None
    assert keys.key("openai", URL) is None


def test_its_address_needs_no_permission() -> None:
    endpoints = read_endpoints(MINE, is_open=False)

    assert endpoints.problem("mine", None) is None
    assert endpoints.problem("mine", URL) is None
    assert endpoints.problem("mine", "https://elsewhere.example.org/v1") is not None


def test_a_file_may_name_it_where_the_environment_does(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="mine"):
        load(FILE, "file.yaml")

    monkeypatch.setenv("PARLEY_PROVIDERS", MINE["PARLEY_PROVIDERS"])

    assert load(FILE, "file.yaml").name == "A page"


def test_a_missing_key_is_named() -> None:
    without = {**MINE, "MINE_KEY": ""}
    endpoints = read_endpoints(without, is_open=False)

    problems = model_mode_problems("real", [ModelUse("mine", "small", None, "ann")], without, endpoints=endpoints)

    assert len(problems) == 1
    assert "MINE_KEY is not set" in problems[0]


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ("nonsense", "expected is JSON"),
        ({"openai": {"base_url": URL}}, "entry 1"),
        ({"steps": {"base_url": URL}}, "entry 1"),
        ({"Mine": {"base_url": URL}}, "entry 1"),
        ({"mine": {"base_url": URL, "api_key": "sk-0123456789"}}, "and no others"),
        ({"mine": {"base_url": URL, "key": "sk-0123456789"}}, "the name of the variable"),
        ({"mine": {"key": "MINE_KEY"}}, "base_url is needed"),
        ({"mine": {"base_url": "https://a:sk-0123456789@b/v1"}}, "a user or a password"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place_and_without_a_value(entries: Any, says: str) -> None:
    written = entries if isinstance(entries, str) else json.dumps(entries)

    with pytest.raises(SettingsInvalid) as refused:
        read_providers({"PARLEY_PROVIDERS": written})

    assert says in str(refused.value)
    assert "sk-0123456789" not in str(refused.value)
