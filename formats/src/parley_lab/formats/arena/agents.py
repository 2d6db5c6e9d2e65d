"""Converts agents between files of PD Arena and personas. Pure."""

from typing import Any, Final, Literal

from pydantic import Field, field_validator

from parley_lab.contracts.experiment import Document, Persona
from parley_lab.contracts.providers import CREWAI_PROVIDER, vendor_named

DEFAULT_MODEL: Final = "gpt-4.1-mini"
_GAME: Final = "matrix_game"
"""The kind of the stages in which these agents play."""


class AgentFile(Document):
    """One agent. The first three fields are needed; the last three are not in files of PD Arena."""

    role: str = Field(min_length=1)
    """Who the agent is."""
    goal: str = Field(min_length=1)
    """What it wants."""
    backstory: str = Field(min_length=1)
    """Its past."""
    llm: str = DEFAULT_MODEL
    """The model of the agent; the name begins with its vendor (`anthropic/...`), or is one of a known family."""
    temperature: float = Field(default=0.0, ge=0, le=2)
    persona_type: Literal["cooperative", "tit_for_tat", "selfish", "forgiving", "random", "custom"] = "custom"
    """How the mock plays for it."""
    name: str = ""
    """The name that others see."""
    emoji: str = ""
    system_prompt: str = ""
    """Replaces role, backstory and goal in the prompts of games and in test chats."""

    @field_validator("llm")
    @classmethod
    def _names_its_vendor(cls, llm: str) -> str:
        if vendor_named(llm) is None:
            raise ValueError(f"the vendor of the model is expected before its name, such as openai/{llm}")
        return llm


def persona_of(agent: AgentFile, persona_id: str) -> Persona:
    """The agent as a persona with this id."""
    fields: dict[str, Any] = {
        "id": persona_id,
        "role": agent.role,
        "goal": agent.goal,
        "backstory": agent.backstory,
        "model": {**_called(agent.llm), "temperature": agent.temperature},
        "script": {_GAME: {"persona": agent.persona_type}},
    }
    if agent.name or agent.emoji:
        fields["profile"] = {"name": agent.name, "avatar": agent.emoji}
    if agent.system_prompt:
        round_prompt = [{"type": "stage_context", "heading": False}, {"type": "task", "heading": False}]
        fields["prompts"] = {_GAME: [{"type": "text", "text": agent.system_prompt}, *round_prompt]}
    return Persona.model_validate(fields)


def _called(llm: str) -> dict[str, str]:
    """The provider of a model: its vendor directly, or CrewAI; no other provider replaces it."""
    vendor = vendor_named(llm)
    name = llm.removeprefix(f"{vendor}/")
    if vendor == "openai":
        return {"provider": "openai", "model": name}
    return {"provider": CREWAI_PROVIDER, "model": f"{vendor}/{name}"}


def _llm(persona: Persona) -> str:
    """The model as agent files name it; names of OpenAI's families go without the vendor."""
    provider, name = persona.model.provider, persona.model.model
    return name if _called(name) == {"provider": provider, "model": name} else f"{provider}/{name}"


def agent_of(persona: Persona) -> AgentFile | None:
    """The agent file of this persona; None when an agent file cannot express it."""
    items = persona.prompts.get(_GAME, ())
    try:
        agent = AgentFile(
            role=persona.role,
            goal=persona.goal,
            backstory=persona.backstory,
            llm=_llm(persona),
            temperature=persona.model.temperature or 0.0,
            persona_type=persona.script[_GAME]["persona"],
            name=persona.profile.name,
            emoji=persona.profile.avatar,
            system_prompt=getattr(items[0], "text", "") if items else "",
        )
        return agent if persona_of(agent, persona.id) == persona else None
    except (KeyError, ValueError):
        return None
