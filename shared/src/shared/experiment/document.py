"""The schema of an experiment file, with the stages of every kind there is."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final, Literal

from pydantic import Field, JsonValue

from shared.contracts.experiment import (
    AgentConfig,
    CohortPlan,
    Document,
    Joining,
    Limits,
    ModelMode,
    Pace,
    Persona,
    PersonasFrom,
    Source,
    Treatment,
)
from shared.contracts.pairings import Pairings
from shared.stages import AnyStage

SCHEMA_VERSION: Final = 1

MAX_MEMBERS: Final = 200_000
"""The most participants and mediators of one experiment; a typing error in `count` should not fill a disk."""


class Experiment(Document):
    """One design with one seed."""

    parley: Literal[1]
    """The version of this file format."""
    name: str = Field(min_length=1, max_length=200)
    """Names the experiment in lists and result folders."""
    description: str = ""
    """For researchers; participants do not see it."""
    study: str | None = None
    """The study that this experiment belongs to."""
    seed: int | None = Field(default=None, ge=0, le=2**63 - 1)
    """Decides everything that is drawn; the same file and seed give the same data. Left out: each run gets its own."""
    pace: Pace = "fast"
    """`live`: delays are waited for; `fast`: they are simulated."""
    model_mode: ModelMode = "mock"
    """`mock`: made-up replies that cost nothing; `real`: the models of the personas are called and paid."""
    variables: dict[str, JsonValue] = Field(default_factory=dict)
    """Values for `{{name}}` in the texts of stages and personas."""
    stages: tuple[AnyStage, ...] = Field(min_length=1)
    """The steps in their order."""
    personas: tuple[Persona, ...] = ()
    """Who the agents are."""
    personas_from: PersonasFrom | None = None
    """Further personas, one for each row of a table."""
    pairings: Pairings | None = None
    """Pairs of players instead of, or beside, cohorts; each becomes a treatment with cohorts of two."""
    cohorts: tuple[CohortPlan, ...] = Field(min_length=1)
    """The groups of participants, with their seats."""
    treatments: tuple[Treatment, ...] = ()
    """The arms. Without any, every cohort gets the experiment as it stands."""

    @cached_property
    def treatments_by_id(self) -> Mapping[str, Treatment]:
        return {treatment.id: treatment for treatment in self.treatments}

    joining: Joining = "drawn"
    """Where people come who join. `drawn`: each draws an arm, of those that still have a place, and sits in the cohort
    of it that has begun to fill. `by_arrival`: cohorts are filled in the order of the file.
    """
    limits: Limits = Limits()
    """How much may be spent on it."""
    source: Source | None = None
    """What the experiment was made from; left out: it was written as it stands."""


def json_schema() -> dict[str, Any]:
    """The JSON Schema of experiment files, for editors."""
    schema = Experiment.model_json_schema()
    required = [name for name in schema.pop("required") if name != "cohorts"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Parley experiment",
        "required": required,
        # Pairings are written out as cohorts before anything else looks at a file.
        "anyOf": [{"required": ["cohorts"]}, {"required": ["pairings"]}],
    }


def usual_typing_speed(personas: Iterable[Persona]) -> float | None:
    """The mean of those that have a typing speed; None when nobody has."""
    speeds = [persona.chat.words_per_minute for persona in personas if persona.chat.words_per_minute]
    return sum(speeds) / len(speeds) if speeds else None


def snapshot(persona: Persona, *, typing_speed: float | None = None) -> AgentConfig:
    """The private part of the profile of an agent that plays this persona.

    typing_speed: that of a persona whose file says nothing of one.
    """
    chat = persona.chat
    if chat.words_per_minute is None and typing_speed is not None:
        chat = chat.model_copy(update={"words_per_minute": typing_speed})
    return AgentConfig(
        persona_id=persona.id,
        text=persona.text,
        attributes=dict(persona.attributes),
        model=persona.model,
        chat=chat,
        pages=persona.pages,
        role=persona.role,
        goal=persona.goal,
        backstory=persona.backstory,
        script=persona.script,
        prompts=persona.prompts,
        prompt_token_budget=persona.prompt_token_budget,
        mock=persona.mock,
    )
