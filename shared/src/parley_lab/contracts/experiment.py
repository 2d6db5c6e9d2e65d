"""What an experiment file says apart from the fields of stage kinds: seats, personas, treatments, chat settings.

The fields of stages belong to the kinds; `parley_lab.design` combines both.
"""

from operator import not_
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PrivateAttr,
    StringConstraints,
)

from parley_lab.base.looks import is_seen
from parley_lab.base.rules import Rule, as_level, is_empty, is_none
from parley_lab.contracts.mock_script import MockScript
from parley_lab.contracts.models import ModelSettings
from parley_lab.contracts.prompt_items import PromptItems
from parley_lab.contracts.texts import Text

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
"""An id that is safe in paths, columns and file names."""

PersonaId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
"""The id of a persona. Surveys make ids with capitals, which count: `R_3AbC` and `R_3abc` are two."""

Pace = Literal["live", "fast"]
ModelMode = Literal["mock", "real"]
Joining = Literal["drawn", "by_arrival"]
Audience = Literal["private", "mediators", "cohort"]
PauseReason = Literal["requested", "lab_stopped", "calls_spent", "key_refused"]
"""Why an experiment is paused: on request, its process has stopped, its limit of calls is used up, or a key was
refused."""


class Document(BaseModel):
    """Base of all that a researcher writes: unknown fields are errors, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)


def seen_or_empty(name: str) -> str:
    """The name itself.

    Raises:
        ValueError: it consists of characters that show nothing.
    """
    if name and not is_seen(name):
        raise ValueError("a name that can be seen, or none")
    return name


ShownName = Annotated[str, AfterValidator(seen_or_empty)]
"""A name that others can see; it may be empty."""


class Profile(Document):
    """How others see a participant; the same shape for people and agents."""

    name: ShownName = ""
    """Shown with everything the participant says; empty: `Participant 1`, `Participant 2` by seat, in a
    file with `language: de` `Person 1`, `Person 2`."""
    avatar: str = ""
    """One emoji or a short text."""
    pronouns: str = ""


class ChatSettings(Document):
    """How an agent behaves in conversations."""

    words_per_minute: float | None = Field(default=None, ge=0)
    """Typing speed: a reply takes its words / this many minutes, times 0.75 to 1.25, at most 10 s. 0: no time. None: in
    pace `live` the mean of the agents of its cohort that have one; no time when none has.
    """
    min_messages_before_responding: int = Field(default=0, ge=0)
    """The agent says nothing before the thread has this many messages, system messages included."""
    can_self_trigger: bool = False
    """Whether the agent may answer when the newest message is its own."""
    max_responses: int | None = Field(default=None, ge=0)
    """How many messages of its own the agent may have in one thread, the opening line included. None: unlimited."""
    initial_message: str = ""
    """A fixed opening line, said once when the agent enters the thread. Empty: one agent opens an empty room."""


class StagedChat(ChatSettings):
    """Chat settings as they are kept with an agent: with those that are others in some stages."""

    by_stage: dict[str, dict[str, Any]] = {}


class StageSettings(Document):
    """What is different for an agent in one stage."""

    chat: dict[str, Any] = {}
    """Fields of `chat` to replace."""
    model: dict[str, Any] = {}
    """Fields of `model` to replace; the provider stays."""


class PageSettings(Document):
    """How long an agent takes for pages, and for what it is asked in interviews and games, in pace `live`."""

    reading_words_per_minute: float | None = Field(default=240, ge=0)
    """Reading speed: before the agent goes on, it takes the words that it is shown / this many minutes, times 0.75 to
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
    """The stage opens when all who are still in the cohort have arrived; it waits for open seats."""
    show_progress: bool = True
    """Whether those who wait see how many have arrived."""
    at_most_seconds: float | None = Field(default=None, gt=0)
    """How long people wait here at most, from when the first of them comes; left out: as long as it takes."""
    then: Literal["release", "go_on", "fill"] = "release"
    """What happens when that time is up. `release`: who waits is out, with the outcome `released`. `go_on`: the stage
    opens for those who have come, and empty seats are closed; are they too few, they are released. `fill`: agents take
    the empty seats, and the stage opens once they have come."""
    fill_with: PersonaId | None = None
    """The id of the persona that takes the empty seats, with `then: fill`."""


class Together(Progress):
    """When a stage for several participants opens; by default when the whole cohort is there."""

    wait_for_all: bool = True
    """The stage opens when all who are still in the cohort have arrived; it waits for open seats."""


class Stay(Document):
    """How long members stay on a stage; the server keeps the time, and pauses stop it."""

    at_least_seconds: float | None = Field(default=None, gt=0)
    """How long people stay before they may go on, from when the stage is open to them."""
    at_most_seconds: float | None = Field(default=None, gt=0)
    """How long participants may stay."""
    then: Literal["leave", "go_on"] = "leave"
    """What happens when that time is up. `leave`: they are out, with the outcome `dropped_out`. `go_on`: they go on,
    with what they have filled in."""
    default: dict[str, JsonValue] | None = None
    """The answer to what is not filled in when that time is up; left out: none."""

    @property
    def is_timed(self) -> bool:
        return self.at_least_seconds is not None or self.at_most_seconds is not None


class Made:
    """What was made from a stage's configuration, to be made only once; `of` is that stage, since a copy of a stage
    brings what was made from the original. Stages are equal whatever was made from them."""

    __slots__ = ("of", "parts")

    def __init__(self) -> None:
        self.of: StageConfig | None = None
        self.parts: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Made)

    __hash__ = None  # type: ignore[assignment]  # it is no key


LookBack = Literal["all", "texts", "none"]
"""What people may look back at once they have gone on from a stage."""
Paste = Literal["allowed", "refused"]
"""Whether people may paste texts, or drop them, into what they write."""


class StageConfig(Document):
    """What stages of every kind have."""

    _made: Made = PrivateAttr(default_factory=Made)
    _is_of_reader: bool = PrivateAttr(default=False)

    id: Slug
    """Unique in the experiment; names the stage in treatments, data and prompts."""
    kind: str
    name: str = ""
    """The heading that participants see; empty: the id."""
    description: Text = ""
    """Text above the stage's content. `{{name}}` is replaced by the variable with that name."""
    info: Text = ""
    """Additional information, shown on request."""
    links: bool = False
    """Whether people can follow web addresses in the texts of this stage, in those of the file and in what members
    say."""
    look_back: LookBack | None = None
    """What people may look back at here once they have gone on; left out: as the experiment says. Prompts of agents
    stay as they are."""
    record: Literal["process"] | None = None
    """`process`: how each answer and message came about is recorded here. Left out: as the experiment says."""
    paste: Paste | None = None
    """Whether people may paste here; left out: as the experiment says."""
    progress: Progress = Progress()
    audience: Audience = "private"
    """Who sees what a participant answers here, besides the participant. `mediators`: the mediators of the cohort, by
    name, on later stages. `cohort`: the others of the cohort and its mediators, once the stage is over for all of them.
    """
    when_gone: Literal["wait", "go_on", "replace"] = "wait"
    """What happens here when a participant whose page was open is gone. `wait`: nothing. `go_on`: they are out
    (`dropped_out`), and the others go on without them. `replace`: an agent plays on in their place."""
    gone_after_seconds: float = Field(default=60, ge=0)
    """How long they must be gone before that."""
    stand_in: PersonaId | None = None
    """The id of the persona that plays on for a person who is gone, with `when_gone: replace`."""
    stay: Stay = Stay()
    """How long members stay here."""
    show_if: Rule | None = Field(default=None, exclude_if=is_none)
    """The stage is for those of whom this is true when they come to it; all others go on without it. Left out: for all.
    """
    block: Slug | None = None
    """The name of a block of stages whose order a treatment may change."""

    @property
    def title(self) -> str:
        return self.name or self.id

    @property
    def is_of_reader(self) -> bool:
        """Whether values of one reader are in its texts: others read something else in the same places."""
        return self._is_of_reader

    def of_reader(self) -> Self:
        """The same stage, marked as filled for one reader."""
        found = self.model_copy()
        found._is_of_reader = True
        return found


class Persona(Document):
    """Who an agent is: text and model settings. The run keeps a snapshot, stored with the member."""

    id: PersonaId
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
    """The model of the persona, and how it is called."""
    mock: MockScript | None = None
    """What the mock does when it speaks for the persona: lines, silence, latencies, failures. For rehearsals."""
    chat: ChatSettings = ChatSettings()
    by_stage: dict[Slug, StageSettings] = {}
    """What is different in some stages, by stage id: how the agent talks there, and which model speaks for it."""
    mediates_in: tuple[Slug, ...] | None = None
    """The stages in which it sits as a mediator; left out: all in which members talk."""
    pages: PageSettings = PageSettings()
    """How long the agent takes for pages in pace `live`."""
    transfers: Literal["accept", "decline", "ask"] = "accept"
    """What the agent does when it is offered a place in another cohort. `ask`: its model decides, and without a usable
    reply in time it accepts; otherwise no model is asked."""
    player: Literal["agent", "script"] = "agent"
    """`agent`: a model speaks for the persona. `script`: it acts by its script, without any model."""
    script: dict[Slug, dict[str, Any]] = {}
    """How it acts without a model, by stage id or by kind; the entry of a stage overrides that of its kind. With the
    mock, an agent follows it, too. A `script` passes through stages without scripts and gives no answer there.
    """
    prompts: dict[Slug, PromptItems] = {}
    """What the model is shown, by stage id or by kind; the entry of a stage overrides that of its kind."""
    prompt_token_budget: int | None = Field(default=None, ge=1)
    """The limit of tokens of prompts (estimated: 4 characters each); the oldest messages are left out to keep it. None:
    three quarters of the model's context, at most 96,000.
    """


class HowMany(Document):
    """How many people of a group have a value."""

    least: int = Field(default=0, ge=0, le=1000)
    most: int = Field(ge=1, le=1000)


class MatchValue(Document):
    """What people are matched by: their answer to a question of an earlier stage, an assigned variable, or rules."""

    stage: Slug | None = None
    question: str | None = Field(default=None, min_length=1, max_length=200)
    """A column of the stage, such as the id of a question."""
    variable: str | None = Field(default=None, min_length=1, max_length=200)
    """The name of an assigned variable, with a path into it where it is an object (`role.side`)."""
    rules: dict[Annotated[str, StringConstraints(min_length=1, max_length=200)], Rule] = Field(
        default={}, exclude_if=not_
    )
    """Rules over answers of earlier stages and assigned variables, by name: a person's value is the name of the first
    that holds."""


Composition = dict[Annotated[str, StringConstraints(max_length=200)], Annotated[int, Field(ge=1, le=1000)] | HowMany]
"""How many people of a group have each value; a value that is not named has no place in it."""


class GroupKind(Document):
    """One of several compositions of groups."""

    id: Slug
    """Names its groups in the data."""
    want: Composition = Field(min_length=1)
    treatment: Slug | None = None
    """The treatment of its groups; left out: drawn."""


class Match(Document):
    """The rule by which people who are there become a group; without it the first who came do."""

    by: MatchValue | None = None
    values: Literal["same", "different"] | None = None
    """Whether the people of a group all have the same value, or each another one."""
    want: Composition = {}
    """How many people of a group have each value, such as `{for: 1, against: 1}`."""
    kinds: tuple[GroupKind, ...] = ()
    """Several compositions; a group is made of the first for which enough people are there."""
    balance: bool = False
    """With `kinds`: of those for which enough people are there, the one whose groups have had the fewest people."""
    grows_to: int | None = Field(default=None, ge=2, le=1000, exclude_if=is_none)
    """How many people a group has at most: those who fit together later join one of their kind, until one of it has
    gone on from the stage. Left out: they become a group of their own."""
    never_again: bool = Field(default=False, exclude_if=not_)
    """Whether the people of a group have not been in one before: strangers in each of several rounds."""
    confirm_seconds: float | None = Field(default=None, ge=5, le=600)
    """How long people have to confirm that they are there before a group is made of them; one who does not is passed
    over until they do. Left out: they are not asked."""


class Seat(Document):
    """A place in a cohort and who plays it: a persona, or a person who joins."""

    persona: PersonaId | None = None
    """The id of the persona that takes this seat; leave it out for a person."""
    persona_for: dict[Annotated[str, StringConstraints(max_length=200)], PersonaId] = Field(default={}, exclude_if=not_)
    """Other personas for this seat, by the value of the first person of the group (`match.by`): with
    `{for: con, against: pro}` the agent holds the opposite opinion."""
    open: bool = False
    """True: a person takes this seat by joining."""
    each_row: bool = False
    """True: one seat for each persona of the table in `personas_from`."""
    treatment: Slug | None = None
    """The treatment of the participant on this seat, where treatments are allocated by participant; left out: drawn."""
    count: int = Field(default=1, ge=1, le=10_000)
    """How many seats like this one."""


class CohortPlan(Document):
    """A group of participants who share stages, as the file declares it."""

    id: Slug | None = None
    """Names the cohort in the data; left out: c1, c2, ... by position."""
    seats: tuple[Seat, ...] = Field(min_length=1)
    mediators: tuple[PersonaId, ...] = ()
    """Personas that talk in every thread of the cohort without being participants."""
    treatment: Slug | None = None
    """The treatment of this cohort, or of all its participants; left out: drawn, with arms of nearly equal size."""
    count: int = Field(default=1, ge=1, le=10_000)
    """How many cohorts like this one."""
    made: Literal["at_start", "on_arrival", "when_together"] = "at_start"
    """When its cohorts are made. `on_arrival`: each when a person comes and no other cohort has a place.
    `when_together`: each of people who are there at the stage that `at` names. `count` says how many at most."""
    at: Slug | tuple[Slug, ...] | None = None
    """The stage where people meet, with `made: when_together`: each goes through the stages before it alone. Of several
    stages, each is one where they leave their group and meet anew."""
    match: Match | None = Field(default=None, exclude_if=lambda match: match is None)
    """The rule by which people become a group, with `made: when_together`; left out: the first who came do."""
    groups_of: int | None = Field(default=None, ge=1)
    """Its seats are dealt into cohorts of so many, in a drawn order; left out: all sit in one."""
    draws: dict[Slug, dict[str, JsonValue]] = {}
    """Values that are set for this cohort, not drawn, by stage; the kind of the stage says which values it takes."""

    @property
    def meetings(self) -> tuple[str, ...]:
        """The stages where people meet, in order."""
        return () if self.at is None else (self.at,) if isinstance(self.at, str) else self.at

    @property
    def participants(self) -> int:
        """How many seats it has, before they are dealt."""
        return sum(seat.count for seat in self.seats)

    @property
    def people(self) -> int:
        """How many of its seats people take."""
        return sum(seat.count for seat in self.seats if seat.open)

    @property
    def cohorts(self) -> int:
        """How many cohorts it comes to."""
        return self.count * (1 if self.groups_of is None else -(-self.participants // self.groups_of))

    @property
    def members(self) -> int:
        """The number of participants and mediators in all cohorts of this plan."""
        return self.count * self.participants + self.cohorts * len(self.mediators)


class Treatment(Document):
    """One arm: variables, and changes to stages, personas and model settings."""

    id: Slug
    name: str = ""
    levels: dict[Slug, Annotated[str, StringConstraints(max_length=200), BeforeValidator(as_level)]] = {}
    """The level of each factor in this arm, a text or a number, by factor, for the data; factors and pairings fill it
    in."""
    variables: dict[str, Any] = {}
    """Values for `{{name}}` in texts; they override the experiment's."""
    stages: dict[Slug, dict[str, Any]] = {}
    """Fields to replace, by stage id. Nested objects are merged, everything else is replaced."""
    personas: dict[PersonaId, dict[str, Any]] = {}
    """Fields to replace, by persona id."""
    model: dict[str, Any] = {}
    """Model settings to replace for every persona."""
    leave_out: tuple[Slug, ...] = ()
    """Stages that participants of this arm do not see."""
    keep: tuple[Slug, ...] = Field(default=(), exclude_if=is_empty)
    """Stages that only arms have which keep them: all others leave them out. What no arm keeps is in all of them."""
    order: dict[Slug, tuple[Slug, ...]] = {}
    """The order of the stages of a named block, by block; it names every stage of the block once."""


class Completion(Document):
    """What a participant is shown when their part is over: its value at the service that sent them."""

    code: str = Field(default="", max_length=200)
    """The completion code of this outcome."""
    redirect: str = Field(default="", max_length=2000, pattern=r"^(https?://\S+)?$")
    """The address to which the person's page leads on."""


STILL_THERE: Final = "Are you still there?"
"""What an attention check asks where no words are given; pages ask it in their language."""


class AttentionChecks(Document):
    """How people are asked whether they are still there. Experimenters can send a check at any time."""

    every_seconds: float | None = Field(default=None, gt=0)
    """People are asked this long after they joined, and again this long after each answer. Left out: by hand only."""
    seconds: float = Field(default=60, gt=0)
    """How long they have for an answer."""
    then: Literal["remove", "alert"] = "remove"
    """What happens without one. `remove`: they are out, with the outcome `attention_failed`. `alert`: the experimenter
    is told, and they may still answer."""
    text: str = STILL_THERE
    """What they are asked."""


class Limits(Document):
    """How much an experiment may spend."""

    calls: int | None = Field(default=None, ge=1)
    """How many calls of real models it may make, failed ones included; one more pauses the experiment. Left out: no
    limit."""


class Source(Document):
    """The original of an experiment that an importer has converted; importers fill this in."""

    format: Slug
    """The format of the original, such as `workbook`. Data files in that format are written as well."""
    facts: dict[str, JsonValue] = {}
    """Facts of the original that the experiment does not need to run."""
