"""What a run of a workbook would be, before a model is called: who is where, how many replies, calls, tokens. Pure.

Tokens are estimated: four characters each, and replies as long as such replies usually are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from formats.workbook.assignment import Session
from formats.workbook.compiling import MAX_ATTEMPTS, Compiled
from formats.workbook.design import SPECIAL_ROLES, SUMMARIZER, Design, Task
from formats.workbook.messages import system_message
from formats.workbook.open_seats import OpenSeat

CHARACTERS_PER_TOKEN: Final = 4
ANSWER_TOKENS: Final = 10
"""What an answer to a question with options takes, with the JSON around it."""
SPEECH_TOKENS: Final = 80
"""What an answer in one's own words takes."""
REASONING_TOKENS: Final = 50
SCORE_TOKENS: Final = 10
FORMAT_TOKENS: Final = 150
"""What the shape of the reply adds to a prompt."""


@dataclass(frozen=True, slots=True)
class SessionEstimate:
    """One session: `agents` are (role, ID, or nothing for a person); `replies` by whomever, `calls` of models.

    `most_calls` is reached when every checked answer is asked for as often as can be. `chain` is how many replies there
    are at least one after another.
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
    """What each session of this experiment would be."""
    return [_estimate(compiled.design, session, compiled.seats) for session in compiled.sessions]


def _estimate(design: Design, session: Session, seats: frozenset[OpenSeat]) -> SessionEstimate:
    """`seats` are taken by people, whose replies cost nothing."""
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
    """Counts along the course of one session; `_heard` is the length of what everybody has heard so far."""

    def __init__(self, design: Design, session: Session, people: set[str]) -> None:
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

    def have(self, task: Task) -> None:
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

    def _turns(self, task: Task) -> Sequence[tuple[str, str]]:
        if task.type == "context":
            return []
        if task.type == "discussion" and not task.questions:
            return [(role, "") for role in (*self._players, *self._special)]
        return [(question.role, question.text) for question in task.questions if question.role in self._system]

    def _reply(self, task: Task, role: str, shown: int) -> None:
        self.replies += 1
        if role in self._people:
            return
        self.calls += 1
        self.most_calls += MAX_ATTEMPTS if task.validate and task.questions and task.type != "discussion" else 1
        self.tokens_in += (self._system[role] + shown) // CHARACTERS_PER_TOKEN + FORMAT_TOKENS
        self.tokens_out += _reply_tokens(task, aloud=False)


def _reply_tokens(task: Task, *, aloud: bool) -> int:
    """How long a reply is; `aloud` is what others hear of it."""
    has_options = task.var_type is not None or any(question.options is not None for question in task.questions)
    tokens = ANSWER_TOKENS if has_options else SPEECH_TOKENS
    if aloud:
        return tokens
    return tokens + REASONING_TOKENS * task.as_json + SCORE_TOKENS * task.wants_score
