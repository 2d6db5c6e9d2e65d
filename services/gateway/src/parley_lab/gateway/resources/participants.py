"""What participants send and see: themselves, their pages, what is wanted from them."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, JsonValue

from parley_lab.contracts.experiment import LookBack
from parley_lab.contracts.join_page import MOST_PARAMETERS
from parley_lab.gateway.resources.appearance import AppearanceResource
from parley_lab.gateway.resources.base import Request, Resource, StorableJson, StorableText, TrueOrFalse
from parley_lab.gateway.resources.members import ProfileRequest, ProfileResource
from parley_lab.kinds.stages import AnyPage

KeptParameters = Annotated[
    dict[Annotated[StorableText, Field(max_length=64)], Annotated[StorableText, Field(max_length=200)]],
    Field(max_length=MOST_PARAMETERS, examples=[{"STUDY_ID": "6012f"}]),
]


class JoinRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"profile": {"name": "Ada", "pronouns": "she/her"}}]})

    cohort_id: UUID | None = None
    """The cohort to join; left out: by the rule of the experiment (`joining` in its file)."""
    external_id: StorableText | None = Field(default=None, min_length=1, max_length=200, examples=["5f2b..."])
    """Who the participant is at the service that sent them. The same one again gives the place back. A placeholder that
    was not filled in, such as `{{%PROLIFIC_PID%}}`, is refused: all who come with it would share a place."""
    parameters: KeptParameters = Field(default={})
    """What else is kept with the participant, by the names in the file (`join.parameters`); others are refused, and
    placeholders left out."""
    token: StorableText | None = Field(default=None, max_length=200)
    """The token from before, where the file demands it of those who come back (`rejoin: token`)."""
    profile: ProfileRequest | None = None


class StageMark(Resource):
    """One stage on the way of a participant."""

    id: str = Field(examples=["talk"])
    title: str = Field(examples=["The conversation"])
    """Empty for a stage to which they have not come: its name may tell too much."""
    kind: str = Field(examples=["group_chat"])
    state: Literal["done", "current", "waiting", "locked"]
    """`waiting`: the participant is there, and it is not open yet; `locked`: they have not come to it."""
    look_back: LookBack
    """What is shown of it once the participant has gone on: all of it, its texts, or nothing."""


class AskResource(Resource):
    """Something that the lab wants from the participant now; the page of its stage shows what it is about."""

    id: UUID
    stage_id: str = Field(examples=["game"])
    key: str = Field(examples=["round:7/move"])
    """Names the answer on its stage."""
    purpose: str = Field(examples=["move"])
    """What it is for, in a word of the stage's kind."""
    opened_at: datetime
    form: dict[str, JsonValue] | None = None
    """A JSON Schema of the answer, as in `forms` of the page; null when it is not asked any more."""
    ends_at: datetime | None = None
    """Until when it can be answered; null: no time ends it, or a pause holds that time."""


class AnswerRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"answer": "cooperate"}]})

    answer: StorableJson
    """What the ask's stage wants; the page says what that is."""


class AnsweredAsk(Resource):
    """A final answer."""

    ask_id: UUID
    stage_id: str = Field(examples=["game"])
    key: str = Field(examples=["round:7/move"])
    answer: Any = Field(examples=["cooperate"])
    """As it is stored."""


class PartialAnswerResource(Resource):
    """What the participant has begun to answer: unchecked, and shown to no one else."""

    answer: Any = Field(examples=[{"age": 33}])
    """As it was saved last; null: nothing was."""
    saved_at: datetime | None


class CheckResource(Resource):
    """The participant is asked whether they are still there: `POST /v1/me/check` says so."""

    text: str = Field(examples=["Are you still there?"])
    code: Literal["still_there"] | None = None
    """What is asked in the lab's usual words, which pages say in their own; null for words of the experiment."""
    due_at: datetime | None
    """Until when: the time begins with the first answer of `GET /v1/me` that has the check. Null while the experiment
    is paused."""


class CompletionResource(Resource):
    """What the end of a part is worth."""

    code: str = Field(examples=["C1A2B3"])
    redirect: str = Field(examples=["https://app.prolific.com/submissions/complete?cc=C1A2B3"])


class NoticeResource(Resource):
    """Something that the lab has said to the participant."""

    id: UUID
    text: str = Field(examples=["We start again in five minutes."])
    created_at: datetime


class HelpRequest(Request):
    text: StorableText = Field(min_length=1, max_length=2000, examples=["The page does not load."])
    """What the participant needs help with; the experimenter is told."""


class OfferResource(Resource):
    """The participant is offered a move to another group: `POST /v1/me/transfer` answers."""

    due_at: datetime | None
    """Until when; null while the experiment is paused."""


class WaitingResource(Resource):
    """The participant waits for others at a stage that is not open."""

    stage_id: str = Field(examples=["talk"])
    missing: int | None = Field(examples=[2])
    """How many more have to come; null when the stage does not say."""
    names: list[str] = Field(examples=[["Bea"]])
    """The names of those among them whom the participant has met on an earlier stage."""
    until: datetime | None
    """When the wait is over at the latest; null: there is no limit, a pause holds it, or the time is up."""
    arrived: int | None = Field(examples=[2])
    """Where a group is made of those who are there: how many people are there for the next one; elsewhere null."""
    expected: int | None = Field(examples=[4])
    """How many people that group has; elsewhere null."""
    position: int | None = Field(examples=[3])
    """Which place the participant has in the row of those who are there for a group; elsewhere null."""
    wait_seconds: int | None = Field(examples=[40])
    """How long they may have to wait for a group if people come as in the last five minutes; null: it is not known."""
    confirm_until: datetime | None
    """A group is complete, and the participant is asked to say until then that they are there (`POST /v1/me/confirm`);
    else null."""
    is_passed_over: bool
    """They have not said so in time: no group is made with them before they do."""


class CompanionResource(Resource):
    """Another member whom the participant meets on this stage, or waits with. Agents look like people."""

    member_id: UUID
    profile: ProfileResource
    presence: Literal["connected", "gone"]
    """`gone`: they have had no live stream for twenty seconds or more. Agents are always connected, and so is a
    member whom an agent has replaced."""
    is_ready: bool | None
    """Whether they are through with this stage, or ready to end its conversation; while the participant waits: whether
    they have come. Null: a mediator, whom no one waits for."""


class TransferAnswer(Request):
    accept: TrueOrFalse
    """Without a yes the participant's part is over (`transfer_declined`)."""


TimerPurpose = Literal["may_go_on", "stage", "conversation", "check", "transfer"]


class TimerResource(Resource):
    """A time that runs for the participant, or is held by a pause."""

    purpose: TimerPurpose
    """What its end means: they may go on; their time on the stage is up; the conversation is over; the attention check
    or the offer of a move has to be answered by then."""
    stage_id: str | None = Field(examples=["talk"])
    """The stage that it belongs to; null: to none."""
    ends_at: datetime | None
    """By the clock of the lab; null while a pause holds it."""
    left_ms: int | None = Field(examples=[None])
    """What is left of it while a pause holds it; else null."""


class Me(Resource):
    """Everything that the shell of a participant's page shows."""

    member_id: UUID
    cohort_id: UUID
    experiment_id: UUID
    profile: ProfileResource
    status: str = Field(examples=["in_progress"])
    status_reason: str | None
    is_over: bool = False
    """Whether the participant's part has ended, in whatever way (`status`): nothing can be done any more."""
    is_paused: bool = False
    """The experiment or this participant is paused: what is posted or answered is refused (409, reason `paused`)."""
    is_held: bool = False
    """The lab cannot go on with the group just now, and tries again by itself; the experimenter has an alert."""
    language: str | None = Field(default=None, examples=["en"])
    """The language of the experiment, for the words of its pages; null: the browser's."""
    check: CheckResource | None = None
    """The attention check that is open; until it is answered everything else is refused (409, `attention_check`)."""
    completion: CompletionResource | None = None
    """Once the part is over: the code and the link of its outcome (`status`), where the file has them."""
    notices: list[NoticeResource] = Field(default=[], examples=[[]])
    """What the lab has said to the participant and they have not read yet, the oldest first."""
    offer: OfferResource | None = None
    """The move that is offered; until it is answered everything else is refused (409, `transfer_pending`)."""
    waiting: WaitingResource | None = None
    """Whom the participant waits for, on a stage that is not open."""
    members: list[CompanionResource] = Field(default=[], examples=[[]])
    """The other members whom the participant meets on the stage where they are; while they wait, those whom they have
    met on an earlier stage. Empty where one meets no one."""
    stages: list[StageMark]
    stage_id: str | None = Field(examples=["talk"])
    """Where the participant is; null after the last stage."""
    asks: list[AskResource] = Field(default=[], examples=[[]])
    """What is wanted from the participant now, the oldest first; a page to be filled in is not named."""
    timers: list[TimerResource] = Field(default=[], examples=[[]])
    """What runs for the participant now, the first to end first."""
    now: datetime
    """The time of the lab: clocks of browsers are wrong by minutes."""
    cursor: str = Field(examples=["6f0f7a5e-1111-5222-8333-444455556666:17"])
    """Follow the live stream from here to miss nothing of what this answer does not show."""


class JoinPageResource(Resource):
    """What a link leads to, before a person joins."""

    code: str = Field(examples=["wN3cXW8Yw9yQ4mXb"])
    """As it is written in the link, however it was typed."""
    title: str = Field(examples=["How we talk about buses"])
    text: str = Field(examples=["It takes ten minutes."])
    external_id_parameter: str = Field(examples=["PROLIFIC_PID"])
    """The parameter of the link's address to send as `external_id`; empty: none."""
    parameters: list[str] = Field(examples=[["STUDY_ID", "SESSION_ID"]])
    """Further parameters of the link's address to send, in `parameters`."""
    language: str | None = Field(examples=["en"])
    state: Literal["open", "full", "paused", "over", "not_started"]
    may_get_free: bool = False
    """Whether a place of a full study may get free: people are in it whose place others get when they go."""
    record: Literal["process"] | None = None
    """`process`: the study records how answers come about, and the page says so."""
    completion: CompletionResource | None = None
    """What the file says for people who find no place, while the study is full."""
    appearance: AppearanceResource


class LinkJoinRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"join_key": "8f14e45fceea167a5a36dedd4bea2543"}]})

    join_key: StorableText = Field(min_length=8, max_length=100)
    """Chosen by the client and kept in its browser; the same one again gives the same place back, with a new token."""
    external_id: StorableText | None = Field(default=None, min_length=1, max_length=200)
    """The participant's id elsewhere; the same one again gives the same place back as well. A placeholder that was not
    filled in, such as `{{%PROLIFIC_PID%}}`, is refused, unless the `join_key` has a place: all who come with it would
    share one."""
    is_rehearsal: TrueOrFalse = False
    """A made-up person of a rehearsal: the data tell them apart from people (`rehearsed`)."""
    parameters: KeptParameters = Field(default={})
    """Those of the link's address that `GET /v1/join/{code}` names, with their values; others are refused, and
    placeholders left out. The first that a participant comes with are kept."""
    token: StorableText | None = Field(default=None, max_length=200)
    """The token from before, where the file demands it of those who come back by their id (`rejoin: token`)."""
    profile: ProfileRequest | None = None


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


class ReasonResource(Resource):
    """Why the participant cannot go on yet, for pages with words of their own."""

    code: str = Field(examples=["write_more_messages"])
    """Does not change; `other` for a kind of others that gives none."""
    params: dict[str, JsonValue] = Field(default={}, examples=[{"count": 2}])
    """The values that such words need."""
    text: str = Field(examples=["Please write 2 more messages."])


class ThreadState(Resource):
    id: UUID
    last_seq: int = Field(examples=[4])
    has_ended: bool


class QuestionForm(Resource):
    """How to put a question to the participant: enough for a page that knows nothing of the stage's kind."""

    ask_id: UUID | None
    """The ask that the answer is given to (`/v1/me/asks/{ask_id}/answer`); null: it is given with going on."""
    key: str = Field(examples=["round:7/move"])
    """Names the answer on its stage; empty for the answer to the whole page."""
    form: dict[str, JsonValue]
    """A JSON Schema of the answer with a `title` for each field, in the order of the page. `x-show-if` has the rule by
    which a field is shown, given the values of the others, and `x-required` beside it says whether it needs a value
    then; `x-widget` and `x-words` say how it is best shown."""
    saved: Any = None
    """What the participant has begun to answer, as it was saved last (`PUT` to `.../answer`); null: nothing."""


class OthersAnswer(Resource):
    """What another participant answered, on a stage whose answers are for the cohort."""

    member_id: UUID
    profile: ProfileResource
    answer: Any


class StayResource(Resource):
    """How long the participant stays on the stage where they are."""

    may_go_on_at: datetime | None
    """From when they may go on; null: at any time, or the time is stopped by a pause."""
    ends_at: datetime | None
    """When their time is up; null: never, or the time is stopped by a pause."""


class QuestionProcess(Request):
    """How the answer to one question came about."""

    pasted_characters: int = Field(default=0, ge=0, le=10_000_000)
    keys: int = Field(default=0, ge=0, le=10_000_000)
    """How many keys were pressed in its field."""
    out_of_focus: int = Field(default=0, ge=0, le=10_000_000)
    """How often the page lost the focus meanwhile: another window, tab or program."""
    seconds: float = Field(default=0, ge=0, le=10_000_000, allow_inf_nan=False)
    """How long its field had the focus; of the whole page: since it was shown."""


class ProcessRequest(Request):
    """How an answer or a message came about, where the experiment records it."""

    key: StorableText = Field(max_length=200, examples=[""])
    """Which answer of the stage: the `key` of its form, empty for the whole page; of a message: `message:` and its
    `client_message_id`."""
    questions: dict[Annotated[StorableText, Field(max_length=200)], QuestionProcess] = Field(max_length=500)
    """By question; the entry with an empty name is about the whole form, or the message."""


class StageTexts(Resource):
    """What there was to read on a stage from which the participant has gone on."""

    title: str
    description: str
    info: str
    text: str
    """The text of the page, where its kind has one."""
    media: list[dict[str, JsonValue]] = Field(default=[], examples=[[]])
    """Images, sound and films of the page, as its view had them."""
    questions: list[dict[str, JsonValue]] = Field(default=[], examples=[[]])
    """What was asked there, as the view had it."""


class StagePage(Resource):
    """Everything that one stage shows to the participant."""

    stage_id: str = Field(examples=["talk"])
    kind: str = Field(examples=["group_chat"])
    state: Literal["done", "current", "waiting"]
    lock: Lock | None
    view: AnyPage | None
    """What the page shows; its fields belong to the kind. Null while the stage is locked, and once the participant has
    gone on where only its texts may be looked back at."""
    texts: StageTexts | None = None
    """What may be looked back at in place of `view`."""
    links: bool = False
    """Whether web addresses in the texts of the stage may be followed (`links` in the file)."""
    record: Literal["process"] | None = None
    """`process`: the page tells how each answer and message came about (`PUT /v1/me/stages/{id}/process`)."""
    paste: Literal["allowed", "refused"] = "allowed"
    """Whether texts may be pasted here; a field with an `x-paste` of its own says so itself."""
    answer: Any
    """The participant's own answer; null before there is one."""
    answers_of_others: list[OthersAnswer] = Field(default=[], examples=[[]])
    """Once the stage is over for the whole cohort, what the others answered there, where the experiment says so."""
    stay: StayResource | None = None
    """The times of the stage, while the participant is on it; null where it has none."""
    blocked_by: list[str] = Field(examples=[["Please answer the questions on this page."]])
    """Why the participant cannot go on yet, without an answer given with the request to go on."""
    reasons: list[ReasonResource] = Field(default=[], examples=[[]])
    """The same as `blocked_by`, for pages with words of their own."""
    thread: ThreadState | None
    asks: list[AskResource] = Field(default=[], examples=[[]])
    """What is wanted from the participant on this stage now, the oldest first."""
    forms: list[QuestionForm] = Field(default=[], examples=[[]])
    """A form for each answer that the participant can give here now."""


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


class GoOnRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"topic": "cost"}]})

    topic: StorableText = Field(min_length=1, max_length=100)
    """The topic that the person is done with, so that saying so again says nothing about the next one."""
