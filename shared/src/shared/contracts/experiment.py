"""What an experiment file says apart from its stages' own fields: seats, personas, treatments, chat settings.

The stages' own fields belong to the kinds; `shared.experiment` puts both together.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from shared.contracts.mock_script import MockScript
from shared.contracts.models import ModelSettings
from shared.contracts.prompt_items import PromptItems

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
"""An id that is safe in paths, columns and file names."""

Pace = Literal["live", "fast"]
ModelMode = Literal["mock", "real"]
Joining = Literal["drawn", "by_arrival"]
PauseReason = Literal["requested", "lab_stopped", "calls_spent", "key_refused"]
"""Why an experiment is paused: somebody asked for it, the process that ran it is gone, it may make no more
calls, or a key was refused and its run stopped."""


class Document(BaseModel):
    """Base of everything a researcher writes: unknown fields are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)


class Profile(Document):
    """How others see a participant; the same shape for people and agents."""

    name: str = ""
    """Shown with everything the participant says; empty: `Participant 1`, `Participant 2` by seat."""
    avatar: str = ""
    """One emoji or a short text."""
    pronouns: str = ""


class ChatSettings(Document):
    """How an agent behaves in conversations."""

    words_per_minute: float | None = Field(default=None, ge=0)
    """Typing speed: a reply takes its words / this many minutes, times 0.75 to 1.25, at most 10 s. 0: no time. None: in
    pace `live` the mean of the agents of its cohort who have one; no time when nobody has.
    """
    min_messages_before_responding: int = Field(default=0, ge=0)
    """The agent says nothing before the thread has this many messages, system messages included."""
    can_self_trigger: bool = False
    """Whether the agent may answer when the newest message is its own."""
    max_responses: int | None = Field(default=None, ge=0)
    """How many messages of its own the agent may have in one thread, the opening line included. None: unlimited."""
    initial_message: str = ""
    """A fixed opening line, said once when the agent enters the thread. Empty: one agent opens an empty room."""


class PageSettings(Document):
    """How long an agent takes for pages, and for what it is asked in interviews and games, in pace `live`."""

    reading_words_per_minute: float | None = Field(default=240, ge=0)
    """Reading speed: before the agent goes on it takes the words that it is shown / this many minutes, times 0.75 to
    1.25. None or 0: no time."""
    writing_words_per_minute: float | None = Field(default=40, ge=0)
    """Writing speed: the same for the words of its open answers. None or 0: no time."""

    @property
    def take_time(self) -> bool:
        return bool(self.reading_words_per_minute or self.writing_words_per_minute)


class Progress(Document):
    """When a stage opens for the participants of a cohort."""

    min_participants: int = Field(default=0, ge=0)
    """The stage opens when at least this many participants have arrived at it."""
    wait_for_all: bool = False
    """The stage opens when everybody who is still in the cohort has arrived at it; open seats are waited for."""
    show_progress: bool = True
    """Whether those who wait see how many have arrived."""


class StageConfig(Document):
    """What every stage has, whatever its kind."""

    id: Slug
    """Unique in the experiment; names the stage in treatments, data and prompts."""
    kind: str
    name: str = ""
    """The heading that participants see; empty: the id."""
    description: str = ""
    """Text above the stage's content. `{{name}}` is replaced by the variable of that name."""
    info: str = ""
    """Additional information, shown on request."""
    progress: Progress = Progress()
    block: Slug | None = None
    """The name of a block of stages whose order a treatment may change."""

    @property
    def title(self) -> str:
        return self.name or self.id


class Persona(Document):
    """Who an agent is: text and model settings. What ran is a snapshot of it, stored with the member."""

    id: Slug
    profile: Profile = Profile()
    """How others see the agent."""
    text: str = ""
    """Private background, shown to the model only."""
    role: str = ""
    """Who the agent is, for `crewai`. Empty: its name."""
    goal: str = ""
    """What the agent wants, for `crewai`."""
    backstory: str = ""
    """The agent's past, for `crewai`. Empty: what the prompt says of the agent, its `text` included."""
    attributes: dict[str, str | int | float | bool | None] = {}
    """Background data of the persona."""
    model: ModelSettings = ModelSettings()
    """Which model speaks for the persona, and how it is called."""
    mock: MockScript | None = None
    """What the mock does when it speaks for the persona: lines, silence, latencies, failures. For rehearsals."""
    chat: ChatSettings = ChatSettings()
    pages: PageSettings = PageSettings()
    """How long the agent takes for pages in pace `live`."""
    player: Literal["agent", "script"] = "agent"
    """`agent`: a model speaks for the persona. `script`: it acts by its script, without any model."""
    script: dict[Slug, dict[str, Any]] = {}
    """How it acts without a model, by stage id or by kind; a stage's own goes before that of its kind. With the mock,
    an agent follows it, too. Through stages that know no scripts, a `script` passes without an answer.
    """
    prompts: dict[Slug, PromptItems] = {}
    """What the model is shown, by stage id or by kind; a stage's own prompt goes before that of its kind."""
    prompt_token_budget: int | None = Field(default=None, ge=1)
    """Prompts are kept to so many tokens (estimated: 4 characters each) by leaving out the oldest messages. None: to
    three quarters of what the model can read, and at most 96,000.
    """


class PersonasFrom(Document):
    """A table of personas beside the experiment file; the command line reads it."""

    file: str = Field(min_length=1)
    """A CSV file with a header, in the folder of the experiment file or below. Each row is a persona."""
    each: dict[str, Any] = {}
    """Fields that all of them have; `{{column}}` is replaced by the row's cell."""


class Seat(Document):
    """A place in a cohort and who plays it: a persona, or a person who joins."""

    persona: Slug | None = None
    """The id of the persona that takes this seat; leave it out for a person."""
    open: bool = False
    """True: a person takes this seat by joining."""
    each_row: bool = False
    """True: one seat for each persona of the table in `personas_from`."""
    count: int = Field(default=1, ge=1, le=10_000)
    """How many seats like this one."""


class CohortPlan(Document):
    """A group of participants who share stages, as the file declares it."""

    id: Slug | None = None
    """Names the cohort in the data; left out: c1, c2, ... by position."""
    seats: tuple[Seat, ...] = Field(min_length=1)
    mediators: tuple[Slug, ...] = ()
    """Personas that talk in every thread of the cohort without taking part."""
    treatment: Slug | None = None
    """The treatment of this cohort; left out: drawn, so that arms are as equal in number as can be."""
    count: int = Field(default=1, ge=1, le=10_000)
    """How many cohorts like this one."""

    @property
    def members(self) -> int:
        """How many participants and mediators there are in all cohorts like this one."""
        return self.count * (len(self.mediators) + sum(seat.count for seat in self.seats))


class Treatment(Document):
    """One arm: variables, and what it changes in stages, personas and model settings."""

    id: Slug
    name: str = ""
    levels: dict[Slug, Annotated[str, StringConstraints(max_length=200)]] = {}
    """The level of each factor that this arm has, by factor, for the data; pairings fill it in."""
    variables: dict[str, Any] = {}
    """Values for `{{name}}` in texts; they win over the experiment's."""
    stages: dict[Slug, dict[str, Any]] = {}
    """Fields to replace, by stage id. Nested objects are merged, everything else is replaced."""
    personas: dict[Slug, dict[str, Any]] = {}
    """Fields to replace, by persona id."""
    model: dict[str, Any] = {}
    """Model settings to replace for every persona."""
    leave_out: tuple[Slug, ...] = ()
    """Stages that participants of this arm do not see."""
    order: dict[Slug, tuple[Slug, ...]] = {}
    """The order of the stages of a named block, by block; it names every stage of the block once."""


class Limits(Document):
    """How much may be spent on an experiment."""

    calls: int | None = Field(default=None, ge=1)
    """How many calls of real models it may make, failed ones included; when one more is wanted it is paused. Left out:
    no limit."""


class Source(Document):
    """What an experiment was made from, when it was not written as it stands; importers fill this in."""

    format: Slug
    """The format of the original, such as `workbook`. Its own data files are written beside the others."""
    facts: dict[str, JsonValue] = {}
    """What the original says and the experiment does not need in order to run."""


class AgentConfig(BaseModel):
    """The private part of an agent's profile: a snapshot of its persona and model settings as they ran."""

    model_config = ConfigDict(frozen=True)

    persona_id: str
    text: str
    attributes: dict[str, Any]
    model: ModelSettings
    chat: ChatSettings
    pages: PageSettings = PageSettings()
    role: str = ""
    goal: str = ""
    backstory: str = ""
    script: dict[str, dict[str, Any]] = {}
    prompts: dict[str, PromptItems] = {}
    prompt_token_budget: int | None = None
    mock: MockScript | None = None
