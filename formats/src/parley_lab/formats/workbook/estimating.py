"""Estimates a run of a workbook before a model is called: seats, replies, calls and tokens. Pure.

A token is taken for four characters, and a reply for one of usual length.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from parley_lab.formats.workbook.assignment import WorkbookSession
from parley_lab.formats.workbook.compiling import MAX_ATTEMPTS, Compiled
from parley_lab.formats.workbook.design import SPECIAL_ROLES, SUMMARIZER, Design, WorkbookTask
from parley_lab.formats.workbook.messages import system_message
from parley_lab.formats.workbook.open_seats import OpenSeat

CHARACTERS_PER_TOKEN: Final = 4
ANSWER_TOKENS: Final = 10
"""Of an answer to a question with options, with its JSON."""
SPEECH_TOKENS: Final = 80
"""Of an answer in free text."""
REASONING_TOKENS: Final = 50
SCORE_TOKENS: Final = 10
FORMAT_TOKENS: Final = 150
"""Added to a prompt by the description of the reply."""


@dataclass(frozen=True, slots=True)
class SessionEstimate:
    """One session: `agents` are (role, id, or empty for a person); `replies` of agents and people, `calls` of models.

    `most_calls` assumes that every checked answer takes all its attempts. `chain` is the number of replies that have to
    follow one another.
    """

    id: str
    treatment: str
    agents: tuple[tuple[str, str], ...]
    tasks: tuple[str, ...]
    replies: int
    chain: int
    calls: int
    most_calls: int
    tokens_in: int
    tokens_out: int


def estimates(compiled: Compiled) -> list[SessionEstimate]:
    """The estimate of each session of this experiment."""
    return [_estimate(compiled.design, session, compiled.seats) for session in compiled.sessions]


def _estimate(design: Design, session: WorkbookSession, seats: frozenset[OpenSeat]) -> SessionEstimate:
    """`seats`: those of people, whose replies cost nothing."""
    people = {role for at, role in seats if at == session.id}
    talk = _Talk(design, session, people)
    for task in session.tasks:
        talk.have(task)
    players = tuple((seat.role.label, "" if seat.role.label in people else seat.profile.id) for seat in session.seats)
    return SessionEstimate(
        id=session.id,
        treatment=session.arm.label,
        agents=(*players, *((role, "") for role in sorted(people) if role in SPECIAL_ROLES)),
        tasks=tuple(task.task_id for task in session.tasks),
        replies=talk.replies,
        chain=talk.chain,
        calls=talk.calls,
        most_calls=talk.most_calls,
        tokens_in=talk.tokens_in,
        tokens_out=talk.tokens_out,
    )


class _Talk:
    """Counts through one session; `_heard` is the length of what all have heard so far."""

    def __init__(self, design: Design, session: WorkbookSession, people: set[str]) -> None:
        self._most = design.settings.max_conversation_length
        self._people = people
        seated = {seat.role.label: seat for seat in session.seats}
        self._system = {
            role.label: len(system_message(design, session, seated.get(role.label, role))) for role in design.roles
        }
        self._players = [seat.role.label for seat in session.seats]
        self._special = [role.label for role in design.roles if role.label == SUMMARIZER]
        self._heard = 0
        self.replies = self.chain = self.calls = self.most_calls = self.tokens_in = self.tokens_out = 0

    def have(self, task: WorkbookTask) -> None:
        said = 0 if task.questions else len(task.text)
        before, asked, depth = self._heard, "", 0
        self._heard += said
        for role, text in self._turns(task):
            if self.replies >= self._most:
                return
            in_private = task.type == "private_question" and role not in SPECIAL_ROLES
            reached = 1 if in_private else depth + 1
            self.chain += max(0, reached - depth)
            depth = max(depth, reached)
            self._reply(task, role, (before if in_private else self._heard) + len(text))
            self._heard += len(text) * (text != asked) + _reply_tokens(task, aloud=True) * CHARACTERS_PER_TOKEN
            asked = text

    def _turns(self, task: WorkbookTask) -> Sequence[tuple[str, str]]:
        if task.type == "context":
            return []
        if task.type == "discussion" and not task.questions:
            return [(role, "") for role in (*self._players, *self._special)]
        return [(question.role, question.text) for question in task.questions if question.role in self._system]

    def _reply(self, task: WorkbookTask, role: str, shown: int) -> None:
        self.replies += 1
        if role in self._people:
            return
        self.calls += 1
        self.most_calls += MAX_ATTEMPTS if task.validate and task.questions and task.type != "discussion" else 1
        self.tokens_in += (self._system[role] + shown) // CHARACTERS_PER_TOKEN + FORMAT_TOKENS
        self.tokens_out += _reply_tokens(task, aloud=False)


def _reply_tokens(task: WorkbookTask, *, aloud: bool) -> int:
    """The tokens of a reply; `aloud`: of the part that others hear."""
    has_options = task.var_type is not None or any(question.options is not None for question in task.questions)
    tokens = ANSWER_TOKENS if has_options else SPEECH_TOKENS
    if aloud:
        return tokens
    return tokens + REASONING_TOKENS * task.as_json + SCORE_TOKENS * task.wants_score
