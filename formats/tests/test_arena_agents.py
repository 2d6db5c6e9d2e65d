"""Agents of an arena: sixteen to begin with, and files that come and go without loss."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import Conflict, InvalidInput
from parley_lab.base.looks import is_seen
from parley_lab.contracts.endpoints import OPEN
from parley_lab.contracts.experiment import Persona
from parley_lab.contracts.providers import account_of
from parley_lab.contracts.real_models import model_mode_problems
from parley_lab.design import models_used, read_personas, validate, write_personas
from parley_lab.formats.arena import first_agents, read_agent, write_agent
from parley_lab.formats.arena.agents import AgentFile, persona_of

THREE = "role: a trader\ngoal: to be fair\nbackstory: You sell apples.\n"
TFT = next(agent for agent in first_agents() if agent.id == "tft")


def tournament(*players: str) -> dict[str, object]:
    stages = [{"id": "game", "kind": "matrix_game"}]
    pairings = {"stage": "game", "round_robin": players}
    return {"parley": 1, "name": "All", "stages": stages, "pairings": pairings}


def test_an_arena_begins_with_sixteen_agents() -> None:
    agents = first_agents()
    scripts = [agent.script["matrix_game"] for agent in agents]
    assert len({agent.id for agent in agents}) == 16
    assert sum(agent.player == "agent" for agent in agents) == 5
    assert [one["policy"] for one in scripts[5:11]] == ["ALLC", "ALLD", "TFT", "GRIM", "GTFT", "WSLS"]
    assert [one["alpha"] for one in scripts[11:]] == [0, 0.25, 0.5, 0.75, 1]


def test_the_sixteen_can_play() -> None:
    ids = [agent.id for agent in first_agents()]
    assert len(validate(tournament(*ids), library={agent.id: agent for agent in first_agents()}).personas) == 16


@pytest.mark.parametrize("persona_type", get_args(AgentFile.model_fields["persona_type"].annotation))
def test_the_game_knows_every_type_of_persona_that_an_agent_file_may_name(persona_type: str) -> None:
    agent = read_agent(f"{THREE}persona_type: {persona_type}\n", "agent.yaml", "trader")
    experiment = validate(tournament("trader", "tft"), library={"trader": agent, "tft": TFT})
    assert agent in experiment.personas


def test_agents_that_models_speak_for_are_what_their_files_say() -> None:
    spoken = [agent for agent in first_agents() if agent.player == "agent"]
    assert [read_agent(write_agent(agent), "agent.yaml", agent.id) for agent in spoken] == spoken


def test_the_sixteen_survive_export_and_import() -> None:
    assert read_personas(write_personas(first_agents(), "yaml"), "library.yaml") == first_agents()


@pytest.mark.parametrize("missing", ["role", "goal", "backstory"])
def test_a_file_without_a_needed_field_is_refused_naming_it(missing: str) -> None:
    lines = [line for line in THREE.splitlines() if not line.startswith(missing)]
    with pytest.raises(InvalidInput) as refused:
        read_agent("\n".join(lines), "agent.yaml", "trader")
    assert [problem.where for problem in refused.value.problems] == [missing]


def test_all_problems_of_an_agent_are_told_at_once() -> None:
    with pytest.raises(InvalidInput) as refused:
        read_agent("role: r\nllm: 3\npersona_type: kind\ncolour: red\n", "agent.yaml", "x")
    places = {problem.where for problem in refused.value.problems}
    assert places == {"goal", "backstory", "llm", "persona_type", "colour"}


def test_what_is_left_out_of_an_agent_has_the_defaults_of_the_format() -> None:
    persona = read_agent(THREE, "agent.yaml", "trader")
    assert (persona.model.model, persona.model.temperature) == ("gpt-4.1-mini", 0.0)
    assert persona.script == {"matrix_game": {"persona": "custom"}}


@pytest.mark.parametrize(
    ("llm", "provider", "model"),
    [
        ("gpt-4o", "openai", "gpt-4o"),
        ("o3-mini", "openai", "o3-mini"),
        ("openai/gpt-4o", "openai", "gpt-4o"),
        ("openai/llama-3", "openai", "llama-3"),
        ("anthropic/claude-sonnet-4-5", "crewai", "anthropic/claude-sonnet-4-5"),
        ("claude-sonnet-4-5", "crewai", "anthropic/claude-sonnet-4-5"),
        ("gemini-2.5-flash", "crewai", "gemini/gemini-2.5-flash"),
        ("openrouter/openai/gpt-4o", "crewai", "openrouter/openai/gpt-4o"),
        ("acme/large", "crewai", "acme/large"),
    ],
)
def test_a_model_is_called_at_the_vendor_that_its_name_says(llm: str, provider: str, model: str) -> None:
    persona = read_agent(f"{THREE}llm: {llm}\n", "agent.yaml", "trader")

    assert (persona.model.provider, persona.model.model) == (provider, model)
    assert (account_of(provider, model) == "openai") is (provider == "openai")


def test_a_model_whose_name_says_no_vendor_is_refused_with_what_to_write() -> None:
    with pytest.raises(InvalidInput) as refused:
        read_agent(f"{THREE}llm: mixtral\n", "agent.yaml", "trader")

    (problem,) = refused.value.problems
    assert problem.where == "llm"
    assert "openai/mixtral" in str(refused.value)


def test_an_agent_whose_vendor_no_one_serves_does_not_start_and_is_named() -> None:
    agent = read_agent(f"{THREE}llm: anthropic/claude-x\n", "agent.yaml", "trader")
    experiment = validate(tournament("trader", "tft"), library={"trader": agent, "tft": TFT})
    environ = {"OPENAI_API_KEY": "any text", "ANTHROPIC_API_KEY": "any text"}

    (problem,) = model_mode_problems(
        "real", models_used(experiment), environ, endpoints=OPEN, requested_real=True, served=["mock", "openai"]
    )

    assert "'trader'" in problem
    assert "make crewai" in problem


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=40)


@given(
    agent=st.builds(
        AgentFile,
        role=WORDS,
        goal=WORDS,
        backstory=WORDS,
        llm=st.sampled_from(["gpt-4.1-mini", "openai/gpt-4o", "openai/a/b", "claude-x", "anthropic/x", "acme/x"]),
        temperature=st.floats(0, 2),
        persona_type=st.sampled_from(["cooperative", "tit_for_tat", "selfish", "forgiving", "random", "custom"]),
        name=st.just("") | WORDS.filter(is_seen),
        emoji=st.sampled_from(["", "🦊"]),
        system_prompt=st.just("") | WORDS,
    )
)
def test_agents_are_exported_and_imported_without_loss(agent: AgentFile) -> None:
    persona = persona_of(agent, "one")
    assert read_agent(write_agent(persona), "agent.yaml", "one") == persona


@pytest.mark.parametrize("text", ["1e3", "0o17", "yes", "~", "2026-11-20", "<<", "=", "1_000", "12:30", "line\nbreak"])
def test_texts_that_look_like_something_else_survive_export_and_import(text: str) -> None:
    persona = persona_of(AgentFile(role=text, goal=text, backstory=text, name=text), "one")
    assert read_agent(write_agent(persona), "agent.yaml", "one") == persona


def test_a_persona_that_is_more_than_an_agent_is_not_exported_as_one() -> None:
    with pytest.raises(Conflict, match="more than an agent file can say"):
        write_agent(Persona(id="ana", text="You drive a taxi."))
