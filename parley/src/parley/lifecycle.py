"""What becomes of runs: listed, paused, resumed, ended, deleted, exported; a seat taken out.

Each works on a lab that runs, through its database, and on a folder whose lab does not.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID

import uvloop

from formats.exports import export
from parley import run_folder
from parley.lab_database import LabAtHand
from parley.screen import run_line
from shared.acts import advancing, ending, pausing
from shared.db import standings, workers
from shared.db.experiments import find
from shared.db.failures import is_deadlock
from shared.db.runs import known_runs, run_of, seat_of
from shared.db.session import WHOLE_EXPERIMENT_SECONDS, Session
from shared.errors import Conflict, InvalidInput
from shared.experiment import Experiment, models_used
from shared.settings import ServerSettings, read_settings

ResultT = TypeVar("ResultT")

REMOVED: Final = "removed from the command line"
CAUSE: Final = "command"


def runs(data_dir: Path) -> list[str]:
    """The runs of a lab in words, a line for each, the oldest first."""

    async def work(lab: LabAtHand) -> list[str]:
        found = await _decided(lab, lambda session: known_runs(session, with_ended=True))
        return [run_line(one, is_running=lab.is_running) for one in found]

    return _at(data_dir, work) or ["Nothing was run in this lab."]


def stop(data_dir: Path, run: str) -> str:
    """Pause a run until somebody resumes it."""

    async def work(lab: LabAtHand) -> str:
        found = await _named(lab, run)
        await _decided(lab, lambda session: pausing.pause(session, found.id, lab.clock.now(), cause=CAUSE))
        return f"{found.name!r} is paused: nothing is published, asked, timed or paid in it. {_how_to_resume(found.id)}"

    return _at(data_dir, work)


def _how_to_resume(experiment_id: UUID) -> str:
    return (
        f"Go on with it by parley run FILE --resume; in a lab that runs, by parley resume {experiment_id.hex[:8]} or "
        f"POST /v1/experiments/{experiment_id}/resume."
    )


def resume(data_dir: Path, run: str) -> str:
    """Go on with a paused run in a lab that runs.

    Raises:
        Conflict: no lab runs here in which it could go on, or one that does not call its models.
    """

    async def work(lab: LabAtHand) -> str:
        found = await _named(lab, run)
        if not lab.is_running:
            raise Conflict(
                "No lab runs here in which it could go on. Start one with parley run FILE --resume, or with parley up "
                "and then resume it.",
                reason="not_running",
            )

        async def go_on(session: Session) -> None:
            await _require_models(session, found.id, lab.clock.now())
            await pausing.resume(session, found.id, lab.clock.now(), cause=CAUSE)

        await _decided(lab, go_on)
        return f"{found.name!r} goes on."

    return _at(data_dir, work)


async def _require_models(session: Session, experiment_id: UUID, now: datetime) -> None:
    """Raises:
    Conflict: the lab that runs here does not call the models of this experiment.
    """
    row = await find(session, experiment_id)
    if row.model_mode == "mock":
        return
    needed = {use.provider for use in models_used(Experiment.model_validate(row.document))}
    missing = needed - await workers.served_providers(session, now)
    if missing:
        raise Conflict(
            f"The lab that runs here calls no models of {', '.join(sorted(missing))}: it was started for the mock, or "
            "without what they need. Stop it, and go on with parley run FILE --resume.",
            reason="real_models_refused",
        )


def end(data_dir: Path, run: str, out: Path) -> str:
    """End a run with the data that there are. Where no lab runs, they are written at once."""

    async def work(lab: LabAtHand) -> str:
        found = await _named(lab, run)
        await _decided(lab, lambda session: ending.end(session, found.id, lab.clock.now(), cause=CAUSE))
        if lab.is_running:
            return f"{found.name!r} has ended. Its data: parley export {found.id.hex[:8]}"
        folder = await _exported(lab, found.id, out)
        _note(out, found.id, run_folder.FINISHED)
        return f"{found.name!r} has ended. The data that there are are in {folder}{os.sep}"

    return _at(data_dir, work)


def discard(data_dir: Path, run: str, out: Path) -> str:
    """Delete a run from the lab; data that were written to folders stay there."""

    async def work(lab: LabAtHand) -> str:
        found = await _named(lab, run)
        await ending.delete(lab.database, found.id, lab.clock.now())
        _note(out, found.id, run_folder.DISCARDED)
        return f"{found.name!r} is deleted from the lab. Data that were written before stay in their folders."

    return _at(data_dir, work)


def take_home(data_dir: Path, run: str, out: Path) -> str:
    """Write the data that there are into the folder of the run, or into a new one."""

    async def work(lab: LabAtHand) -> str:
        found = await _named(lab, run)
        return f"The data are in {await _exported(lab, found.id, out)}{os.sep}"

    return _at(data_dir, work)


def remove(data_dir: Path, run: str, path: str, reason: str) -> str:
    """Take the member at this path out of a run for good, such as a seat that nobody takes.

    Raises:
        Conflict: the run has ended, or the member had come to an end.
    """

    async def work(lab: LabAtHand) -> str:
        found = await _named(lab, run)

        async def take_out(session: Session) -> None:
            seat = await seat_of(session, found.id, path)
            standing = await standings.lock_standing(session, seat.id)
            now = lab.clock.now()
            removed = await advancing.end_member(
                session, standing, "removed", reason or REMOVED, now, cause=CAUSE, actor="operator"
            )
            if not removed and standing.status != "removed":
                raise Conflict(f"{path} has come to an end: {standing.status}.", reason="not_in_progress")

        await _decided(lab, take_out)
        return f"{path} of {found.name!r} is removed. Whoever waited for it is looked at again."

    return _at(data_dir, work)


async def _exported(lab: LabAtHand, experiment_id: UUID, out: Path) -> Path:
    """The folder into which the data were written."""
    async with lab.database.transaction() as session:
        row = await find(session, experiment_id)
    if row.status == "draft":
        raise InvalidInput("This experiment was never started: it has no data.")
    run_folder.require_writable(out)
    recorded = run_folder.find(out, experiment_id)
    folder = recorded.folder if recorded is not None else run_folder.place(out, row.name, experiment_id, row.started_at)
    folder.mkdir(parents=True, exist_ok=True)
    await export(lab.database, experiment_id, folder, lab.clock.now())
    return folder


def _note(out: Path, experiment_id: UUID, status: str) -> None:
    """Record in the folder of the run that nothing is left to resume."""
    recorded = run_folder.find(out, experiment_id)
    if recorded is not None:
        with suppress(OSError):
            run_folder.finish(recorded, status=status)


async def _named(lab: LabAtHand, run: str) -> Any:
    return await _decided(lab, lambda session: run_of(session, run))


async def _decided(lab: LabAtHand, work: Callable[[Session], Awaitable[ResultT]]) -> ResultT:
    """What `work` returns, committed; once more after a deadlock."""
    try:
        return await _once(lab, work)
    except Exception as error:
        if not is_deadlock(error):
            raise
    return await _once(lab, work)


async def _once(lab: LabAtHand, work: Callable[[Session], Awaitable[ResultT]]) -> ResultT:
    async with lab.database.transaction(statement_seconds=WHOLE_EXPERIMENT_SECONDS) as session:
        return await work(session)


def _at(data_dir: Path, work: Callable[[LabAtHand], Awaitable[ResultT]]) -> ResultT:
    async def at_lab() -> ResultT:
        async with LabAtHand(data_dir, servers=read_settings(ServerSettings)) as lab:
            return await work(lab)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(at_lab())
