"""The schema of experiment files, with the stages of all kinds."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final, Literal

from pydantic import Field, JsonValue

from parley_lab.base.rules import is_none
from parley_lab.contracts.agent_config import AgentConfig
from parley_lab.contracts.allocation import Allocation, Factor, Texts, TextsFile
from parley_lab.contracts.appearance import Appearance
from parley_lab.contracts.assigned import Assigned
from parley_lab.contracts.experiment import (
    AttentionChecks,
    CohortPlan,
    Completion,
    Document,
    Joining,
    Limits,
    LookBack,
    ModelMode,
    Pace,
    Paste,
    Persona,
    Slug,
    Source,
    StagedChat,
    Treatment,
)
from parley_lab.contracts.join_page import JoinPage
from parley_lab.contracts.lives import Outcome
from parley_lab.contracts.pairings import Pairings
from parley_lab.contracts.personas_from import PersonasFrom
from parley_lab.contracts.seats import SEATS_AGAIN, SeatAgain
from parley_lab.kinds.stages import AnyStage

SCHEMA_VERSION: Final = 1

LONGEST_KEPT_DAYS: Final = 36_500
"""The limit of how long data of people may be kept, so that every date can be reckoned with."""

MAX_MEMBERS: Final = 200_000
"""The limit of participants and mediators of one experiment; a typing error in `count` should not fill a disk."""


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
    """The seed of all draws; the same file and seed give the same data. Left out: each run gets its own."""
    pace: Pace = "fast"
    """`live`: delays are waited for; `fast`: they are simulated."""
    model_mode: ModelMode = "mock"
    """`mock`: made-up replies that cost nothing; `real`: the models of the personas are called and paid."""
    variables: dict[str, JsonValue] = Field(default_factory=dict)
    """Values for `{{name}}` in the texts of stages and personas."""
    assigned: tuple[Assigned, ...] = ()
    """Variables whose values differ between cohorts or participants. A participant's value wins over the cohort's, and
    that over `variables`."""
    stages: tuple[AnyStage, ...] = Field(min_length=1)
    """The steps, in order."""
    personas: tuple[Persona, ...] = ()
    """Who the agents are."""
    personas_from: PersonasFrom | None = None
    """Further personas, one for each row of a table."""
    pairings: Pairings | None = None
    """Pairs of players instead of, or beside, cohorts; each becomes a treatment with cohorts of two."""
    cohorts: tuple[CohortPlan, ...] = Field(min_length=1)
    """The groups of participants, with their seats."""
    factors: dict[Slug, Factor] | None = None
    """What is varied, with its levels: every combination of levels is a treatment. Instead of `treatments`."""
    texts: TextsFile | Texts | None = Field(default=None, exclude_if=is_none)
    """Values of variables for single arms: `scenario: {loss-long: ..., gain-short: ...}`, or a table of cells,
    as a list of its rows or in a `file`."""
    allocation: Allocation = Allocation()
    """How cohorts and people get their treatments."""
    treatments: tuple[Treatment, ...] = ()
    """The arms. Without any, every cohort gets the experiment unchanged."""

    @cached_property
    def stand_ins(self) -> tuple[str, ...]:
        """The personas that may play on for people who are gone, or take the seats of those who do not come."""
        changed = [fields for one in self.treatments for fields in one.stages.values()]
        named = {fields.get("stand_in") for fields in changed}
        named |= {(fields.get("progress") or {}).get("fill_with") for fields in changed}
        for stage in self.stages:
            named |= {stage.stand_in, stage.progress.fill_with}
        return tuple(sorted(one for one in named if isinstance(one, str)))

    @cached_property
    def treatments_by_id(self) -> Mapping[str, Treatment]:
        return {treatment.id: treatment for treatment in self.treatments}

    joining: Joining = "drawn"
    """How people who join are placed. `drawn`: each draws an arm among those with a free place, and gets a seat in a
    cohort of it that has begun to fill. `by_arrival`: cohorts are filled in the order of the file.
    """
    rejoin: Literal["external_id", "token"] = "external_id"
    """What a person who comes back needs: the external id under which they joined, or their old token as well."""
    seat_again: tuple[SeatAgain, ...] = SEATS_AGAIN
    """Whose seats other people get who come later, each with its arm, until the members of the cohort have met: those
    of people who `declined`, were `screened_out` or `released`, went `before_first_answer`, or went before they came to
    a stage (`{left_before: STAGE}`)."""
    completion: dict[Outcome | Literal["full"], Completion] = Field(default_factory=dict)
    """What people are shown when their part is over, by how it ended; `full`: who came and found no place."""
    attention_checks: AttentionChecks = AttentionChecks()
    """How people are asked whether they are still there."""
    join: JoinPage = JoinPage()
    """What people see before they take part."""
    look_back: LookBack = "texts"
    """What people may look back at on stages from which they have gone on. `all`: the whole page, with what was said
    and answered. `texts`: what was there to read. `none`: nothing."""
    record: Literal["process"] | None = None
    """`process`: how each answer and message of a person came about is recorded: characters that were
    pasted, keys, times out of focus, seconds. The page of a `terms_of_service`, and the one before people join, say
    so."""
    paste: Paste = "allowed"
    """`refused`: people cannot paste into what they write, questions and messages."""
    appearance: Appearance = Appearance()
    """How its pages look: logo, colour and own words."""
    language: str | None = Field(default=None, pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$", max_length=35)
    """The language of the experiment as a tag, such as `en`, `de` or `pt-BR`, for the words of its pages, the names
    of seats and those that are drawn. Left out: the browser's, and English names."""
    limits: Limits = Limits()
    """How much the experiment may spend."""
    keep_personal_days: int | None = Field(default=None, ge=1, le=LONGEST_KEPT_DAYS)
    """How many days after its end the data of its people are kept; then what they answered, said and were called is
    deleted. A lab that keeps data for fewer days goes by its own number. Left out: the lab's number."""
    source: Source | None = None
    """The original of the experiment; left out: it was written in this format."""


def json_schema() -> dict[str, Any]:
    """The JSON Schema of experiment files, for editors."""
    schema = Experiment.model_json_schema()
    required = [name for name in schema.pop("required") if name != "cohorts"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Parley experiment",
        "required": required,
        # Pairings become cohorts before other code reads the file.
        "anyOf": [{"required": ["cohorts"]}, {"required": ["pairings"]}],
    }


def usual_typing_speed(personas: Iterable[Persona]) -> float | None:
    """The mean of those that have a typing speed; None when none has."""
    speeds = [persona.chat.words_per_minute for persona in personas if persona.chat.words_per_minute]
    return sum(speeds) / len(speeds) if speeds else None


def snapshot(persona: Persona, *, typing_speed: float | None = None) -> AgentConfig:
    """The private part of the profile of an agent with this persona.

    typing_speed: for a persona without one.
    """
    chat = persona.chat
    if chat.words_per_minute is None and typing_speed is not None:
        chat = chat.model_copy(update={"words_per_minute": typing_speed})
    return AgentConfig(
        persona_id=persona.id,
        text=persona.text,
        attributes=dict(persona.attributes),
        model=persona.model,
        model_by_stage={stage: one.model for stage, one in persona.by_stage.items() if one.model},
        chat=StagedChat(
            **chat.model_dump(), by_stage={stage: one.chat for stage, one in persona.by_stage.items() if one.chat}
        ),
        pages=persona.pages,
        transfers=persona.transfers,
        role=persona.role,
        goal=persona.goal,
        backstory=persona.backstory,
        script=persona.script,
        prompts=persona.prompts,
        prompt_token_budget=persona.prompt_token_budget,
        mock=persona.mock,
    )
