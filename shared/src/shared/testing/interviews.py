"""An interview that a test goes through, with everybody who is in it."""

from dataclasses import replace
from random import Random
from typing import Any
from uuid import UUID, uuid5

from shared.contracts.experiment import Profile
from shared.stage import Ask, LabView, Member, OwnView
from shared.stages.group_interview import flow, transcript
from shared.stages.group_interview.config import GroupInterviewStage, InterviewQuestion, InterviewRole, InterviewTask
from shared.stages.group_interview.rules import KIND
from shared.testing.views import as_seen_by

SPACE = UUID(int=9)
LABELS = ("A", "B", "C")
EVERYBODY = (*LABELS, "Summarizer", "Facilitator")


def member(path: str, name: str = "", **changes: Any) -> Member:
    kind: Any = "mediator" if "/med" in path else "participant"
    return Member(uuid5(SPACE, path), path, kind, "agent", Profile(name=name), **changes)


PLAYERS = tuple(member(f"c1/m{number}") for number in (1, 2, 3))
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
    """An interview that a test goes through: `open` names whose reply to what is due."""

    def __init__(self, interview: GroupInterviewStage, members: tuple[Member, ...] = MEMBERS) -> None:
        self.stage = interview
        draws = KIND.draw(interview, [one for one in members if one.kind == "participant"], {}, Random(1))
        self.view = self._stated(LabView(members=members, draws=draws))

    def _stated(self, view: LabView) -> LabView:
        return replace(view, state=KIND.public_state(self.stage, view))

    def own(self, member_id: UUID) -> OwnView:
        """The view with the eyes of this member."""
        return as_seen_by(member_id, self.view)

    @property
    def asks(self) -> list[Ask]:
        """What is due, in the order in which people speak."""
        views = [self.own(one.id) for one in self.view.members]
        asks = {self.role(view.me.id): ask for view in views for ask in KIND.next_asks(self.stage, view)}
        task = flow.task_on(self.stage, self.view)
        turns = [] if task is None else flow.turns(self.stage, task, self.view.draws)
        return [asks[turn.role] for turn in turns if turn.role in asks]

    @property
    def open(self) -> list[tuple[str, str]]:
        return [(self.role(ask.member_id), ask.key.removeprefix("task:")) for ask in self.asks]

    def role(self, member_id: UUID) -> str:
        return flow.role_of(self.stage, self.own(member_id).me, self.view.draws) or ""

    def answer(self, ask: Ask, response: Any = "yes") -> None:
        stored = KIND.check_answer(self.stage, ask, response, self.own(ask.member_id))
        given = {**self.view.answers.get(ask.member_id, {}), ask.key: stored}
        self.view = self._stated(replace(self.view, answers={**self.view.answers, ask.member_id: given}))

    def answer_all(self) -> None:
        for ask in self.asks:
            self.answer(ask)

    def set_present(self, member_id: UUID, present: bool) -> None:
        members = tuple(replace(one, present=present) if one.id == member_id else one for one in self.view.members)
        self.view = self._stated(replace(self.view, members=members))

    def heard(self, reader: str | None) -> list[tuple[str, str]]:
        lines = transcript.lines(self.stage, self.view.draws, self.view.state, reader)
        return [(line.role, line.task_id) for line in lines if not line.is_read_out]
