"""A cohort as rules and acts read it under its lock, and what the lab records in it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from parley_lab.contracts.experiment import StageConfig
from parley_lab.design import Resolved
from parley_lab.kinds import Json
from parley_lab.kinds.attendees import Attendee
from parley_lab.kinds.stages import parts_of
from parley_lab.store.facts import Event
from parley_lab.store.session import Session
from parley_lab.views.builder import Answers, Facts, People


@dataclass(frozen=True, slots=True)
class OpenThread:
    id: UUID
    stage_id: str
    scope: str
    ended: bool
    ready: frozenset[UUID]
    opened_at: datetime
    paused_ms: int
    held_since: datetime | None
    last_seq: int
    clock_ms: int
    known: frozenset[str]
    """The keys of its lines of minutes."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Everything that members have answered, and what they are asked."""

    answers: Mapping[str, Answers]
    open: frozenset[tuple[str, UUID, str]]
    """The asks that are open, by stage, member and key."""


@dataclass(frozen=True, slots=True)
class CohortState:
    """A cohort under its lock."""

    id: UUID
    path: str
    name: str
    experiment_id: UUID
    seed: int
    pace: str
    language: str | None
    status: str
    design: Resolved
    members: tuple[Attendee, ...]
    given: Mapping[str, Mapping[str, Json]]
    """What the file settles for this cohort instead of having it drawn, by stage."""
    draws: Mapping[str, Mapping[str, Json]]
    """What was drawn, by unlocked stage."""
    states: Mapping[str, Mapping[str, Json]]
    """What everybody's answers came to at the last look, by stage; for stages with shared asks."""
    threads: tuple[OpenThread, ...]
    as_of: int
    """The counter of the cohort's events up to which this state is known to be true."""
    news: frozenset[str] = frozenset()
    """The subjects of what has happened since the cohort was last settled; for designs with private threads."""
    results: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    """What stages came to when all were through, by stage."""
    waits: Mapping[str, str | None] = field(default_factory=dict)
    """The stages at which it has waited as long as it may, each with what came of it, if that is decided."""
    incoming: tuple[Attendee, ...] = ()
    """Members of other cohorts who are offered a place here and have not answered, each where they are."""
    counted: Counted | None = None
    """The answers on stages with shared asks that have members on them; None in a design without such stages."""
    own_designs: Mapping[str, Resolved] = field(default_factory=dict)
    """The designs of members who have an arm of their own, by arm."""
    meets_at: str | None = None
    """Of people who are on the way to a group, or to their next one: the stage where it is made."""
    begins_at: str | None = None
    """Of cohorts that are made where people meet anew: that stage. What they shared before, other groups had."""
    made_at: str | None = None
    """Of a group of those who were there: the stage where it was made, as long as it has not begun."""

    def stage_for(self, member: Attendee, stage: StageConfig) -> StageConfig:
        """The stage as it is in the member's own arm."""
        own = self.own_designs.get(member.treatment or "")
        return stage if own is None else own.by_id.get(stage.id, stage)

    def by_arm(self, stage: StageConfig) -> "Iterator[tuple[CohortState, StageConfig]]":
        """The stage as it is for the whole cohort, or where each is alone on it, for those of each arm."""
        if not self.own_designs or not parts_of(stage).is_each_alone:
            yield self, stage
            return
        arms = {one.treatment: self.stage_for(one, stage) for one in self.members if one.kind == "participant"}
        for arm in sorted(arms, key=lambda each: each or ""):
            yield replace(self, members=tuple(one for one in self.members if one.treatment == arm)), arms[arm]

    def facts(self, draws: Mapping[str, Mapping[str, Json]]) -> Facts:
        """What rules may read, when this is drawn; everybody's answers on the stages with shared asks are counted."""
        return Facts(
            people=People(self.members),
            draws=draws,
            states=self.states,
            results=self.results,
            stages=self.design.by_id,
            answers=self.counted.answers if self.counted is not None else {},
            variables=self.design.variables,
            whole=self.design.stage_ids,
        )


def record(
    session: Session,
    cohort: CohortState,
    event_type: str,
    subject: str,
    payload: Mapping[str, Any],
    now: datetime,
    *,
    subject_id: UUID | None = None,
    audience: Sequence[UUID] | None = None,
) -> None:
    """Record what the lab has done in a cohort, and wake those who follow it; `audience` None means everybody."""
    session.record(
        Event(
            experiment_id=cohort.experiment_id,
            cohort_id=cohort.id,
            type=event_type,
            actor="lab",
            cause="orchestrator",
            subject=subject,
            subject_id=subject_id,
            payload=payload,
            public=payload,
            audience=audience,
            at=now,
        )
    )
    session.tell(cohort.id)
