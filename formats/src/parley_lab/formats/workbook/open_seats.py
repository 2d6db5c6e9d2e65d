"""The seats for people, chosen at the start of a run by role, or by session and role."""

from collections.abc import Iterable, Sequence

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.formats.workbook.assignment import WorkbookSession
from parley_lab.formats.workbook.cells import quoted
from parley_lab.formats.workbook.complaints import problem_at
from parley_lab.formats.workbook.design import FACILITATOR, Design

OpenSeat = tuple[str, str]
"""The id of a session and the label of a role."""

_SEPARATOR = "/"


def open_seats(design: Design, sessions: Sequence[WorkbookSession], people: Iterable[str]) -> frozenset[OpenSeat]:
    """The seats that are named: `Role` in each of these sessions, `session/Role` in one.

    Raises:
        InvalidInput: with every name that is no seat.
    """
    found: set[OpenSeat] = set()
    problems: list[Problem] = []
    ids = [session.id for session in sessions]
    for one in people:
        meant = [(session, one) for session in ids] if one in _roles(design) else _in_one_session(design, ids, one)
        if not meant:
            problems.append(problem_at("people", "there is no such seat", _expected(design, ids), found=quoted(one)))
        found.update(meant)
    if problems:
        raise InvalidInput("Some seats that people are to take are not there.", problems)
    return frozenset(found)


def special_seats(design: Design, session: WorkbookSession, seats: frozenset[OpenSeat]) -> list[str]:
    """The special roles of this session for people; agents with a profile never play them."""
    return [role.label for role in design.roles if role.is_special and (session.id, role.label) in seats]


def _in_one_session(design: Design, sessions: Sequence[str], seat: str) -> list[OpenSeat]:
    """Compared as a whole, because names of sessions and roles may contain the separator."""
    return [
        (session, role) for session in sessions for role in _roles(design) if seat == f"{session}{_SEPARATOR}{role}"
    ]


def _roles(design: Design) -> list[str]:
    """The roles that speak for themselves; one that only reads out the sheets is no seat."""
    asked = {question.role for task in design.tasks for question in task.questions}
    return [role.label for role in design.roles if role.label != FACILITATOR or role.label in asked]


def _expected(design: Design, sessions: Sequence[str]) -> str:
    shown = ", ".join(sessions[:5]) + (", ..." if len(sessions) > 5 else "")
    return f"one of {', '.join(_roles(design))}, alone or after a session ({shown}) and {_SEPARATOR!r}"
