"""Agents as PD Arena files describe them, the sixteen that an arena begins with, and both as personas. Pure."""

from typing import Any, Final

from pydantic import Field

from shared.contracts.experiment import Document, Persona
from shared.stages.matrix_game.config import MatrixGameStage
from shared.stages.matrix_game.policies import PersonaType

_KIND: Final = str(MatrixGameStage.model_fields["kind"].default)
DEFAULT_MODEL: Final = "gpt-4.1-mini"
ALPHAS: Final = (0, 0.25, 0.5, 0.75, 1)


class AgentFile(Document):
    """One agent. The first three fields are needed; the last three are not in files of PD Arena."""

    role: str = Field(min_length=1)
    """Who the agent is."""
    goal: str = Field(min_length=1)
    """What it wants."""
    backstory: str = Field(min_length=1)
    """Its past."""
    llm: str = DEFAULT_MODEL
    """The model that speaks for it."""
    temperature: float = Field(default=0.0, ge=0, le=2)
    persona_type: PersonaType = "custom"
    """How it plays with the mock."""
    name: str = ""
    """What others call it."""
    emoji: str = ""
    system_prompt: str = ""
    """Takes the place of role, backstory and goal in the prompts of games."""


def persona_of(agent: AgentFile, persona_id: str) -> Persona:
    """The agent as a persona of this id."""
    fields: dict[str, Any] = {
        "id": persona_id,
        "role": agent.role,
        "goal": agent.goal,
        "backstory": agent.backstory,
        "model": {"provider": "openai", "model": agent.llm, "temperature": agent.temperature},
        "script": {_KIND: {"persona": agent.persona_type}},
    }
    if agent.name or agent.emoji:
        fields["profile"] = {"name": agent.name, "avatar": agent.emoji}
    if agent.system_prompt:
        items = [{"type": "text", "text": agent.system_prompt}, {"type": "stage_context"}, {"type": "task"}]
        fields["prompts"] = {_KIND: items}
    return Persona.model_validate(fields)


def agent_of(persona: Persona) -> AgentFile | None:
    """The agent file that says the same as this persona; None when none can."""
    items = persona.prompts.get(_KIND, ())
    try:
        agent = AgentFile(
            role=persona.role,
            goal=persona.goal,
            backstory=persona.backstory,
            llm=persona.model.model,
            temperature=persona.model.temperature or 0.0,
            persona_type=persona.script[_KIND]["persona"],
            name=persona.profile.name,
            emoji=persona.profile.avatar,
            system_prompt=getattr(items[0], "text", "") if items else "",
        )
        return agent if persona_of(agent, persona.id) == persona else None
    except (KeyError, ValueError):
        return None


def first_agents() -> tuple[Persona, ...]:
    """Five that models speak for, six policies, and five that cooperate by chance."""
    policies = ("ALLC", "ALLD", "TFT", "GRIM", "GTFT", "WSLS")
    return (
        *(persona_of(agent, f"{agent.persona_type.replace('_', '-')}-agent") for agent in _SPOKEN),
        *(_policy(name.lower(), name, {"policy": name}) for name in policies),
        *(_policy(f"random-{round(100 * p)}", f"Random({p:g})", {"policy": "RANDOM", "alpha": p}) for p in ALPHAS),
    )


def _policy(persona_id: str, name: str, script: dict[str, Any]) -> Persona:
    fields = {"id": persona_id, "profile": {"name": name}, "player": "script", "script": {_KIND: script}}
    return Persona.model_validate(fields)


_SPOKEN: Final = (
    AgentFile(
        name="Cooperative",
        emoji="🤝",
        persona_type="cooperative",
        role="a partner who believes in working together",
        goal="that both players earn as much as they can together",
        backstory="You begin by cooperating and keep to it while the other does. After a round or two in which you "
        "were let down you may still hold out your hand; you stop only when it has become a habit of theirs.",
    ),
    AgentFile(
        name="Tit for Tat",
        emoji="🪞",
        persona_type="tit_for_tat",
        role="a player who answers in kind",
        goal="to be treated as you treat others",
        backstory="You begin by cooperating. From then on you do what the other player has just done, no more.",
    ),
    AgentFile(
        name="Selfish",
        emoji="🦊",
        persona_type="selfish",
        role="a player who looks after nobody else",
        goal="to earn the most points for yourself",
        backstory="You have learned that promises cost nothing. What the other player earns does not concern you.",
    ),
    AgentFile(
        name="Forgiving",
        emoji="🕊️",
        persona_type="forgiving",
        role="a player who gives second chances",
        goal="to keep a good understanding alive",
        backstory="You cooperate, and you take one defection for a mistake. Only one that is repeated do you answer.",
    ),
    AgentFile(
        name="Random",
        emoji="🎲",
        persona_type="random",
        role="a player who follows the feeling of the moment",
        goal="to stay unpredictable",
        backstory="You do not plan and you do not keep accounts. Each round you do what comes to mind first.",
    ),
)
