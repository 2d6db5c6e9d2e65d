"""Reads agent files of PD Arena, with the place of every problem, and writes them without loss.

The sixteen agents of a new arena are a persona file.
"""

from collections.abc import Mapping
from importlib.resources import files

from pydantic import ValidationError

from parley_lab.base.errors import Conflict, InvalidInput, Problem
from parley_lab.contracts.experiment import Persona
from parley_lab.design.complaints import found, translate
from parley_lab.design.parsing import check_values, parse
from parley_lab.design.personas import read_personas, yaml_of
from parley_lab.formats.arena.agents import AgentFile, agent_of, persona_of


def first_agents() -> tuple[Persona, ...]:
    """Five agents with models, six policies, and five scripts that cooperate by chance."""
    name = "first_agents.yaml"
    return read_personas(files(__package__).joinpath(name).read_bytes(), name)


def read_agent(content: str | bytes, name: str, persona_id: str) -> Persona:
    """The agent in a file, as a persona with this id.

    Raises:
        TooLarge: the file is too large.
        InvalidInput: with all problems.
    """
    value = parse(content, name)
    check_values(value, name)
    if not isinstance(value, Mapping):
        problem = Problem(name, "nothing" if value is None else found(value), "an object with fields")
        raise InvalidInput(f"{name} is not an agent.", [problem])
    try:
        return persona_of(AgentFile.model_validate(value), persona_id)
    except ValidationError as error:
        problems = translate(error, value, AgentFile.model_json_schema())
        raise InvalidInput(f"{name} is not a valid agent.", problems) from error


def write_agent(persona: Persona) -> str:
    """An agent file that reads as the same persona.

    Raises:
        Conflict: an agent file cannot express the persona.
    """
    agent = agent_of(persona)
    if agent is None:
        raise Conflict(
            f"The persona {persona.id!r} has more than an agent file can say: export the library.",
            reason="not_an_agent",
        )
    return yaml_of(agent.model_dump(exclude_defaults=True))
