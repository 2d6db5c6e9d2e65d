"""Cohorts of scripts: their whole course at once, because they wait for no other member.

The course is what settling and stepping would come to, one after another; a test compares both. Many cohorts share one
transaction: 400 games of two policies over ten rounds take 3.0 s in the embedded lab, and 24.1 s where each cohort is
settled instead (medians of three runs, in turn, on two busy cores). So this second engine stays.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from parley_lab.base.looks import told_apart
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import PAGE, Blocked, Done, End, Json, OwnView, Pay
from parley_lab.kinds.attendees import Attendee
from parley_lab.kinds.effects import SetProfile
from parley_lab.kinds.parts import lets_scripts_pass
from parley_lab.kinds.stages import kind_of, parts_of
from parley_lab.members.cohort_state import CohortState
from parley_lab.members.forgetting import forgotten_profile
from parley_lab.orchestrator.asking import played_out
from parley_lab.orchestrator.rules import is_over, is_result_due, may_open, on_stage
from parley_lab.orchestrator.settling import draws_of
from parley_lab.settle import courses
from parley_lab.settle.courses import Course, Happened
from parley_lab.settle.settling import end_when_done
from parley_lab.store.session import Database
from parley_lab.views.builder import Facts, People, lab_view, own_view, resulted, scripted_page

AT_ONCE: Final = 50
"""Cohorts in one transaction: enough to make statements cheap, few enough to hold up nothing else for long."""
SIDE_BY_SIDE: Final = 2


async def play_out(database: Database, experiment_id: UUID, now: datetime) -> int:
    """Play all cohorts of the experiment in which only scripts are and nothing has happened; returns how many.

    Idempotent, and safe in parallel: a cohort that another process holds is left to it.
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
    """Play a cohort in which all members act by script, until none can act any more. Pure."""
    course = _Course(cohort)
    while course.goes_on():
        pass
    has_ended = is_over(course.cohort)
    return Course(
        course.cohort,
        course.entries,
        course.passed,
        course.pages,
        course.paid,
        course.happened,
        course.own_names,
        has_ended,
    )


class _Course:
    def __init__(self, cohort: CohortState) -> None:
        self.cohort = cohort
        self.entries: dict[str, dict[tuple[UUID, str], Json]] = {}
        self.passed: dict[str, dict[tuple[UUID, str], Json]] = {}
        self.pages: dict[tuple[UUID, str], Json] = {}
        self.paid: dict[tuple[UUID, str], Pay] = {}
        self.happened: list[Happened] = []
        self.own_names: dict[UUID, str] = {}
        self._names = {member.id: (member.profile["name"], 0) for member in cohort.members}
        """With how many stages lay behind the member when they got it."""
        self._answers: dict[str, dict[UUID, dict[str, Json]]] = {}
        """Entries, also those that count for who has left, and pages, by stage."""

    def goes_on(self) -> bool:
        """One pass over all stages and members; True when a member has moved or could now."""
        for stage in self.cohort.design.stages:
            if is_result_due(stage, self.cohort):
                self._make_result(stage)
            self._open(stage)
        for stage in self.cohort.design.stages:
            if stage.id in self.cohort.draws and parts_of(stage).state is not None:
                self._play(stage)
        moved = [self._after_step(member) for member in self.cohort.members]
        has_moved = any(new is not old for new, old in zip(moved, self.cohort.members, strict=True))
        self.cohort = replace(self.cohort, members=tuple(moved))
        return has_moved

    def _open(self, stage: StageConfig) -> None:
        if stage.id not in self.cohort.draws and not may_open(stage, self.cohort):
            return
        self.cohort = replace(self.cohort, draws={**self.cohort.draws, stage.id: draws_of(self.cohort, stage)})

    def _make_result(self, stage: StageConfig) -> None:
        result = resulted(stage, lab_view(self._facts(self.cohort.members), stage)) or {}
        self.cohort = replace(self.cohort, results={**self.cohort.results, stage.id: result})

    def _play(self, stage: StageConfig) -> None:
        if not on_stage(self.cohort.members, stage.id):
            return
        known = self._answers.setdefault(stage.id, {})
        facts = self._facts(self.cohort.members)
        played = played_out(self.cohort, facts, stage)
        self.entries.setdefault(stage.id, {}).update(played.scripted)
        self.passed.setdefault(stage.id, {}).update(played.passed)
        for (member_id, key), value in (*played.scripted.items(), *played.passed.items()):
            known.setdefault(member_id, {})[key] = value
        self.cohort = replace(self.cohort, states={**self.cohort.states, stage.id: played.view.state})

    def _facts(self, members: Sequence[Attendee]) -> Facts:
        """What has happened so far; nothing that is made of it may be kept while the course goes on."""
        cohort = self.cohort
        return Facts(
            people=People(tuple(members)),
            draws=cohort.draws,
            states=cohort.states,
            results=cohort.results,
            stages=cohort.design.by_id,
            answers=self._answers,
            variables=cohort.design.variables,
            whole=cohort.design.stage_ids,
        )

    def _after_step(self, member: Attendee) -> Attendee:
        """The member after as many stages as let it through; the same when it stays."""
        while member.status == "in_progress" and (stage_id := member.stage_id) in self.cohort.draws:
            assert stage_id is not None
            stage = self.cohort.design.stage(stage_id)
            done = self._done(stage, member)
            if done is None:
                break
            member = self._gone_on(member, stage_id, done)
        return member

    def _done(self, stage: StageConfig, member: Attendee) -> Done | None:
        """How the member goes on, with its page written; scripts pass through stages that play no scripts."""
        view = self._own_view(stage, member)
        if (said := scripted_page(stage, view, self.cohort.seed)) is not None:
            self._write(stage, member, said)
            view = self._own_view(stage, member)
        completion = kind_of(stage).completion(stage, view)
        if isinstance(completion, Blocked):
            return Done() if lets_scripts_pass(parts_of(stage)) else None
        if completion.page is not None:
            self._write(stage, member, completion.page)
        return completion

    def _write(self, stage: StageConfig, member: Attendee, page: Json) -> None:
        if (member.id, stage.id) not in self.pages:
            self.pages[member.id, stage.id] = page
            self._answers.setdefault(stage.id, {}).setdefault(member.id, {})[PAGE] = page

    def _own_view(self, stage: StageConfig, member: Attendee) -> OwnView:
        return own_view(self._facts([member]), stage, member.id)

    def _gone_on(self, member: Attendee, stage_id: str, done: Done) -> Attendee:
        """The member after this stage, as `parley_lab.answers.going_on` leaves it."""
        end = next((one for one in done.effects if isinstance(one, End)), None)
        if end is not None:
            return self._ended(member, end)
        member = self._moved(member, stage_id)
        for effect in done.effects:
            if isinstance(effect, SetProfile):
                member = self._with_profile(member, effect)
            elif isinstance(effect, Pay):
                self.paid[member.id, stage_id] = effect
        return member

    def _ended(self, member: Attendee, end: End) -> Attendee:
        self.happened.append(Happened(member, f"member.{end.outcome}", {"reason": end.outcome}))
        if end.forgets:
            for entries in self.entries.values():
                for at in [at for at in entries if at[0] == member.id]:
                    del entries[at]
            for at in [at for at in self.pages if at[0] == member.id]:
                del self.pages[at]
            for answers in self._answers.values():
                answers.pop(member.id, None)
            member = replace(member, profile=forgotten_profile(member.path))
        return replace(member, status=end.outcome)

    def _with_profile(self, member: Attendee, effect: SetProfile) -> Attendee:
        """The member under this profile, told apart from the others as `parley_lab.members.names` does."""
        profile = effect.profile.model_dump(mode="json")
        own = {**member.profile, "name": self.own_names.get(member.id, member.profile["name"])}
        if profile == own:
            return member
        others = [
            name
            for member_id, (name, place) in self._names.items()
            if member_id != member.id and name and (place >= member.position or not effect.is_drawn)
        ]
        name = told_apart(profile["name"], others) if profile["name"] else ""
        self._names[member.id] = name, member.position
        self.own_names.pop(member.id, None)
        if name != profile["name"]:
            self.own_names[member.id] = profile["name"]
        known = {**profile, "name": name}
        if known != member.profile:
            self.happened.append(Happened(member, "member.profile_changed", {"profile": known}))
        return replace(member, profile=known)

    def _moved(self, member: Attendee, stage_id: str) -> Attendee:
        position = member.position + 1
        is_last = position == len(member.stage_ids)
        to_stage_id = None if is_last else member.stage_ids[position]
        self.happened.append(Happened(member, "member.moved", {"from_stage_id": stage_id, "to_stage_id": to_stage_id}))
        return replace(member, position=position, status="completed" if is_last else member.status)
