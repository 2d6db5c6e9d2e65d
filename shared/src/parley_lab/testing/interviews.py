"""An interview that a test plays, with all its members."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any
from uuid import UUID, uuid5

from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import Ask, LabView, Member, OwnView, Question
from parley_lab.kinds.stages.group_interview import flow, transcript
from parley_lab.kinds.stages.group_interview.config import (
    GroupInterviewStage,
    InterviewQuestion,
    InterviewRole,
    InterviewTask,
)
from parley_lab.kinds.stages.group_interview.rules import InterviewDraws, InterviewQuestions
from parley_lab.testing.views import as_seen_by
from parley_lab.views.builder import stated, with_moves

SPACE = UUID(int=9)
LABELS = ("A", "B", "C")
EVERYBODY = (*LABELS, "Summarizer", "Facilitator")


def member(path: str, name: str = "", **changes: Any) -> Member:
    kind: Any = "mediator" if "/med" in path else "participant"
    return Member(uuid5(SPACE, path), path, kind, "agent", Profile(name=name), **changes)


PLAYERS = tuple(member(f"c1/m{number}", seat=number) for number in (1, 2, 3))
SUMMARIZER = member("c1/med1", "Summarizer")
MEMBERS = (*PLAYERS, SUMMARIZER, member("c1/med2", "Facilitator"))


def questions(*roles: str, **fields: Any) -> tuple[InterviewQuestion, ...]:
    return tuple(InterviewQuestion(role=role, text=f"{role}?", **fields) for role in roles)


def task(task_id: str, kind: Any, *roles: str, **fields: Any) -> InterviewTask:
    text = "" if roles else f"{task_id}!"
    return InterviewTask(id=task_id, type=kind, text=text, questions=questions(*roles), variable=task_id, **fields)


TASKS = (
    task("talk", "discussion"),
    task("open", "public_question", "B", "A"),
    task("closed", "private_question", "C", "A", "Summarizer", "B"),
    task("news", "context"),
    task("last", "private_question", "A", "B", "C"),
)


def stage(*tasks: InterviewTask, **fields: Any) -> GroupInterviewStage:
    return GroupInterviewStage(
        id="interview",
        roles=tuple(InterviewRole(label=label) for label in LABELS),
        special_roles=(InterviewRole(label="Summarizer"),),
        tasks=tasks or TASKS,
        **fields,
    )


class Course:
    """An interview that a test plays; `open` names the members whose replies are due."""

    def __init__(
        self,
        interview: GroupInterviewStage,
        members: tuple[Member, ...] = MEMBERS,
        given: Mapping[str, Any] | None = None,
    ) -> None:
        self.stage = interview
        players = [one for one in members if one.kind == "participant"]
        draws = InterviewDraws(interview).draw(players, given or {}, Random(1))
        self.view = self._stated(LabView(members=members, draws=draws))

    def _stated(self, view: LabView) -> LabView:
        """The view with what is due of those who have gone, and its state."""
        while True:
            view = stated(self.stage, view)
            gone = [one for one in view.members if not one.present and not one.awaited]
            passed = dict(self._passed(view, one.id) for one in gone if self._due(view, one.id))
            if not passed:
                return view
            view = with_moves(view, passed)

    def _due(self, view: LabView, member_id: UUID) -> list[Ask]:
        return InterviewQuestions(self.stage).due(as_seen_by(member_id, view))

    def _passed(self, view: LabView, member_id: UUID) -> tuple[tuple[UUID, str], Any]:
        (ask,) = self._due(view, member_id)
        question = InterviewQuestions(self.stage).question(as_seen_by(member_id, view), ask)
        instead = None if question is None else question.passed()
        assert instead is not None
        return (member_id, ask.key), instead.value

    def own(self, member_id: UUID) -> OwnView:
        """The view of this member."""
        return as_seen_by(member_id, self.view)

    @property
    def asks(self) -> list[Ask]:
        """The due asks, in speaking order."""
        views = [self.own(one.id) for one in self.view.members if one.present or one.awaited]
        asks = {self.role(view.me.id): ask for view in views for ask in InterviewQuestions(self.stage).due(view)}
        task = flow.task_on(self.stage, self.view)
        turns = [] if task is None else flow.turns(self.stage, task, self.view.draws)
        return [asks[turn.role] for turn in turns if turn.role in asks]

    @property
    def open(self) -> list[tuple[str, str]]:
        return [(self.role(ask.member_id), ask.key.removeprefix("task:")) for ask in self.asks]

    def role(self, member_id: UUID) -> str:
        return flow.role_of(self.stage, self.own(member_id).me, self.view.draws) or ""

    def answer(self, ask: Ask, response: Any = "yes") -> None:
        question = InterviewQuestions(self.stage).question(self.own(ask.member_id), ask)
        assert question is not None
        stored = question.check(response)
        given = {**self.view.answers.get(ask.member_id, {}), ask.key: stored}
        self.view = self._stated(replace(self.view, answers={**self.view.answers, ask.member_id: given}))

    def answer_all(self) -> None:
        for ask in self.asks:
            self.answer(ask)

    def set_present(self, member_id: UUID, present: bool) -> None:
        """The member leaves, or comes back."""
        members = tuple(replace(one, present=present) if one.id == member_id else one for one in self.view.members)
        self.view = self._stated(replace(self.view, members=members))

    def heard(self, reader: str | None) -> list[tuple[str, str]]:
        lines = transcript.lines(self.stage, self.view.draws, self.view.state, reader)
        return [(line.role, line.task_id) for line in lines if not line.is_read_out]


def question_of(course: Course, ask: Ask, role: str) -> Question:
    """The role's question of this ask."""
    question = InterviewQuestions(course.stage).question(course.own(id_of(course, role)), ask)
    assert question is not None
    return question


def id_of(course: Course, role: str) -> UUID:
    return next(one.id for one in MEMBERS if course.role(one.id) == role)
