"""A participant, and everything that decides what they may do now."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from parley_lab.contracts.experiment import PageSettings, StageConfig
from parley_lab.contracts.turn_state import turn_of
from parley_lab.design import Resolved
from parley_lab.kinds import PAGE, Json, Member, OwnView
from parley_lab.kinds.stages import parts_of
from parley_lab.kinds.view import LastWords, Speaker, Thread, ThreadClock, Turns
from parley_lab.members.held_cohorts import began_on_clock
from parley_lab.members.stays import LEAST
from parley_lab.views.builder import Facts, own_view


@dataclass(frozen=True, slots=True)
class OpenAsk:
    """What the lab wants from a member now."""

    id: UUID
    stage_id: str
    key: str
    purpose: str
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class OpenTimer:
    """A time that runs for a person, or is held by a pause: then `due_at` is None and `left_ms` says what is left."""

    purpose: str
    stage_id: str | None
    due_at: datetime | None
    left_ms: int | None


@dataclass(frozen=True, slots=True)
class Standing:
    """A participant and everything that decides what they may do now."""

    member: Member
    experiment_id: UUID
    cohort_id: UUID
    cursor: int
    """The number of the last event of the cohort that it can show."""
    seed: int
    pace: str
    model_mode: str
    language: str | None
    status: str
    status_reason: str | None
    position: int
    stay: int
    """How often the member has moved to another cohort."""
    version: int
    stepped_version: int
    provider: str | None
    pages: PageSettings
    """How long an agent takes for pages."""
    paused_at: datetime | None
    """Since when the experiment is paused; None while it runs."""
    design: Resolved
    stage_ids: tuple[str, ...]
    unlocked: frozenset[str]
    facts: Facts
    """The facts that were read of the cohort: this member's own answers, draws, and states."""
    threads: Mapping[str, Mapping[str, Any]]
    """The threads this member may read, by stage."""
    asks: tuple[OpenAsk, ...]
    """What is open, the oldest first."""
    timers: tuple[OpenTimer, ...]
    """For a person: what runs or is held for them, and in the conversation where they are; the first to end first."""
    begun: Mapping[tuple[str, str, UUID | None], Json]
    """What a person has begun to answer, by stage, key and ask."""
    has_notices: bool
    """Whether there is something that the lab has said to this person and they have not read."""
    is_in_held_cohort: bool
    """Whether the rules of a stage of this person's cohort fail, so that the lab does nothing there for now."""
    arrived: tuple[int, int] | None
    """For a person who waits: how many have arrived at the stage, of how many who are counted."""
    is_alone: bool
    """Whether the person is on the way to a group that is made of those who are there."""

    @property
    def stage(self) -> StageConfig | None:
        """The stage this member is on; None after the last one."""
        return self.design.stage(self.stage_ids[self.position]) if self.position < len(self.stage_ids) else None

    @property
    def next_stage_id(self) -> str | None:
        """The stage after that one; None on the last one and after it."""
        following = self.stage_ids[self.position + 1 : self.position + 2]
        return following[0] if following else None

    @property
    def is_in_progress(self) -> bool:
        return self.status == "in_progress"

    @property
    def is_paused(self) -> bool:
        """Whether the experiment is paused, so that nothing may happen."""
        return self.paused_at is not None

    @property
    def is_held(self) -> bool:
        """Whether the member must do nothing now: paused alone, or with the experiment."""
        return self.is_paused or self.status == "paused"

    @property
    def is_locked(self) -> bool:
        return self.stage is not None and self.stage.id not in self.unlocked

    def view(self, stage: StageConfig, now: datetime) -> OwnView:
        """This member's view of one stage."""
        return own_view(self.facts, stage, self.member.id, thread=self._thread(stage, now))

    def page(self, stage_id: str) -> Json | None:
        """The member's page of this stage, as far as it is answered."""
        return self.facts.own(stage_id, self.member.id).get(PAGE)

    def conversation_id(self, stage: StageConfig) -> UUID | None:
        """The thread in which this member talks on this stage; None without one, or where members only read it."""
        thread = self.threads.get(stage.id) if parts_of(stage).talk is not None else None
        return None if thread is None else UUID(thread["id"])

    def with_answer(self, stage_id: str, key: str, value: Json) -> "Standing":
        """The standing after this answer."""
        answers = {self.member.id: {**self.facts.own(stage_id, self.member.id), key: value}}
        return replace(
            self,
            facts=self.facts.with_answers(stage_id, answers),
            asks=tuple(ask for ask in self.asks if (ask.stage_id, ask.key) != (stage_id, key)),
        )

    def is_ready_to_end(self, stage: StageConfig, member_id: UUID) -> bool:
        """Whether this member has said that they are ready to end the conversation of the stage."""
        stored = self.threads.get(stage.id)
        return stored is not None and member_id in turn_of(stored["turn_state"]).ready

    def minimum_time(self, now: datetime) -> OpenTimer | None:
        """The time before which the member cannot leave the conversation where they are, while it runs."""
        stage, now = self.stage, self.paused_at or now
        talk = None if stage is None else parts_of(stage).talk
        thread = None if stage is None or self.is_locked else self._thread(stage, now)
        if stage is None or talk is None or thread is None or thread.ended or not self.is_in_progress:
            return None
        least, clock = talk.rules.minimum_seconds, thread.clock
        if least is None or clock.started_ms is None:
            return None
        left = timedelta(seconds=least, milliseconds=clock.started_ms - clock.elapsed_ms)
        if left <= timedelta():
            return None
        if self.is_paused or self.is_in_held_cohort:
            return OpenTimer(LEAST, stage.id, None, int(left / timedelta(milliseconds=1)))
        return OpenTimer(LEAST, stage.id, now + left, None)

    def _thread(self, stage: StageConfig, now: datetime) -> Thread | None:
        stored = self.threads.get(stage.id)
        if stored is None:
            return None
        turn = turn_of(stored["turn_state"])
        me = self.member.id
        now = _time(stored["paused_at"]) or now
        began = began_on_clock(
            datetime.fromisoformat(stored["opened_at"]), stored["paused_ms"], _time(stored["held_since"]), now
        )
        last_author = UUID(stored["last_author_id"]) if stored["last_author_id"] else None
        silent_ms = _since(_time(stored["silent_since"]), now)
        return Thread(
            pace="fast" if self.pace == "fast" else "live",
            trigger_key=turn.trigger or "",
            message_count=stored["last_seq"],
            agent_run=stored["agent_run"],
            speakers=(Speaker(self.member, turn.spoken.get(me, 0), me in turn.ready, me in turn.done),),
            ended=stored["ended_at"] is not None,
            topic=turn.topic,
            is_thinking=stored["is_thinking"],
            last=LastWords(last_author),
            turns=Turns(holder=turn.holder),
            clock=ThreadClock(_since(began, now), turn.started_ms, silent_ms, turn.is_overtime),
        )


def _time(stored: str | None) -> datetime | None:
    return None if stored is None else datetime.fromisoformat(stored)


def _since(then: datetime | None, now: datetime) -> int:
    return 0 if then is None else int((now - then) / timedelta(milliseconds=1))
