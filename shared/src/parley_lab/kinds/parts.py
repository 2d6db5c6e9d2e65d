"""The parts of a stage kind: what a stage has beyond a page to read. A stage has only the parts that it needs.

Each part belongs to one configured stage and is made anew for every use; it keeps no state.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar, Literal
from uuid import UUID

from pydantic import BaseModel

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.languages import NameLanguage
from parley_lab.contracts.models import Hint
from parley_lab.contracts.prompt_items import PromptItems
from parley_lab.kinds.data import Data
from parley_lab.kinds.form import Form
from parley_lab.kinds.reads import Read
from parley_lab.kinds.talk import Minutes, TalkRules, Utterance, Wave
from parley_lab.kinds.view import Ask, Json, LabView, Member, OwnView, Thread, View


@dataclass(frozen=True, slots=True)
class UnusableReply:
    """A model's unusable reply: its text after its thoughts, the object in it, if any, and the fault."""

    raw: str
    parsed: Mapping[str, Json] | None
    error: str


@dataclass(frozen=True, slots=True)
class Substitute:
    """What is stored without a usable answer: `value`, marked as not valid.

    It is stored without `check`, so it may say that there is no answer. `missing` gives the reason by field of the
    value, when the other fields are valid answers.
    """

    value: Json
    missing: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class FilledIn:
    """What counts of an answer that was filled in and not sent: stored like an answer, and marked.

    `marks` says by field of the form where its value is from: `begun`, from what was filled in, or `default`, from the
    file; the field "" means the whole answer. `missing` gives the reason by field of the value, as in a `Substitute`.
    """

    value: Json
    marks: Mapping[str, Literal["begun", "default"]]
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def holds_any(self) -> bool:
        """Whether any field of the value is not missing."""
        return len(self.missing) < len(self.value)


@dataclass(frozen=True, slots=True)
class NotTaken:
    """Values of an answer that ran out of time. `rest`: those that are not stored. `missing`: the reason why a field of
    the stored answer is null."""

    rest: Mapping[str, Json]
    missing: Mapping[str, str]


WithoutAnswer = Substitute | Literal["drop"]
"""The outcome of a question without a usable answer; `drop`: the member is out."""


class Question(ABC):
    """One question to a member, made from the ask and from what the member may see at that time.

    Prompts are made as of the opening of the ask; answers are checked against the current view. `StageKind` says what
    the words for callers mean.
    """

    @abstractmethod
    def form(self) -> Form:
        """The form of the question for a person. Called for pages; by scripts that fill it in; for files, where the
        stage has a default answer."""

    @abstractmethod
    def task(self) -> str:
        """The instruction for an agent; the end of the default prompt. Called for prompts."""

    @abstractmethod
    def reply_model(self) -> type[BaseModel]:
        """The schema of a model's reply. Called for prompts, and by the agent-worker for each reply."""

    @abstractmethod
    def answer_from_reply(self, reply: BaseModel) -> Json:
        """The answer in a validated reply, before `check`. Called by the agent-worker, where it calls `check`."""

    @abstractmethod
    def check(self, answer: Json) -> Json:
        """The answer in the form that is stored; idempotent.

        Called before an answer is stored: by the gateway, under the lock of the person's row or where the move fails if
        anything has happened since; by the agent-worker, under that of the agent's, or with a state without any.

        Raises:
            InvalidInput: with every problem; `where` is the field of the form.
        """

    @abstractmethod
    def without_answer(self, replies: Sequence[UnusableReply]) -> WithoutAnswer:
        """What happens when the model has failed for good. `replies`: its unusable replies, the oldest first.

        Called by the agent-worker, under the lock of the agent's row, and by `passed` with no replies.
        """

    def passed(self) -> Substitute | None:
        """What counts instead of an answer when the member has gone, on a stage with a state: the same, if it says so.

        It is stored, marked as not valid, and stays when the member comes back. None: nothing is; the state may wait.
        Called by settling, and for data and previews that make a state anew.
        """
        found = self.without_answer(())
        return found if isinstance(found, Substitute) else None

    def paused(self) -> Substitute | None:
        """What counts instead of the answer of a member who is paused, once the others wait for nothing else: the same
        as without an answer, else as of a member who has gone.

        It is stored as `passed` is, and stays when the member goes on. Called by settling.
        """
        found = self.without_answer(())
        return found if isinstance(found, Substitute) else self.passed()

    counts_unsent: ClassVar[bool] = False
    """Whether an answer that was filled in and not sent counts when the time is up, if it passes `check`. That of a
    consent, a move or an attempt does not."""

    def filled_in(self, begun: Json, default: Mapping[str, Json]) -> FilledIn | None:
        """What counts of what a person has filled in, and not sent, when their time is up or their part is over.

        `begun`: anything, and not checked; None: nothing. `default`: what the file gives for fields that are not filled
        in. None: nothing of `begun` counts. Called under the lock of the member's row.
        """
        if not self.counts_unsent or begun is None:
            return None
        try:
            return FilledIn(self.check(begun), {"": "begun"})
        except InvalidInput:
            return None

    def not_taken(self, answer: Json, stored: Json) -> NotTaken | None:
        """The values that `check` left out of an answer; None: it left out nothing. Called by the gateway when a person
        goes on; the data have the rest beside unsent answers."""
        return None

    def text_form(self) -> str | None:
        """The instruction for a reply in plain text; None: the model replies with an object. Called for prompts."""
        return None

    def read_text(self, text: str) -> Mapping[str, Json] | None:
        """The fields in a reply without an object; None: such replies are not read. Called by the agent-worker before
        `answer_from_reply`.

        Raises:
            InvalidInput: the text holds no answer; the message tells the model why.
        """
        return None

    def news(self) -> str | None:
        """The text that a person has to read before answering; None: the whole page.

        Called by the agent-worker, for the time that a person would take.
        """
        return None

    def written(self, answer: Json) -> str:
        """The text that a person would have to type for this answer; choices are not typed. Called where `news` is."""
        return ""

    def hints(self) -> Mapping[str, Hint]:
        """Facts for the mock; `suggest:<field>` is its value for a field of the reply. Called for prompts."""
        return {}


class Questions(ABC):
    """The questions of a stage. Each ask is answered once, under its key."""

    most_unusable_replies: int | None = None
    """An ask is given up after so many unusable replies; None: after all the attempts of the model."""
    is_consent: ClassVar[bool] = False
    """Whether they only ask whether one takes part: those who go after that have answered nothing yet."""
    must_be_own: ClassVar[bool] = False
    """Whether nothing counts in place of the participant's own answer, such as a consent: staff let no one go on."""

    @abstractmethod
    def due(self, view: OwnView) -> list[Ask]:
        """The questions to `view.me` that have no answer yet: none, one, or several at once.

        Open asks are named again. With a state it is called by settling, for all members, and the result must not
        depend on the presence of `view.me`: one who is there is asked, and an ask of one who has gone is answered with
        `passed`. Called without a state in each step of an agent. Called for previews, too.
        """

    @abstractmethod
    def question(self, view: OwnView, ask: Ask) -> Question | None:
        """The question of this ask; None when its key asks nothing. Called wherever a method of a question is.

        A person's whole page is asked with the key PAGE, without being named by `due`.
        """

    def most_replies(self) -> int | None:
        """The most replies of one member's model on this stage; None: their number is open.

        Called for files, for how many calls a run takes at most, and for previews.
        """
        return None

    def outline(self, draws: Mapping[str, Json]) -> Sequence[tuple[str, Sequence[str]]]:
        """Lines with the texts that people read on the stage, task by task, each with the id of its row; before them
        all, the lines of what they read before the first task.

        Empty: the questions on the page of the stage say it. Called for `parley validate --explain`.
        """
        return ()

    def shown(self, answer: Json) -> Json:
        """What its author is shown of a stored answer: all of it, unless it holds more than the author knew.

        Called for pages, also for those whom the audience of the stage lets read it. The page of `Done` is such an
        answer, too.
        """
        return answer


class Draws(ABC):
    """Draws at the opening of the stage and when participants come: roles, orders, lengths."""

    @abstractmethod
    def draw(self, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        """The draws for the participants who have come; extends what was `drawn` for earlier ones.

        Called by settling when the stage opens, and again for every newcomer; for previews, too. It changes none of the
        given draws: those of the file for the cohort, and those of `beginning`. `members` are participants alone, in
        the order of their paths; each has its `seat`.
        """

    def beginning(self, rng: Random, language: NameLanguage) -> dict[str, Json]:
        """What is drawn before any member comes; `draw` gets it as drawn before. Called before the first `draw`.

        `rng` is the same in all arms of a design: a replicate shares across them what is drawn by it. Names are drawn
        in this `language`.
        """
        return {}

    def problems(self, given: Mapping[str, Json]) -> list[Problem]:
        """The problems of a file's values for one cohort; `where` is relative to them. `draw` gets the valid ones.
        Called for files."""
        return [Problem(name, "a draw of this stage", "nothing: all of it is drawn") for name in given]

    def brought(
        self, member_id: UUID, page: Json | None, elsewhere: Mapping[str, Json] | None = None
    ) -> Mapping[str, Json] | None:
        """What counts as drawn for a member who came to the cohort when the stage was behind them: by their page.

        `page`: None for one who has none, such as an agent that staff have added. `elsewhere`: what their former cohort
        had drawn, if they came when they were on the stage. None: they are drawn for like others.

        Called by settling, and before a member is moved to another cohort.
        """
        return None

    def has_room(self, brought: Mapping[str, Json], held: Mapping[str, Json]) -> bool:
        """Whether a member who would bring this may come to a cohort whose participants hold that. Called before a
        member is moved there."""
        return True


class Talk(ABC):
    """A conversation: members talk freely, in turns that `next_wave` gives.

    What gets a `Thread` is called under the thread's lock, or where the message fails if the thread has changed since;
    `next_wave` for previews, too, with an empty one.
    """

    rules: TalkRules

    @abstractmethod
    def next_wave(self, thread: Thread, rng: Random) -> Wave:
        """Who is asked to speak now; `rng` is used for this turn only. Called when the thread opens, and after all that
        happens in it: messages, replies without words, silences, members who come or leave."""

    @abstractmethod
    def task(self, view: OwnView, purpose: str) -> str:
        """The instruction for an agent that is asked for this purpose. Called for prompts."""

    @abstractmethod
    def reply_model(self, purpose: str) -> type[BaseModel]:
        """The schema of a model's reply for this purpose. Called for prompts."""

    @abstractmethod
    def utterance(self, purpose: str, reply: Json) -> Utterance:
        """The message in a model's reply. Called by the agent-worker when the reply is there, without a lock.

        Raises:
            ValidationError: the reply does not match the schema.
        """

    @abstractmethod
    def too_early(self, thread: Thread) -> str | None:
        """Why no member may leave the thread yet, in words for a member; None when they may. Called when an agent wants
        to; people are told by `StageKind.completion`."""

    def may_not_speak(self, thread: Thread, member_id: UUID) -> str | None:
        """Why this person may not say anything now, in words for them; None when they may. Called when they post."""
        return None

    def may_call_off(self, thread: Thread, member_id: UUID) -> bool:
        """Whether this person may cancel the agents' replies in the making. Called when they want to."""
        return False

    def outlasts_its_limit(self, thread: Thread) -> bool:
        """Whether the thread goes on after its time limit, until `next_wave` says that it is over. Called at the
        limit."""
        return False

    def message_cost(self, participants: int, mediators: int) -> str | None:
        """The calls for each message with so many agents, in words for a researcher; None: unknown. Called by `parley`
        for files, before a run."""
        return None


class Narration(ABC):
    """The events of the stage in words for onlookers, in place of who has answered what.

    The view has draws and state, but no answers. Called by `parley`, which tells of a run while it goes on, without a
    lock.
    """

    @abstractmethod
    def steps(self, view: View) -> Sequence[str]:
        """A line for each step, in order. Lines are only appended, so that each is shown once. Called after each
        event."""

    @abstractmethod
    def outcome(self, view: View) -> str | None:
        """The result in one line; None until the stage is over. Called where `steps` is."""


class Scripts(ABC):
    """How members act without a model."""

    @abstractmethod
    def problems(self, given: Mapping[str, Json] | None) -> list[Problem]:
        """The problems of a persona's script for this stage; `where` is relative to it.

        None: a persona without a model has no script for the stage. Called for files.
        """

    def play(self, view: LabView, rng_of: Callable[[str], Random]) -> dict[tuple[UUID, str], Json]:
        """The answers that scripted members give now, by member and key. Called by settling until there are none.

        A scripted member is one whose `player` is `script`; an agent's script is for the mock.
        They are stored without `check`. `rng_of` gives the random stream of a path below the stage, such as
        `m1/round:7`; use only the last part of a member's path, or the draws would depend on the cohort's position.
        Only a stage with a state is settled after every answer: on others a script answers with `page`.
        """
        return {}

    def page(self, view: OwnView, rng: Random) -> Json | None:
        """The answer of the scripted member `view.me` to the whole page of a stage without a state; None: none.

        Called in a step of the member.
        """
        return None


State = Callable[[LabView], dict[str, Json]]
Result = Callable[[LabView], dict[str, Json]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of one configured stage; None: the stage does not have the part.

    With a `state` the asks are shared: who is asked what depends on others' answers, as in a game. The cohort is then
    settled after every answer: `state` makes from all answers what members may know of them, anew each time, so that
    nothing counts twice; scripted members act; asks are opened for agents and people. Every view of the stage has the
    state, and a member's view has nothing else of others' answers. The state must leave out what no member may know
    yet, such as a move in an open round; pages and prompts leave out what only some may know. Where the state is empty
    no other member is read for prompts. The state is stored as JSON: lists keep their order, keys of objects do not.
    It depends on draws and answers, not on who is there: an ask that is due of a member who has gone is answered with
    `Question.passed`, which is stored, so that a member's return cannot undo a round.

    `talk` is a conversation in the stage's thread. `minutes` are what all members have heard, written into the thread
    by settle; members do not post. They leave out what only some have heard so far, and each line keeps its key.

    `reads` names the earlier stages whose data the stage uses; every view has them. `result` is made of all answers in
    the end: settle makes it once, when all who are still there are through, and it is stored like the state. Only
    stages that read all members' parts of this one get it, by its `Data.group_columns`; the pages and prompts of this
    stage do not, so that no member learns it early.
    """

    questions: Questions | None = None
    draws: Draws | None = None
    state: State | None = None
    reads: tuple[Read, ...] = ()
    result: Result | None = None
    talk: Talk | None = None
    minutes: Callable[[LabView], Minutes] | None = None
    narration: Narration | None = None
    data: Data = field(default_factory=Data)
    scripts: Scripts | None = None
    names_others: bool = False
    """Whether prompts or pages name other members although nothing is said and no asks are shared; then these are read
    for them."""
    is_each_alone: bool = False
    """Whether what is drawn and asked of a member depends on no other, although the lab draws or settles here: members
    of one cohort may then have the stage in different forms."""
    players: tuple[int, int | None] = (0, None)
    """The fewest and the most participants of a cohort; None: no limit."""
    prompt: PromptItems | None = None
    """The prompt of participants whose persona has none for this stage; None: the default prompt."""

    @property
    def has_thread(self) -> bool:
        return self.talk is not None or self.minutes is not None

    @property
    def is_private(self) -> bool:
        """Whether every participant is alone with the mediators."""
        return self.talk is not None and self.talk.rules.is_private


def plays_together(parts: Parts) -> bool:
    """Whether what comes next on the stage is made of all members' answers; members are in it from its opening."""
    return parts.state is not None and not parts.is_each_alone


def lets_scripts_pass(parts: Parts) -> bool:
    """Whether a script goes on without an answer where it has none: something is asked or said, of each alone."""
    return parts.state is None and (parts.questions is not None or parts.has_thread)


def shows_members(parts: Parts) -> bool:
    """Whether the page names the members whom one meets on the stage, by their profiles."""
    return parts.names_others or (parts.talk is not None and not parts.is_private)


def tells_of_others(stage: StageConfig, parts: Parts) -> bool:
    """Whether a member's view of the stage may hold anything of other members: who they are, what they did or said."""
    # One's own answers of an earlier stage may name others, too.
    is_shared = parts.names_others or parts.has_thread or bool(parts.reads) or stage.audience != "private"
    return is_shared or ((parts.state is not None or parts.draws is not None) and not parts.is_each_alone)


def acts_on_moves(parts: Parts) -> bool:
    """Whether the lab itself does something when a member comes to the stage, once it is open, or leaves it."""
    return any(part is not None for part in (parts.draws, parts.state, parts.result, parts.talk, parts.minutes))
