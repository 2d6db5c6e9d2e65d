"""Assigns agents to sessions, sessions to treatments, agents to roles, and orders each session's tasks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from parley_lab.formats.workbook.assigned import cell_of, sessions_by_hand
from parley_lab.formats.workbook.design import Arm, Design, Role, WorkbookProfile, WorkbookTask
from parley_lab.formats.workbook.draws import Drawing, Draws, drawing


@dataclass(frozen=True, slots=True)
class SeatDraw:
    """One agent of a session with the role it plays there."""

    profile: WorkbookProfile
    role: Role


@dataclass(frozen=True, slots=True)
class WorkbookSession:
    """`seats` are in speaking order, `tasks` in the order of the session."""

    id: str
    arm: Arm
    seats: tuple[SeatDraw, ...]
    tasks: tuple[WorkbookTask, ...]


@dataclass(frozen=True, slots=True)
class DrawRecord:
    """How one thing was assigned; `seed` is empty when it was assigned by hand."""

    session: str
    what: str
    strategy: str
    seed: str


@dataclass(frozen=True, slots=True)
class Assignment:
    draws: Draws
    sessions: tuple[WorkbookSession, ...]
    records: tuple[DrawRecord, ...]


def assign(design: Design, draws: Draws = "reference") -> Assignment:
    """Every session of the design; the same design and seed give the same sessions."""
    chance = drawing(draws, design.settings.random_seed)
    people = _people(design, chance)
    sessions = list(people)
    arms = _arms(design, people, chance)
    roles = _roles(design, people, chance)
    orders = chance.task_orders(sessions, _tied(design.tasks))
    made = tuple(
        WorkbookSession(
            id=session,
            arm=arms[session],
            seats=tuple(SeatDraw(*pair) for pair in zip(people[session], roles[session], strict=True)),
            tasks=tuple(orders[session]),
        )
        for session in sessions
    )
    return Assignment(draws, made, tuple(_records(design, sessions, chance)))


def _people(design: Design, chance: Drawing) -> Mapping[str, Sequence[WorkbookProfile]]:
    settings = design.settings
    if settings.session_strategy == "manual" and settings.session_column is not None:
        return sessions_by_hand(design.profiles, settings.session_column)
    size = settings.num_agents_per_session
    shuffled = chance.shuffled_agents(design.profiles)
    return {str(number): shuffled[number * size : (number + 1) * size] for number in range(settings.num_sessions)}


def _arms(design: Design, people: Mapping[str, Sequence[WorkbookProfile]], chance: Drawing) -> Mapping[str, Arm]:
    settings = design.settings
    labels = [arm.label for arm in design.arms]
    sessions = list(people)
    if settings.treatment_strategy == "manual" and settings.treatment_column is not None:
        column = settings.treatment_column
        drawn: Mapping[str, str] = {session: cell_of(those[0], column).label for session, those in people.items()}
    elif settings.treatment_strategy == "complete_random":
        drawn = chance.complete_treatments(sessions, labels)
    else:
        drawn = chance.simple_treatments(sessions, labels)
    return {session: design.arm(label) for session, label in drawn.items()}


def _roles(
    design: Design, people: Mapping[str, Sequence[WorkbookProfile]], chance: Drawing
) -> Mapping[str, Sequence[Role]]:
    column = design.settings.role_column
    if design.settings.role_strategy == "manual" and column is not None:
        return {
            session: [design.role(cell_of(person, column).label) for person in those]
            for session, those in people.items()
        }
    drawn = chance.roles(list(people), [role.label for role in design.user_roles])
    return {session: [design.role(label) for label in labels] for session, labels in drawn.items()}


def _tied(tasks: Sequence[WorkbookTask]) -> list[list[WorkbookTask]]:
    """The tasks grouped by equal order, in ascending order; each group in the order of the sheet."""
    in_order = sorted(tasks, key=lambda task: task.order)
    return [list(group) for _, group in groupby(in_order, key=lambda task: task.order)]


def _records(design: Design, sessions: Sequence[str], chance: Drawing) -> Iterator[DrawRecord]:
    """One record for every assignment of every session."""
    settings = design.settings
    for session in sessions:
        by_treatment = settings.treatment_strategy
        treatment = (
            chance.seed_of("treatments") if by_treatment == "complete_random" else chance.seed_of("treatment", session)
        )
        for what, strategy, seed in (
            ("agents", settings.session_strategy, chance.seed_of("sessions")),
            ("treatment", by_treatment, treatment),
            ("roles", settings.role_strategy, chance.seed_of("roles", session)),
            ("tasks", "random", chance.seed_of("tasks", session)),
        ):
            yield DrawRecord(session, what, strategy, "" if strategy == "manual" else seed)
