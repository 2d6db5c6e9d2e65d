"""Checks assignments by hand, which are columns of agent_profiles."""

from collections.abc import Mapping, Sequence
from datetime import date

from parley_lab.formats.workbook.cells import Cell, changed_by_spreadsheet, quoted
from parley_lab.formats.workbook.complaints import Complaints
from parley_lab.formats.workbook.design import Arm, Role, Settings, WorkbookProfile
from parley_lab.formats.workbook.names import check_alike, check_typed
from parley_lab.formats.workbook.number_formats import is_without_year
from parley_lab.formats.workbook.profiles import Profiles
from parley_lab.formats.workbook.sheets import PROFILES


def check_assignments(
    settings: Settings, arms: Sequence[Arm], roles: Sequence[Role], profiles: Profiles, complaints: Complaints
) -> None:
    """Complains about unknown labels, and about sessions with a wrong set of roles."""
    user_roles = [role.label for role in roles if not role.is_special]
    if settings.treatment_strategy == "manual":
        _check_labels(settings.treatment_column, profiles, [arm.label for arm in arms], "treatment", complaints)
    if settings.role_strategy == "manual":
        _check_labels(settings.role_column, profiles, user_roles, "role", complaints)
    if settings.session_strategy != "manual" or settings.session_column is None:
        return
    cells = [cell_of(person, settings.session_column) for person in profiles.people]
    check_alike(cells, "session", complaints, may_repeat=True)
    # Sessions may have the names of days.
    check_typed([cell for cell in cells if not _is_day(cell)], "session", complaints)
    _check_named(settings.session_column, profiles, complaints)
    for session, people in sessions_by_hand(profiles.people, settings.session_column).items():
        _check_session(session, people, settings, user_roles, complaints)


def sessions_by_hand(people: Sequence[WorkbookProfile], column: int) -> Mapping[str, Sequence[WorkbookProfile]]:
    """The agents of each session, both in the order of first appearance."""
    sessions: dict[str, list[WorkbookProfile]] = {}
    for person in people:
        label = cell_of(person, column).label
        if label:
            sessions.setdefault(label, []).append(person)
    return sessions


def check_drawn(
    sessions: Mapping[str, Sequence[WorkbookProfile]], column: int, roles: Sequence[Role], complaints: Complaints
) -> None:
    """Complains about drawn sessions of agents with given roles: each role has to occur once."""
    labels = [role.label for role in roles]
    for session, people in sessions.items():
        given = [cell_of(person, column).label for person in people]
        missing = ", ".join(quoted(label) for label in labels if label not in given)
        for index, person in enumerate(people):
            cell = cell_of(person, column)
            if cell.label in given[:index]:
                complaints.cell(
                    cell,
                    f"the role {quoted(cell.label)} is drawn twice for the session {quoted(session)}, and {missing} is "
                    f"missing; it is also in {cell_of(people[given.index(cell.label)], column).where}",
                    "every role once in every session",
                    do="give every role once in every session",
                    hint="sessions are drawn with random_seed: take another one, or assign the sessions by hand, too",
                )


def cell_of(person: WorkbookProfile, column: int) -> Cell:
    return person.cells.get(column) or Cell(PROFILES, column, person.row)


def _check_labels(
    column: int | None, profiles: Profiles, labels: Sequence[str], what: str, complaints: Complaints
) -> None:
    if column is None:
        return
    check_typed([cell_of(person, column) for person in profiles.people], what, complaints)
    for person in profiles.people:
        cell = cell_of(person, column)
        if changed_by_spreadsheet(cell):
            continue
        if cell.is_blank:
            complaints.cell(cell, f"the {what} of {quoted(person.id)} is missing", f"one of {', '.join(labels)}")
        elif cell.label not in labels:
            complaints.cell(cell, f"there is no {what} {quoted(cell.label)} to assign", f"one of {', '.join(labels)}")


def _is_day(cell: Cell) -> bool:
    return isinstance(cell.value, date) and not is_without_year(cell.number_format)


def _check_named(column: int, profiles: Profiles, complaints: Complaints) -> None:
    for person in profiles.people:
        cell = cell_of(person, column)
        if cell.is_blank:
            complaints.cell(cell, f"the session of {quoted(person.id)} is missing", "the name of a session")


def _check_session(
    session: str,
    people: Sequence[WorkbookProfile],
    settings: Settings,
    user_roles: Sequence[str],
    complaints: Complaints,
) -> None:
    assert settings.session_column is not None
    first = cell_of(people[0], settings.session_column)
    if len(people) != len(user_roles):
        complaints.cell(
            first,
            f"the session {quoted(session)} has {len(people)} agents, and there are {len(user_roles)} roles",
            f"{len(user_roles)} agents in every session",
            found=f"{len(people)} agents",
            do=f"put {len(user_roles)} agents into every session",
        )
    if settings.treatment_strategy == "manual" and settings.treatment_column is not None:
        labels = list(dict.fromkeys(cell_of(person, settings.treatment_column).label for person in people))
        if len(labels) > 1:
            complaints.cell(
                first,
                f"the session {quoted(session)} has different treatments",
                "one treatment for all agents of a session",
                found=", ".join(quoted(label) for label in labels),
                do="give all agents of a session one treatment",
            )
    if settings.role_strategy == "manual" and settings.role_column is not None:
        _check_roles(session, people, settings.role_column, complaints)


def _check_roles(session: str, people: Sequence[WorkbookProfile], column: int, complaints: Complaints) -> None:
    seen: dict[str, str] = {}
    for person in people:
        cell = cell_of(person, column)
        taken = seen.get(cell.label)
        if cell.label and taken:
            complaints.cell(
                cell,
                f"the role {quoted(cell.label)} is taken in the session {quoted(session)}, by {taken}",
                "every role once in every session",
                do="give every role once in every session",
            )
        seen.setdefault(cell.label, cell.where)
