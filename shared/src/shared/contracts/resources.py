"""What the REST API takes and gives: the same shapes for every client, whatever the stage kinds are."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from shared.contracts.experiment import ModelMode, Pace, Persona
from shared.storable import is_storable_text, unstorable

DEEPEST: Final = 32


class Resource(BaseModel):
    """Base of what the API gives."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Request(BaseModel):
    """Base of what the API takes: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def _storable_text(value: object) -> object:
    if isinstance(value, str) and not is_storable_text(value):
        raise ValueError("text without NUL and without broken characters is expected")
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("text that is more than white space is expected")
    return value


def storable_json(value: Any) -> Any:
    """The value itself, when Postgres can hold it and give it back unchanged.

    Raises:
        ValueError: it holds NUL or broken characters, a number that JSON does not know, or too many levels.
    """
    for problem in unstorable(value, deepest=DEEPEST):
        place = f" at {problem.where}" if problem.where else ""
        raise ValueError(f"{problem.expected} is expected{place}")
    return value


StorableText = Annotated[str, BeforeValidator(_storable_text)]
StorableJson = Annotated[Any, AfterValidator(storable_json)]
MessageText = Annotated[StorableText, Field(min_length=1, max_length=10_000), AfterValidator(_not_blank)]


class ProblemItem(Resource):
    """One thing that is wrong with the input."""

    where: str = Field(examples=["stages[2].questions[0].id"])
    """The path into the input."""
    found: str = Field(examples=["'age' again"])
    expected: str = Field(examples=["an id of its own for every question"])
    wrong: str = Field(default="", examples=["the label is missing"])
    """What is wrong in words, where found and expected do not say it all."""
    hint: str = Field(default="", examples=["texts in a list need quotes"])
    """What would mend it, where that is known."""
    at: str = Field(default="", examples=["line 14, stages[2] (before).questions[0] (age).id"])
    """The same place for people, with its line and the ids of the parts, where they are known."""

    @model_serializer(mode="wrap")
    def _without_empty_words(self, fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in fields(self).items() if value or name not in ("wrong", "hint", "at")}


class ProblemDetails(Resource):
    """Any answer that is not a success (RFC 9457, `application/problem+json`)."""

    type: str = Field(examples=["urn:parley:problem:conflict"])
    title: str = Field(examples=["Conflict"])
    status: int = Field(examples=[409])
    detail: str = Field(examples=["This stage is not open yet."])
    """What happened and what to do, for people."""
    code: str = Field(examples=["conflict"])
    """What happened, for programs; does not change."""
    can_retry: bool = Field(examples=[False])
    """Whether the same request can succeed later."""
    correlation_id: str = Field(examples=["4b0c2f6f3f0a4b7b9f1c7a0d6f1f2c55"])
    """Names this request in the logs of every service."""
    reason: str | None = Field(default=None, examples=["stage_locked"])
    """For conflicts: a stable word."""
    problems: list[ProblemItem] = Field(default=[], examples=[[]])
    """Everything that is wrong with the input, at once."""


class Health(Resource):
    status: Literal["ok"] = "ok"


class ProviderResource(Resource):
    provider: str = Field(examples=["openai"])
    workers: int = Field(examples=[2])
    """How many workers call its models now; with none, experiments that need it are not started."""


class WorkerResource(Resource):
    name: str = Field(examples=["process 7 on agent-worker-2"])
    providers: list[str] = Field(examples=[["mock", "openai"]])
    started_at: datetime
    seen_at: datetime
    """When the worker last said that it is there."""


class ProvidersResource(Resource):
    providers: list[ProviderResource]
    workers: list[WorkerResource]


class Readiness(Resource):
    status: Literal["ready"] = "ready"
    database: bool = True
    bus: bool = Field(examples=[True])
    """Whether the bus answers; without it the gateway stays ready, and what it accepts is published later."""


class ExperimentProgress(Resource):
    members_by_status: dict[str, int] = Field(examples=[{"in_progress": 3, "completed": 1}])
    """Participants, by status."""
    messages: int = Field(examples=[12])
    model_calls: int = Field(examples=[20])
    cohorts: int = Field(examples=[2])
    cohorts_running: int = Field(examples=[1])


ExperimentStatus = Literal["draft", "running", "paused", "ended"]


class ExperimentSummary(Resource):
    id: UUID
    name: str = Field(examples=["Free night buses"])
    study: str = Field(examples=["Night buses"])
    status: ExperimentStatus
    pace: Pace
    model_mode: ModelMode
    seed: int = Field(examples=[7])
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    paused_at: datetime | None = None
    """Since when nothing happens in it; null while it goes on."""
    pause_reason: Literal["requested", "lab_stopped"] | None = None
    """Why it is paused: somebody asked for it, or the process that ran it was stopped."""


class ExperimentResource(ExperimentSummary):
    is_test: bool = Field(examples=[False])
    document_hash: str = Field(examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"])
    """The same for two files that say the same."""
    progress: ExperimentProgress


class MeasureTable(Resource):
    """A table that a kind of stage makes of its data."""

    name: str = Field(examples=["pairs"])
    columns: list[str]
    rows: list[dict[str, Any]]


class ExperimentMeasures(Resource):
    """What the data come to, as far as they are there."""

    experiment_id: UUID
    status: str = Field(examples=["ended"])
    model_mode: ModelMode
    tables: list[MeasureTable]


class ExperimentList(Resource):
    experiments: list[ExperimentSummary]
    next_after: str | None
    """Give this as `after` to read on; null at the end."""


class ExperimentCheck(Resource):
    """What a valid experiment file comes to."""

    name: str = Field(examples=["Free night buses"])
    document_hash: str
    stages: list[str] = Field(examples=[["welcome", "before", "talk", "after"]])
    treatments: list[str] = Field(examples=[["control", "warm"]])
    cohorts: int = Field(examples=[2])
    members: int = Field(examples=[10])
    """Seats and mediators of all cohorts."""


class ImportedExperiments(Resource):
    """What was stored of a file with several experiments."""

    experiments: list[ExperimentResource]
    warnings: list[str] = Field(examples=[["experimental_setting!B3: this model is not in the list of known ones"]])
    """What was forgiven in the file."""


class ImportCheck(Resource):
    """What the valid experiments in a file come to."""

    experiments: list[ExperimentCheck]
    warnings: list[str] = Field(examples=[[]])
    """What was forgiven in the file."""


class ExperimentChange(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"model_mode": "mock"}]})

    model_mode: ModelMode
    """`mock` or `real`; can be changed while the experiment is a draft."""


class PersonaResource(Resource):
    """A persona of the library."""

    id: str = Field(examples=["ana"])
    version: int = Field(examples=[1])
    """Counts the changes, from 1."""
    created_at: datetime
    updated_at: datetime
    persona: Persona
    """The persona as experiment files have it, defaults included."""


class PersonaList(Resource):
    personas: list[PersonaResource]


class PersonaImport(Resource):
    """What became of the personas of a file, by id."""

    created: list[str] = Field(examples=[["ana"]])
    replaced: list[str] = Field(examples=[[]])
    unchanged: list[str] = Field(examples=[["ben"]])
    """They were in the library as they are in the file."""


class PersonaMessageRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Who are you?", "client_message_id": "m-1"}]})

    text: MessageText
    client_message_id: StorableText = Field(min_length=1, max_length=100)
    """Chosen by the client; the same one again gives the message that stands, and says nothing."""
    model_mode: ModelMode = "mock"
    """`real` calls and pays the persona's model for the reply to this message."""


class ReplyFailure(Resource):
    """Why a message has no reply."""

    code: str = Field(examples=["auth_error"])
    detail: str = Field(examples=["The provider of the model does not accept its key."])


class PersonaMessage(Resource):
    """One message of a test chat with a persona."""

    id: UUID
    seq: int = Field(examples=[1])
    author: Literal["you", "persona"]
    text: str = Field(examples=["Who are you?"])
    created_at: datetime
    reply: Literal["awaited", "given", "failed"] | None
    """What became of the reply to a message of yours; null for those of the persona."""
    failure: ReplyFailure | None = None


class PersonaChat(Resource):
    """The test chat with a persona, as far as it was asked for."""

    persona_id: str = Field(examples=["ana"])
    experiment_id: UUID | None
    """Its events are streamed at `/v1/experiments/{experiment_id}/stream`; null before the first message."""
    model_mode: ModelMode | None
    """Of the last message."""
    is_awaiting_reply: bool
    messages: list[PersonaMessage]
    next_after_seq: int | None
    """Give this as `after_seq` to read on; null at the end."""


class PromptMessage(Resource):
    role: Literal["system", "user", "assistant"]
    content: str


class PromptResource(Resource):
    """What a model is shown, and the shape that its reply must have."""

    draft_id: UUID | None
    """The draft that it is for; null when nothing is wanted of the agent now."""
    was_sent: bool
    """Whether a model was shown exactly this."""
    messages: list[PromptMessage]
    reply_schema: dict[str, Any]
    """The JSON Schema of the reply."""
    purpose: str = Field(examples=["talk"])
    fingerprint: str
    """The SHA-256 of the messages."""
    left_out: int = Field(examples=[0])
    """How many of the oldest messages are not shown, so that the prompt stays within its budget."""


class CohortResource(Resource):
    id: UUID
    path: str = Field(examples=["c1"])
    name: str = Field(examples=["morning"])
    treatment_id: str = Field(examples=["control"])
    status: Literal["running", "ended"]
    locked: bool
    open_seats: int = Field(examples=[1])
    created_at: datetime
    ended_at: datetime | None


class CohortList(Resource):
    cohorts: list[CohortResource]
    next_after: UUID | None
    """Give this as `after` to read on; null at the end."""


class ProfileResource(Resource):
    """How others see a member; the same shape for people and agents."""

    name: str = Field(default="", examples=["Ada"])
    avatar: str = Field(default="", examples=["🦊"])
    pronouns: str = Field(default="", examples=["she/her"])


class ProfileRequest(Request):
    """How the participant wants to be seen; what is left out is given by the lab."""

    name: StorableText = Field(default="", max_length=100, examples=["Ada"])
    avatar: StorableText = Field(default="", max_length=32, examples=["🦊"])
    pronouns: StorableText = Field(default="", max_length=40, examples=["she/her"])


class JoiningResource(Resource):
    """How a person came to a cohort."""

    rule: Literal["drawn", "one_arm", "by_arrival", "named"]
    """`drawn`: the arm was drawn. `named`: the request to join named the cohort. The others: in order."""
    draw: int | None = Field(default=None, examples=[7])
    """The number of the draw in the experiment."""
    block: int | None = Field(default=None, examples=[3])
    """The number of the permuted block."""
    probability: float | None = Field(default=None, examples=[0.5])
    """That of this arm, given all draws before."""


class MemberResource(Resource):
    """A member as the experimenter sees them, private parts included."""

    id: UUID
    path: str = Field(examples=["c1/m2"])
    kind: Literal["participant", "mediator"]
    player: Literal["person", "agent", "script"]
    profile: ProfileResource
    agent: dict[str, Any] | None
    """The private configuration of an agent: persona, model settings, chat settings."""
    status: str = Field(examples=["in_progress"])
    status_reason: str | None
    stage_id: str | None = Field(examples=["talk"])
    """Where the member is; null after the last stage."""
    stage_ids: list[str]
    cohort_id: UUID
    cohort: str = Field(examples=["morning"])
    treatment_id: str = Field(examples=["control"])
    joining: JoiningResource | None
    """How somebody who joined came to this cohort; null for agents and for seats that nobody has taken."""
    is_test: bool
    created_at: datetime
    joined_at: datetime | None
    arrived_at: datetime | None
    ended_at: datetime | None


class MemberList(Resource):
    members: list[MemberResource]
    next_after: UUID | None
    """Give this as `after` to read on; null at the end."""


class RetryOfFailed(Resource):
    """What is tried again."""

    members: int
    """How many members who had failed go on."""
    asks: int
    """How many questions, pages and moves are asked again."""


class CallLimitRequest(Request):
    """How many calls of real models an experiment may make in all, failed ones included."""

    calls: int = Field(ge=1, le=2**31 - 1)


class CallLimitResource(Resource):
    """How many calls of real models an experiment may make, and has made."""

    calls: int
    made: int


class RemovalRequest(Request):
    reason: StorableText = Field(min_length=1, max_length=500, examples=["asked to be taken out"])


class JoinRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"profile": {"name": "Ada", "pronouns": "she/her"}}]})

    cohort_id: UUID | None = None
    """The cohort to join; left out: by the rule of the experiment (`joining` in its file)."""
    profile: ProfileRequest | None = None


class StageMark(Resource):
    """One stage on the way of a participant."""

    id: str = Field(examples=["talk"])
    title: str = Field(examples=["The conversation"])
    kind: str = Field(examples=["group_chat"])
    state: Literal["done", "current", "locked", "upcoming"]
    """`locked`: the participant is there, and it is not open yet."""


class AskResource(Resource):
    """Something that the lab wants from the participant now; the page of its stage shows what it is about."""

    id: UUID
    stage_id: str = Field(examples=["game"])
    key: str = Field(examples=["round:7/move"])
    """Names the answer on its stage."""
    purpose: str = Field(examples=["move"])
    """What it is for, in a word of the stage's kind."""
    opened_at: datetime


class AnswerRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"answer": "cooperate"}]})

    answer: StorableJson
    """What the ask's stage wants; the page says what that is."""


class AnsweredAsk(Resource):
    """An answer that stands for good."""

    ask_id: UUID
    stage_id: str = Field(examples=["game"])
    key: str = Field(examples=["round:7/move"])
    answer: Any = Field(examples=["cooperate"])
    """As it is stored."""


class Me(Resource):
    """Everything that the shell of a participant's page shows."""

    member_id: UUID
    cohort_id: UUID
    experiment_id: UUID
    profile: ProfileResource
    status: str = Field(examples=["in_progress"])
    status_reason: str | None
    is_paused: bool = False
    """The whole experiment is paused: what is posted or answered now is refused (409, reason `paused`)."""
    stages: list[StageMark]
    stage_id: str | None = Field(examples=["talk"])
    """Where the participant is; null after the last stage."""
    asks: list[AskResource] = Field(default=[], examples=[[]])
    """What is wanted from the participant now, the oldest first; a page to be filled in is not named."""
    cursor: str = Field(examples=["6f0f7a5e-1111-5222-8333-444455556666:17"])
    """Follow the live stream from here to miss nothing of what this answer does not show."""


class Joined(Resource):
    member_id: UUID
    token: str = Field(examples=["rVQ3v3mP..."])
    """The participant's key to everything below `/v1/me`; shown this once."""
    me: Me


class Lock(Resource):
    """Why a stage is not open yet."""

    reason: str = Field(examples=["Waiting for others: 2 of 3 have arrived."])
    arrived: int | None = Field(examples=[2])
    """How many have arrived; null when the stage does not say."""
    expected: int | None = Field(examples=[3])


class ThreadState(Resource):
    id: UUID
    last_seq: int = Field(examples=[4])
    has_ended: bool


class StagePage(Resource):
    """Everything that one stage shows to the participant."""

    stage_id: str = Field(examples=["talk"])
    kind: str = Field(examples=["group_chat"])
    state: Literal["done", "current", "locked"]
    lock: Lock | None
    view: dict[str, Any] | None
    """What the page shows; its fields belong to the kind. Null while the stage is locked."""
    answer: Any
    """The participant's own answer; null before there is one."""
    blocked_by: list[str] = Field(examples=[["Please answer the questions on this page."]])
    """Why the participant cannot go on yet, without an answer given with the request to go on."""
    thread: ThreadState | None
    asks: list[AskResource] = Field(default=[], examples=[[]])
    """What is wanted from the participant on this stage now, the oldest first."""


class Page(Resource):
    """Where the participant is now, and what is to be seen there."""

    me: Me
    page: StagePage | None
    """Null after the last stage, and when the participant is not in the experiment any more."""


class AdvanceRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"answer": {"age": 33, "city": "Chur"}}]})

    from_stage_id: StorableText | None = None
    """The stage to leave; when given, the same as in the path."""
    answer: StorableJson = None
    """The answer to the page; left out where the stage takes none."""


class MessageRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Hello all!", "client_message_id": "m-1"}]})

    text: MessageText
    client_message_id: StorableText = Field(min_length=1, max_length=100)
    """Chosen by the client; the same one again gives the message that stands, and posts nothing."""
    reply_to: UUID | None = None
    """The message in the same thread that this one answers."""


class GoOnRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"topic": "cost"}]})

    topic: StorableText = Field(min_length=1, max_length=100)
    """The topic that the person is done with, so that saying so again says nothing about the next one."""


class Author(Resource):
    id: UUID
    profile: ProfileResource


class QuoteResource(Resource):
    """The message that another one answers, as far as it is shown there."""

    id: UUID
    author: Author | None
    """Null for what the lab says."""
    text: str = Field(examples=["Hello all!"])
    """At most 280 characters; what is longer ends with an ellipsis."""


Reaction = Literal["heart", "thumbs_up"]


class ReactionResource(Resource):
    """One reaction to a message, and who has it."""

    reaction: Reaction
    count: int = Field(examples=[2])
    member_ids: list[UUID]
    """Those who react so, the first one first."""


class MessageResource(Resource):
    id: UUID
    thread_id: UUID
    stage_id: str = Field(examples=["talk"])
    seq: int = Field(examples=[3])
    """1, 2, 3, ... in the thread."""
    author: Author | None
    """Null for what the lab says."""
    text: str = Field(examples=["Hello all!"])
    topic: str | None = None
    """The topic that it was said about; null in a conversation without topics."""
    reply_to: UUID | None
    """The message that this one answers."""
    quote: QuoteResource | None
    """What it answers; null, like `reply_to`, where not everybody who reads this may read that."""
    reactions: list[ReactionResource] = Field(examples=[[]])
    """Those that somebody has."""
    elapsed_ms: int = Field(examples=[4200])
    """Time since the stage opened."""
    created_at: datetime


class MessageList(Resource):
    messages: list[MessageResource]
    read_to: int = Field(examples=[3])
    """Give this as `after_seq` to read on."""
    has_ended: bool
    """Nothing more can be said in this thread."""


class StreamEvent(Resource):
    """The `data` of one server-sent event; its `id` is the cursor to resume from, its `event` the type."""

    type: str = Field(examples=["message.created"])
    cohort_id: UUID
    stream_seq: int = Field(examples=[17])
    """1, 2, 3, ... in the cohort; a participant sees only some of them."""
    at: datetime
    data: Any
    """What the event is about, as the reader may see it."""
