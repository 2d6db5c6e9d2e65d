"""The gate before real model calls: closed unless all three conditions hold."""

import itertools

import pytest

from parley_lab.contracts.endpoints import OPEN, read_endpoints
from parley_lab.contracts.providers import ModelMode, effective_model_mode, needed_provider, serving_provider
from parley_lab.contracts.real_models import ModelUse, keyless_addresses, model_mode_problems

KEY = "sk-secret-0123456789"
OPENAI = ModelUse("openai")

SWITCHES = {None: False, "": False, "false": False, "0": False, "No": False, "true": True, "1": True, "flase": True}


@pytest.mark.parametrize(
    ("mode", "requested_real", "is_draft"), list(itertools.product(["mock", "real"], [False, True], [False, True]))
)
def test_the_gate_names_exactly_what_is_missing(mode: ModelMode, requested_real: bool, is_draft: bool) -> None:
    for switch, key in itertools.product(SWITCHES, [None, "", " ", KEY]):
        environ = {
            name: value for name, value in {"LLM_USE_MOCK": switch, "OPENAI_API_KEY": key}.items() if value is not None
        }
        wants_real = mode == "real" or requested_real
        expected = {
            "LLM_USE_MOCK": wants_real and SWITCHES[switch],
            "model_mode": wants_real and mode == "mock" and not is_draft,
            "OPENAI_API_KEY": wants_real and key != KEY,
        }

        problems = model_mode_problems(
            mode, [OPENAI], environ, endpoints=OPEN, requested_real=requested_real, is_draft=is_draft
        )

        assert len(problems) == sum(expected.values())
        for named, is_missing in expected.items():
            assert any(named in problem for problem in problems) is is_missing


@pytest.mark.parametrize(
    ("provider", "model", "said"),
    [
        (
            "acme",
            "x/y",
            "No provider of models is called 'acme'. Use one of: anthropic, crewai, deepseek, gemini, hf-inference, "
            "mock, ollama, openai, openrouter, or name it in PARLEY_PROVIDERS.",
        ),
        (
            "crewai",
            "acme/large",
            "CrewAI has no vendor 'acme' here. The names of its models begin with one of: anthropic/",
        ),
    ],
)
def test_an_unknown_provider_is_told_what_a_persona_may_say_instead(provider: str, model: str, said: str) -> None:
    use = ModelUse(provider, model)

    (problem,) = model_mode_problems("real", [use], {"OPENAI_API_KEY": KEY}, endpoints=OPEN, requested_real=True)

    assert problem.startswith(said)


def test_no_message_contains_a_secret() -> None:
    environ = {"LLM_USE_MOCK": KEY, "OPENAI_BASE_URL": KEY, "OTHER_API_KEY": KEY}

    problems = model_mode_problems("real", [OPENAI, ModelUse("spam")], environ, endpoints=OPEN)

    assert len(problems) == 3
    assert KEY not in "".join(problems)


def test_every_provider_needs_its_own_key_once() -> None:
    uses = [OPENAI, ModelUse("openai", "other"), ModelUse("mock")]

    assert len(model_mode_problems("real", uses, {}, endpoints=OPEN)) == 1


def test_a_local_endpoint_does_not_replace_the_key() -> None:
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:8900/v1"}

    assert len(model_mode_problems("real", [OPENAI], environ, endpoints=OPEN)) == 1


def test_an_address_that_only_a_file_names_needs_no_key_and_is_said_to_get_none() -> None:
    local = ModelUse("openai", base_url="http://127.0.0.1:8900/v1", persona_id="ann")

    assert model_mode_problems("real", [local], {}, endpoints=OPEN) == []
    (told,) = keyless_addresses([local, OPENAI, ModelUse("mock", base_url="http://127.0.0.1:1/v1")], {})
    assert "No key goes to http://127.0.0.1:8900/v1" in told
    assert 'PARLEY_ENDPOINT_KEYS=\'{"http://127.0.0.1:8900/v1": ' in told
    assert told.endswith("(persona 'ann')")


def test_an_address_whose_key_is_kept_elsewhere_is_refused_naming_that_variable_and_the_personas() -> None:
    environ = {"PARLEY_ENDPOINT_KEYS": '{"https://models.example.org": "TEAM_KEY"}', "OPENAI_API_KEY": KEY}
    uses = [ModelUse("openai", "m", "https://models.example.org/v1", name) for name in ("bob", "ann")]

    (problem,) = model_mode_problems("real", uses, environ, endpoints=read_endpoints(environ, is_open=False))

    assert "TEAM_KEY is not set" in problem
    assert "https://models.example.org/v1" in problem
    assert problem.endswith("(personas 'ann' and 'bob')")
    assert model_mode_problems("real", uses, {**environ, "TEAM_KEY": "x"}, endpoints=OPEN) == []
    assert keyless_addresses(uses, environ) == []


def test_an_unknown_provider_is_refused_by_name() -> None:
    (problem,) = model_mode_problems("real", [ModelUse("opnai")], {"OPENAI_API_KEY": KEY}, endpoints=OPEN)

    assert "'opnai'" in problem
    assert "openai" in problem


def test_agents_without_a_provider_need_no_key() -> None:
    assert model_mode_problems("real", [], {}, endpoints=OPEN) == []


def test_only_mode_mock_is_served_by_the_mock() -> None:
    assert serving_provider("mock", "openai") == "mock"
    assert serving_provider("real", "openai") == "openai"


def test_a_request_makes_a_draft_real() -> None:
    assert effective_model_mode("mock", requested_real=True) == "real"
    assert effective_model_mode("mock", requested_real=False) == "mock"


def test_a_model_behind_crewai_needs_the_key_of_its_vendor() -> None:
    uses = [ModelUse("crewai", model) for model in ("anthropic/claude", "gpt-4.1-mini", "spam/eggs", "ollama/x")]

    problems = model_mode_problems("real", uses, {}, endpoints=OPEN)

    assert [use.needed for use in uses] == ["crewai/anthropic", "crewai/openai", "crewai/spam", "crewai/ollama"]
    assert [
        name in problem for name, problem in zip(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "spam"), problems, strict=True)
    ]
    assert needed_provider("openai", "some/model") == "openai"


def test_a_provider_that_no_one_serves_is_refused_by_name() -> None:
    uses, environ = [ModelUse("crewai", "openai/gpt-4.1", persona_id="ann")], {"OPENAI_API_KEY": KEY}

    (problem,) = model_mode_problems("real", uses, environ, endpoints=OPEN, served=["mock", "openai"])

    assert "'crewai/openai'" in problem
    assert "make crewai" in problem
    assert "'ann'" in problem
    assert model_mode_problems("real", uses, environ, endpoints=OPEN, served=["mock", "crewai"]) == []
    assert model_mode_problems("mock", uses, {}, endpoints=OPEN, served=["mock"]) == []


def test_of_many_personas_some_are_named() -> None:
    uses = [ModelUse("openai", persona_id=f"p{number}") for number in range(1000)]

    (problem,) = model_mode_problems("real", uses, {}, endpoints=OPEN)

    assert problem.endswith("(personas 'p0', 'p1', 'p10', 'p100', 'p101' and 995 more)")


@pytest.mark.parametrize("use", [OPENAI, ModelUse("crewai", "openai/gpt-4.1-mini")])
def test_an_address_of_a_variable_is_held_to_what_one_of_a_file_is(use: ModelUse) -> None:
    environ = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://127.0.0.1:8720/v1?sig=secret"}

    (problem,) = model_mode_problems("real", [use], environ, endpoints=OPEN)

    assert problem.startswith("OPENAI_BASE_URL holds an address that cannot be used")
    assert "secret" not in problem
    assert (
        model_mode_problems("real", [OPENAI], {**environ, "OPENAI_BASE_URL": "127.0.0.1:8720/v1"}, endpoints=OPEN) == []
    )
