"""Cohorts of scripts: their whole course at once, because nobody else has anything to say in it.

The course is what settling and stepping would come to, one after another; a test compares both. Many cohorts share one
transaction.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from orchestrator.asking import new_answers, played_out
from orchestrator.rules import is_over, may_open, on_stage
from orchestrator.settling import draws_of
from shared.acts import courses
from shared.acts.courses import Course, Move
from shared.acts.settling import CohortState, end_when_done
from shared.contracts.experiment import StageConfig
from shared.db.session import Database
from shared.stage import PAGE, Json, OwnView
from shared.stages import kind_of
from shared.views import Attendee, Facts, People, lab_view, own_view

AT_ONCE: Final = 50
"""Cohorts in one transaction: enough to make statements cheap, few enough to hold up nothing else for long."""
SIDE_BY_SIDE: Final = 2


async def play_out(database: Database, experiment_id: UUID, now: datetime) -> int:
    """Play all cohorts of the experiment in which only scripts are and nothing has happened; returns how many.

    Safe to repeat, and at the same time: a cohort that somebody else holds is left to them.
    """
    async with database.transaction() as session:
        arms = await courses.self_acting_arms(session, experiment_id)
    # While Postgres stores one chunk, the next one is played.
    chunks = (_play_chunks(database, experiment_id, arms, now) for _ in range(SIDE_BY_SIDE))
    outcomes = await asyncio.gather(*chunks, return_exceptions=True)
    played = [_count_or_raise(outcome) for outcome in outcomes]
    async with database.transaction() as session:
        await end_when_done(session, experiment_id, now)
    return sum(played)


def _count_or_raise(outcome: int | BaseException) -> int:
    """What became of one who worked side by side with others; all of them have come to an end."""
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


async def _play_chunks(database: Database, experiment_id: UUID, arms: Sequence[str], now: datetime) -> int:
    played = 0
    while arms:
        async with database.transaction() as session:
            cohorts = await courses.take_untouched(session, experiment_id, arms, most=AT_ONCE)
            if cohorts is None:
                break
            await courses.write(session, [course_of(cohort) for cohort in cohorts], now)
        played += len(cohorts)
    return played


def course_of(cohort: CohortState) -> Course:
    """What becomes of a cohort in which everybody acts by script, until nobody can do anything more. Pure."""
    course = _Course(cohort)
    while course.goes_on():
        pass
    return Course(course.cohort, course.entries, course.pages, course.moves, is_over(course.cohort))


class _Course:
    def __init__(self, cohort: CohortState) -> None:
        self.cohort = cohort
        self.entries: dict[str, dict[tuple[UUID, str], Json]] = {}
        self.pages: dict[tuple[UUID, str], Json] = {}
        self.moves: list[Move] = []
        self._answers: dict[str, dict[UUID, dict[str, Json]]] = {}
        """Entries and pages, by stage."""

    def goes_on(self) -> bool:
        """One look at all stages and members; True when somebody has moved or could now."""
        for stage in self.cohort.design.stages:
            self._open(stage)
        for stage in self.cohort.design.stages:
            if stage.id in self.cohort.draws and kind_of(stage).has_shared_asks:
                self._play(stage)
        moved = [self._after_step(member) for member in self.cohort.members]
        has_moved = any(new is not old for new, old in zip(moved, self.cohort.members, strict=True))
        self.cohort = replace(self.cohort, members=tuple(moved))
        return has_moved

    def _open(self, stage: StageConfig) -> None:
        if stage.id not in self.cohort.draws and not may_open(stage, self.cohort):
            return
        self.cohort = replace(self.cohort, draws={**self.cohort.draws, stage.id: draws_of(self.cohort, stage)})

    def _play(self, stage: StageConfig) -> None:
        if not on_stage(self.cohort.members, stage.id):
            return
        entries, known = self.entries.setdefault(stage.id, {}), self._answers.setdefault(stage.id, {})
        facts = self._facts(self.cohort.members)
        view = played_out(self.cohort, stage, lab_view(facts, stage))
        for at, value in [*new_answers(view.answers, known)]:
            entries[at] = value
            known.setdefault(at[0], {})[at[1]] = value
        self.cohort = replace(self.cohort, states={**self.cohort.states, stage.id: view.state})

    def _facts(self, members: Sequence[Attendee]) -> Facts:
        """What has happened so far; nothing that is made of it may be kept while the course goes on."""
        cohort = self.cohort
        return Facts(
            people=People(tuple(members)),
            draws=cohort.draws,
            states=cohort.states,
            answers=self._answers,
            variables=cohort.design.variables,
            whole=cohort.design.stage_ids,
        )

    def _after_step(self, member: Attendee) -> Attendee:
        """The member after as many stages as let it through; the same when it stays."""
        while member.status == "in_progress" and (stage_id := member.stage_id) in self.cohort.draws:
            assert stage_id is not None
            stage = self.cohort.design.stage(stage_id)
            if not self._is_done(stage, member):
                break
            member = self._moved(member, stage_id)
        return member

    def _is_done(self, stage: StageConfig, member: Attendee) -> bool:
        """Whether the member goes on, with its page written; scripts pass through stages that play no scripts."""
        kind = kind_of(stage)
        page = kind.page_answer(stage, self._own_view(stage, member))
        if page is not None and (member.id, stage.id) not in self.pages:
            self.pages[member.id, stage.id] = page
            self._answers.setdefault(stage.id, {}).setdefault(member.id, {})[PAGE] = page
        return not kind.has_shared_asks or not kind.blocked_by(stage, self._own_view(stage, member))

    def _own_view(self, stage: StageConfig, member: Attendee) -> OwnView:
        return own_view(self._facts([member]), stage, member.id)

    def _moved(self, member: Attendee, stage_id: str) -> Attendee:
        position = member.position + 1
        is_last = position == len(member.stage_ids)
        self.moves.append(Move(member, stage_id, None if is_last else member.stage_ids[position]))
        return replace(member, position=position, status="completed" if is_last else member.status)
