"""Agents of an arena: sixteen to begin with, and files that come and go without loss."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.experiment import Persona
from shared.errors import InvalidInput
from shared.experiment import read_personas, write_personas
from shared.importers.arena import read_agent, write_agent
from shared.stages.matrix_game.agents import AgentFile, first_agents, persona_of

THREE = "role: a trader\ngoal: to be fair\nbackstory: You sell apples.\n"


def test_an_arena_begins_with_sixteen_agents() -> None:
    agents = first_agents()
    scripts = [agent.script["matrix_game"] for agent in agents]
    assert len({agent.id for agent in agents}) == 16
    assert sum(agent.player == "agent" for agent in agents) == 5
    assert [one["policy"] for one in scripts[5:11]] == ["ALLC", "ALLD", "TFT", "GRIM", "GTFT", "WSLS"]
    assert [one["alpha"] for one in scripts[11:]] == [0, 0.25, 0.5, 0.75, 1]


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


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=40)


@given(
    agent=st.builds(
        AgentFile,
        role=WORDS,
        goal=WORDS,
        backstory=WORDS,
        llm=st.sampled_from(["gpt-4.1-mini", "gpt-4o", "claude-x"]),
        temperature=st.floats(0, 2),
        persona_type=st.sampled_from(["cooperative", "tit_for_tat", "selfish", "forgiving", "random", "custom"]),
        name=st.just("") | WORDS,
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
    with pytest.raises(InvalidInput, match="more than an agent file can say"):
        write_agent(Persona(id="ana", text="You drive a taxi."))
