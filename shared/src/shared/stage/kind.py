"""What every kind of stage promises."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import ClassVar, Generic, Literal, TypeVar
from uuid import UUID

from pydantic import BaseModel

from shared.contracts.experiment import StageConfig
from shared.contracts.models import Hint
from shared.contracts.prompt_items import PromptItems
from shared.errors import Problem
from shared.stage.salvage import Salvaged, UnusableReply
from shared.stage.tables import Answered, Column, Reporter, Table
from shared.stage.talk import Block, Lateness, Minutes, Utterance, Wave
from shared.stage.view import PAGE, Ask, Json, LabView, Member, OwnView, Thread, View


def heading(stage: StageConfig) -> dict[str, Json]:
    """What the page of every kind shows on top; the start of a public view."""
    return {
        "id": stage.id,
        "kind": stage.kind,
        "title": stage.title,
        "description": stage.description,
        "info": stage.info,
    }


ConfigT = TypeVar("ConfigT", bound=StageConfig)
Unanswered = Literal["wait", "pass", "default", "salvage", "drop"]


class StageKind(ABC, Generic[ConfigT]):
    """One kind of stage. A folder in `stages/` holds one subclass, its config, its rules and its tests.

    Asks. An agent's work on a stage is what `next_asks` names. Each ask is answered once, under its key; then
    `next_asks` is asked again, in the same transaction. When it names nothing more for a member, `page_answer` says
    what the member's page comes to, and the member goes on unless `blocked_by` objects. People give the page as a
    whole.

    Shared asks (`has_shared_asks`): who is asked what depends on what others answered, as in a game. Then the cohort is
    settled after every answer: from all answers `public_state` makes the state, scripted members act (`play_out`),
    `next_asks` names what is due for each of the others, and its asks are opened for agents and people. Every view of
    the stage has the state; of others' answers a member's view has nothing else. So what must not be
    known yet, such as a move in an open round, stays out of the state; what only some may know is kept out of
    `public_view` and `describe` for the others. A prompt is made of the state and answers that stood when the ask was
    opened; an agent's answer is checked against those that stood while its model was thinking.

    Views. What concerns one member gets an `OwnView`, made with that member's eyes; what is made of everybody's answers
    gets a `LabView`. `shared.views` makes both, and a type checker refuses one where the other is wanted.

    Threads (`thread`). In a `conversation` members say what they like, in turns that `next_wave` gives. `minutes` are
    written by the lab: every settling adds what `minutes` names and what does not stand there yet; nobody posts.
    """

    config_model: ClassVar[type[StageConfig]]
    thread: ClassVar[Literal["conversation", "minutes"] | None] = None
    """What stands in the stage's thread; None: it has none."""
    has_private_threads: ClassVar[bool] = False
    """Every participant has a thread of their own with the mediators, instead of one for all."""
    has_shared_asks: ClassVar[bool] = False
    reads_texts: ClassVar[bool] = False
    """Whether a model's reply to an ask may be a text without the fields that were asked for."""
    table: ClassVar[Table | None] = None
    """What the data have of this kind beside pages and answers; None: nothing."""
    tells_itself: ClassVar[bool] = False
    """Whether `steps` and `outcome` tell somebody who looks on what happens, instead of who has answered what."""
    players: ClassVar[int | None] = None
    """How many participants a cohort must have for this kind; None: any number."""

    @abstractmethod
    def problems(self, stage: ConfigT, earlier: Sequence[StageConfig]) -> list[Problem]:
        """What the types cannot say about this stage; `where` is relative to the stage. `earlier` come before it."""

    @abstractmethod
    def draw(
        self, stage: ConfigT, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random
    ) -> dict[str, Json]:
        """Roles, orders and groups for `members`, extending what was `drawn` for earlier ones; never changing it."""

    def matched(self, stage: ConfigT, rng: Random) -> dict[str, Json]:
        """What is drawn alike for a replicate in every arm of a design; `draw` is given it as drawn before."""
        return {}

    @abstractmethod
    def public_view(self, stage: ConfigT, view: OwnView) -> dict[str, Json]:
        """What the page of this stage shows to `view.me`; a field is private until it is named here."""

    @abstractmethod
    def describe(self, stage: ConfigT, view: OwnView, *, with_answers: bool, ask: Ask | None = None) -> list[Block]:
        """The stage display: what a prompt shows of this stage to `view.me`.

        `ask` is what the prompt asks for on this stage; None when it only looks back at it.
        """

    @abstractmethod
    def task(self, stage: ConfigT, ask: Ask, view: OwnView) -> str:
        """What an agent is told to do here, in plain words; the end of the default prompt."""

    @abstractmethod
    def check_answer(self, stage: ConfigT, ask: Ask, answer: Json, view: OwnView) -> Json:
        """The answer to this ask as it is stored; a person's page has the key PAGE.

        Raises:
            InvalidInput: with every problem; `where` is the path into the answer.
        """

    @abstractmethod
    def blocked_by(self, stage: ConfigT, view: OwnView) -> list[str]:
        """Why `view.me` cannot go on yet, in words for the member; empty when they can."""

    @abstractmethod
    def next_asks(self, stage: ConfigT, view: OwnView) -> list[Ask]:
        """What the lab wants of `view.me` now and has no answer to: nothing, one thing, or several at once.

        Of agents; with shared asks of people and mediators, too. What is open already is named again. Empty for a kind
        in which a model has nothing to say. Called by settling for everybody where asks are shared, else when the
        member takes a step.
        """

    @abstractmethod
    def reply_model(self, stage: ConfigT, ask: Ask, view: OwnView) -> type[BaseModel] | None:
        """The shape a model's reply must have for this ask (or for talking, purpose `talk`); None: no model here."""

    @abstractmethod
    def answer_from_reply(self, stage: ConfigT, ask: Ask, reply: BaseModel) -> Json:
        """The answer that a validated reply stands for, before `check_answer`."""

    @abstractmethod
    def on_unanswered(self, stage: ConfigT, ask: Ask, reason: str) -> Unanswered:
        """What becomes of a member whose ask will get no answer (the model failed for good, time ran out).

        `drop`: the member is out. `pass`: null is stored as the answer, marked as not valid. `default`: the same with
        `default_answer`. `salvage`: what `salvaged` finds is stored. `wait`: nothing is stored, and the member stays
        where they are. `reason` is `invalid` when replies came that could not be used, and `failed` when none came.
        """

    @abstractmethod
    def columns(self, stage: ConfigT) -> list[Column]:
        """The columns of this stage in the wide table, without the stage's id in front."""

    @abstractmethod
    def cells(self, stage: ConfigT, answer: Json) -> dict[str, Json]:
        """The values of `columns` for one member's page answer; a missing value is left out."""

    @abstractmethod
    def example(self) -> ConfigT:
        """A small, complete stage of this kind; documentation and the contract suite use it."""

    def answered(self, stage: ConfigT, key: str, answer: Json) -> list[Answered]:
        """The questions to which the answer that is stored under this key says something; empty: to none of the page.

        What is stored under the key of one question gives the line that the page will give for it.
        """
        cells = self.cells(stage, answer) if key == PAGE else {}
        return [
            Answered(column.name, column.label, column.type, cells[column.name])
            for column in self.columns(stage)
            if column.name in cells
        ]

    def turn_taking(self, stage: ConfigT) -> str | None:
        """By which rule it is decided who speaks in the stage's thread; None without a thread."""
        return None

    def has_replies_and_reactions(self, stage: ConfigT) -> bool:
        """Whether messages of the stage's thread may answer one another and be reacted to."""
        return False

    def script_problems(self, stage: ConfigT, script: Mapping[str, Json] | None) -> list[Problem]:
        """What is wrong with a persona's script for this stage; `where` is relative to the script.

        None: a persona without a model has no script for it, so that it would pass through the stage.
        """
        return []

    def texts(self, stage: ConfigT, view: OwnView) -> list[str]:
        """What the stage tells `view.me` in a prompt before its display, whether it is asked or looked back at."""
        return [stage.description]

    def to_read(self, stage: ConfigT, view: OwnView, ask: Ask | None = None) -> str:
        """What a person in the reader's place has to read before they answer this ask: what is new to them.

        Without an ask: before they go on from a page on which nothing is asked of them.
        """
        blocks = self.describe(stage, view, with_answers=False, ask=ask)
        return "\n".join([*self.texts(stage, view), *(block.text for block in blocks)])

    def to_write(self, stage: ConfigT, ask: Ask, answer: Json) -> str:
        """What a person would have to write for this answer; what is chosen is not written."""
        return ""

    def default_prompt(self, stage: ConfigT) -> PromptItems | None:
        """The prompt of participants whose persona has none of its own for this stage; None: that of the house."""
        return None

    def mock_hints(self, stage: ConfigT, ask: Ask, view: OwnView) -> dict[str, Hint]:
        """Facts from which the mock answers this ask; `suggest:<field>` is what it says in a field of the reply."""
        return {}

    def manner(self, script: Mapping[str, Json]) -> tuple[str, ...]:
        """What the mock says in any conversation for a persona with this script for stages of this kind."""
        return ()

    def text_form(self, stage: ConfigT, ask: Ask) -> str | None:
        """How a model is told to reply in plain text; None: with an object. Only for kinds that read texts."""
        return None

    def reply_from_text(self, stage: ConfigT, ask: Ask, view: OwnView, text: str) -> dict[str, Json]:
        """The fields that a reply to an ask without any object stands for. Only for kinds that read texts.

        Raises:
            InvalidInput: it stands for none; the message tells the model why.
        """
        raise NotImplementedError(f"{type(self).__name__} reads no texts")

    def most_unusable_replies(self, stage: ConfigT) -> int | None:
        """After how many replies that cannot be used an ask is given up; None: after as many as the model may try."""
        return None

    def most_replies(self, stage: ConfigT) -> int | None:
        """How many replies of a model one member may be asked for on this stage; None: nobody knows beforehand."""
        return None

    def page_answer(self, stage: ConfigT, view: OwnView) -> Json | None:
        """The page of `view.me`, of whom nothing is wanted any more, made of the entries; None: there is none to write.

        It is stored as final, without another check, before `blocked_by` is asked.
        """
        return None

    def shown_answer(self, answer: Json) -> Json:
        """What its author is shown of an answer that is stored: all of it, unless it says more than the author knew."""
        return answer

    def default_answer(self, stage: ConfigT, ask: Ask, view: OwnView, last_reply: str) -> Json:
        """What is stored for an ask without answer when `on_unanswered` says `default`.

        `last_reply` is what the model wrote at last, as it came; empty when there was nothing.
        """
        raise NotImplementedError(f"{type(self).__name__} has no default answers")

    def salvaged(self, stage: ConfigT, ask: Ask, view: OwnView, replies: Sequence[UnusableReply]) -> Salvaged:
        """What replies that cannot be used still answer when `on_unanswered` says `salvage`; the oldest comes first."""
        raise NotImplementedError(f"{type(self).__name__} salvages nothing")

    def public_state(self, stage: ConfigT, view: LabView) -> dict[str, Json]:
        """What everybody's answers come to, as far as members may know of them. Only for shared asks.

        Made of all answers each time, so that nothing can count twice; `view` has no state yet.
        """
        return {}

    def play_out(self, stage: ConfigT, view: LabView, rng_of: Callable[[str], Random]) -> dict[tuple[UUID, str], Json]:
        """The answers that scripted members give now, by member and key; called until there are none.

        Only for shared asks. `rng_of` gives the chance that belongs to a path below the stage, such as `m1/round:7`.
        """
        return {}

    def minutes(self, stage: ConfigT, view: LabView) -> Minutes:
        """What everybody who is there has heard, in its order; the view has the state.

        What only some have heard yet is not in it. Where members come and go lines may come between others: the thread
        has them in the order in which they were first named. Only for kinds whose thread is minutes.
        """
        raise NotImplementedError(f"{type(self).__name__} keeps no minutes")

    def table_rows(self, stage: ConfigT, view: LabView) -> list[dict[str, Json]]:
        """The rows of `table` for one cohort; answers that are not valid are among them."""
        return []

    def reporter(self, stage_ids: Sequence[str]) -> Reporter | None:
        """Whoever makes a report of `table`, of these stages of one experiment; None: the table speaks for itself."""
        return None

    def steps(self, stage: ConfigT, view: View) -> Sequence[str]:
        """What has happened so far, in words for somebody who looks on.

        A line for each step, in their order. Lines are only ever added, so that each is told once.
        """
        return ()

    def outcome(self, stage: ConfigT, view: View) -> str | None:
        """What it all came to, in one line for somebody who looks on; None as long as it goes on."""
        return None

    def time_limit_seconds(self, stage: ConfigT) -> float | None:
        """How long the stage's thread may last from its opening; None: no limit."""
        return None

    def outlasts_its_limit(self, stage: ConfigT, thread: Thread) -> bool:
        """Whether the thread goes on when its time is up, until `next_wave` says that it is over."""
        return False

    def too_early(self, stage: ConfigT, thread: Thread) -> str | None:
        """Why nobody may leave the thread yet, in words for a member; None when they may."""
        return None

    def topics(self, stage: ConfigT) -> Sequence[tuple[str, str]]:
        """Id and name of what is talked about, one after another; empty: no topics."""
        return ()

    def message_cost(self, stage: ConfigT, participants: int, mediators: int) -> str | None:
        """What a message costs with so many agents in the thread, in words for a researcher; None: nothing is said."""
        return None

    def lateness(self, stage: ConfigT) -> Lateness | None:
        """How replies are said that messages have overtaken; None: they are dropped, and every message asks anew."""
        return None

    def post_limit(self, stage: ConfigT) -> tuple[int, float] | None:
        """How many messages a person may post in the thread within how many seconds; None: any number."""
        return None

    def may_not_speak(self, stage: ConfigT, thread: Thread, member_id: UUID) -> str | None:
        """Why this person may not say anything now, in words for them; None when they may."""
        return None

    def may_call_off(self, stage: ConfigT, thread: Thread, member_id: UUID) -> bool:
        """Whether this person may call off the reply that is being thought about."""
        return False

    def next_wave(self, stage: ConfigT, thread: Thread, rng: Random) -> Wave:
        """Who is asked to speak now; `rng` is of this turn alone. Only for kinds whose thread is a conversation."""
        raise NotImplementedError(f"{type(self).__name__} is no conversation")

    def utterance(self, stage: ConfigT, purpose: str, reply: Json) -> Utterance:
        """What a model's reply says in the thread, for this purpose. Only for kinds whose thread is a conversation.

        Raises:
            ValidationError: the reply has another shape.
        """
        raise NotImplementedError(f"{type(self).__name__} is no conversation")
