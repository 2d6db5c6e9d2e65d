"""Writes the data of a run into the folder of its record, or into a new one."""

import os
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from parley_lab.base.errors import InvalidInput, NotFound
from parley_lab.cli import run_folder
from parley_lab.cli.lab_database import LabDatabase
from parley_lab.cli.run_folder import NotWritten, Run
from parley_lab.cli.screen import Screen
from parley_lab.experiments.experiments import find
from parley_lab.experiments.runs import moved_since
from parley_lab.formats.exports import export

_MOST_TOLD: Final = 5


async def take_home(lab: LabDatabase, experiment_id: UUID, *, recorded: Run | None, new_below: Path) -> Path:
    """Write the data so far; returns their folder.

    recorded: the record of a run from the command line, if any. new_below: where a new folder is made otherwise.

    Raises:
        NotFound: there is no such experiment.
        InvalidInput: it was never started, or the folder may not be written.
        NotWritten: the folder cannot be written.
    """
    async with lab.database.transaction() as session:
        row = await find(session, experiment_id)
    if row.status == "draft":
        raise InvalidInput("This experiment was never started: it has no data.")
    folder = recorded.folder if recorded else run_folder.place(new_below, row.name, experiment_id, row.started_at)
    run_folder.require_writable(folder)
    with run_folder.writing(folder):
        await export(lab.database, experiment_id, folder, lab.clock.now())
    return folder


async def take_home_what_moved(
    lab: LabDatabase, since: datetime, *, but: Collection[UUID], new_below: Path, screen: Screen
) -> bool:
    """Write the data of all other experiments that have run since then, and tell the user where they are.

    Returns whether all were written.
    """
    is_written = True
    async with lab.database.transaction() as session:
        moved = [one for one in await moved_since(session, since) if one.id not in but]
    for number, one in enumerate(moved):
        recorded = recorded_run(lab, one.id, None)
        try:
            folder = await take_home(lab, one.id, recorded=recorded, new_below=new_below)
            if recorded is not None and one.status == "ended":
                run_folder.finish(recorded)
        except NotFound:
            continue
        except (InvalidInput, NotWritten) as error:
            screen.problem(f"The data of {one.name!r} were not written: {error}")
            is_written = False
            continue
        if number < _MOST_TOLD:
            screen.notice(f"The data of {one.name!r} are in {folder}{os.sep}", style="bold")
    if len(moved) > _MOST_TOLD:
        screen.notice(f"And those of {len(moved) - _MOST_TOLD} more beside them: parley runs lists all.", style="bold")
    return is_written


def nothing_is_left(lab: LabDatabase, experiment_id: UUID, out: Path | None, status: str) -> None:
    """Record in the folder of the run, if there is one, that it cannot be resumed."""
    for place in dict.fromkeys((None, out)):
        recorded = recorded_run(lab, experiment_id, place)
        if recorded is not None:
            with suppress(NotWritten):
                run_folder.finish(recorded, status=status)


def recorded_run(lab: LabDatabase, experiment_id: UUID, out: Path | None) -> Run | None:
    """The record of a run from the command line: below `out`, or where it was started."""
    if out is not None:
        return run_folder.find(out, experiment_id)
    return run_folder.find(run_folder.DEFAULT_OUT, experiment_id, lab.directory.folder_of_run(experiment_id))
