"""Reads a workbook from sheets: checks everything, and reports all problems at once."""

from collections.abc import Collection, Mapping, Sequence

from parley_lab.formats.workbook.arms_and_roles import read_arms, read_roles
from parley_lab.formats.workbook.assigned import check_assignments
from parley_lab.formats.workbook.cells import Cell
from parley_lab.formats.workbook.complaints import Complaints
from parley_lab.formats.workbook.constants import permutations, read_constants
from parley_lab.formats.workbook.design import Design, Role, Settings, Workbook, WorkbookTask
from parley_lab.formats.workbook.draws import Draws
from parley_lab.formats.workbook.merged import with_merged
from parley_lab.formats.workbook.profiles import Profiles, read_profiles
from parley_lab.formats.workbook.prompts import read_tasks
from parley_lab.formats.workbook.settings import read_settings, setting_cells
from parley_lab.formats.workbook.sheets import (
    CONSTANTS,
    PROFILES,
    PROMPTS,
    ROLES,
    SETTINGS,
    TREATMENTS,
    Sheet,
    Sheets,
    check_flaws,
    check_names,
    those_that_belong,
    warn_of_files,
)
from parley_lab.formats.workbook.templates import Constant, Filling, placeholders


def read(sheets: Sheets, name: str = "workbook", *, draws: Draws = "reference") -> Workbook:
    """The workbook in these sheets; `draws`: the way of drawing, on which the meaning of one cell depends.

    Raises:
        InvalidInput: with all problems.
    """
    complaints = Complaints()
    sheets = with_merged(those_that_belong(sheets, complaints), complaints)
    check_names(list(sheets), complaints)
    check_flaws(sheets, complaints)
    warn_of_files(sheets, complaints)
    profiles = read_profiles(sheets.get(PROFILES), complaints)
    cells = setting_cells(sheets.get(SETTINGS), complaints)
    settings = read_settings(cells, profiles, complaints)
    constants_read = read_constants(sheets.get(CONSTANTS), complaints)
    _warn_of_placeholders(sheets.get(PROFILES), [one.name for one in constants_read], complaints)
    designs = [
        design
        for number, constants in enumerate(permutations(constants_read), start=1)
        if (design := _design(number, constants, sheets, settings, cells, profiles, complaints, draws))
    ]
    complaints.raise_if_any(name)
    return Workbook(tuple(designs), tuple(complaints.warnings))


def _warn_of_placeholders(sheet: Sheet | None, names: Collection[str], complaints: Complaints) -> None:
    """Profiles are what people said: nothing is filled into them, also where they have the name of a constant."""
    for row in sheet.rows if sheet is not None else ():
        for cell in row.cells.values():
            if any(name in names for name in placeholders(cell.text)):
                complaints.warn(
                    cell,
                    "nothing is filled in on this sheet: the cell is taken as it is",
                    "a text without placeholders",
                    hint="constants belong in treatments, agent_roles and interview_prompts",
                )


def _design(
    number: int,
    constants: Mapping[str, Constant],
    sheets: Sheets,
    settings: Settings | None,
    cells: Mapping[str, Cell],
    profiles: Profiles,
    complaints: Complaints,
    draws: Draws,
) -> Design | None:
    """The design of one permutation; None when it is invalid."""
    filling = Filling(constants, complaints)
    arms = read_arms(sheets.get(TREATMENTS), filling)
    roles = read_roles(sheets.get(ROLES), filling)
    tasks = read_tasks(sheets.get(PROMPTS), roles, filling, draws)
    if settings is None:
        return None
    if sheets.keys() >= {TREATMENTS, ROLES, PROMPTS, PROFILES}:
        _check_sizes(settings, cells, roles, tasks, profiles, complaints)
        check_assignments(settings, arms, roles, profiles, complaints)
    if complaints.problems:
        return None
    return Design(
        permutation=number,
        constants=constants,
        settings=settings,
        arms=arms,
        roles=roles,
        context=tasks[0],
        tasks=tasks[1:],
        columns=profiles.columns,
        profiles=profiles.people,
    )


def _check_sizes(
    settings: Settings,
    cells: Mapping[str, Cell],
    roles: Sequence[Role],
    tasks: Sequence[WorkbookTask],
    profiles: Profiles,
    complaints: Complaints,
) -> None:
    """Complains about numbers in the settings that contradict the other sheets."""
    user_roles = sum(not role.is_special for role in roles)
    if settings.num_agents_per_session != user_roles and roles:
        complaints.cell(
            cells["num_agents_per_session"],
            "every role is played by one agent in each session",
            f"{user_roles}, the number of roles without Facilitator and Summarizer",
        )
    needed = settings.num_agents_per_session * settings.num_sessions
    given = len(profiles.people)
    if needed != given and given:
        complaints.cell(
            cells["num_sessions"],
            f"{settings.num_sessions} sessions of {settings.num_agents_per_session} agents need {needed} profiles",
            f"{needed} profiles in agent_profiles",
            do=f"add rows to agent_profiles until there are {needed}",
            found=f"{given} profiles",
        )
    least = len(tasks) * len(roles)
    if settings.max_conversation_length < least:
        complaints.cell(
            cells["max_conversation_length"],
            f"{len(tasks)} tasks and {len(roles)} roles do not fit in",
            f"at least {least}",
        )
