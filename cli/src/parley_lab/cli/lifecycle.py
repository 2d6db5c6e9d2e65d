"""The commands about runs: list, pause, resume, end, delete, export, and remove a seat.

Each works on a running lab, through its database, and on the directory of a lab that is not running.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID

from parley_lab.answers import advancing
from parley_lab.base.errors import Conflict, InvalidInput, Problem
from parley_lab.base.event_loop import new_event_loop
from parley_lab.cli import run_folder
from parley_lab.cli.environment import read_servers
from parley_lab.cli.lab_database import LabAtHand
from parley_lab.cli.screen import run_line
from parley_lab.cli.taking_home import nothing_is_left, recorded_run, take_home
from parley_lab.contracts import lives
from parley_lab.design import Experiment, models_used
from parley_lab.drafts import workers
from parley_lab.experiments import ending, pausing
from parley_lab.experiments.experiments import find
from parley_lab.experiments.runs import known_runs, run_of, seat_of
from parley_lab.members import standings
from parley_lab.people import notices
from parley_lab.people.guests import forgotten_guests, guests_of, has_guest_list, let_everybody, replace_guests
from parley_lab.store.key_lists import note_command
from parley_lab.store.session import WHOLE_EXPERIMENT_SECONDS, Session
from parley_lab.store.statements import Row

ResultT = TypeVar("ResultT")

REMOVED: Final = "removed from the command line"
CAUSE: Final = "command"


def runs(data_dir: Path) -> list[str]:
    """The runs of a lab, a line for each, the oldest first."""

    async def work(lab: LabAtHand) -> list[str]:
        found = await _decided(lab, lambda session: known_runs(session, with_ended=True))
        return [run_line(one, is_running=lab.is_running) for one in found]

    return _at(data_dir, work) or ["Nothing was run in this lab."]


def stop(data_dir: Path, run: str) -> str:
    """Pause a run until it is resumed."""

    async def work(lab: LabAtHand, found: Row) -> str:
        await _decided(lab, lambda session: pausing.pause(session, found.id, lab.clock.now(), cause=CAUSE))
        return f"{found.name!r} is paused: nothing is published, asked, timed or paid in it. {_how_to_resume(found.id)}"

    return _with_run(data_dir, run, work, command="stop")


def _how_to_resume(experiment_id: UUID) -> str:
    return (
        f"Go on with it by parley run FILE --resume; in a lab that runs, by parley resume {experiment_id.hex[:8]} or "
        f"POST /v1/experiments/{experiment_id}/resume."
    )


def resume(data_dir: Path, run: str) -> str:
    """Resume a paused run in a running lab.

    Raises:
        Conflict: no lab runs here, or the running one does not call the run's models.
    """

    async def work(lab: LabAtHand, found: Row) -> str:
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

    return _with_run(data_dir, run, work, command="resume")


async def _require_models(session: Session, experiment_id: UUID, now: datetime) -> None:
    """Check that the running lab calls the models of this experiment.

    Raises:
        Conflict: it does not.
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


def end(data_dir: Path, run: str, out: Path | None) -> str:
    """End a run and keep its data. Where no lab is running, they are written at once.

    out: the folder to write them below; None: where the run was started.

    Raises:
        NotWritten: the run has ended, and its data cannot be written.
    """

    async def work(lab: LabAtHand, found: Row) -> str:
        await _decided(lab, lambda session: ending.end(session, found.id, lab.clock.now(), cause=CAUSE))
        if lab.is_running:
            return f"{found.name!r} has ended. Its data: parley export {found.id.hex[:8]}"
        try:
            folder = await _taken_home(lab, found.id, out)
        except (InvalidInput, run_folder.NotWritten) as error:
            told = f"{found.name!r} has ended. {error} Then: parley export {found.id.hex[:8]}"
            raise run_folder.NotWritten(told) from error
        nothing_is_left(lab, found.id, out, run_folder.FINISHED)
        return f"{found.name!r} has ended. The data so far are in {folder}{os.sep}"

    return _with_run(data_dir, run, work, command="end")


def discard(data_dir: Path, run: str, out: Path | None) -> str:
    """Delete a run from the lab; data in folders stay."""

    async def work(lab: LabAtHand, found: Row) -> str:
        await ending.delete(lab.database, found.id, lab.clock.now())
        nothing_is_left(lab, found.id, out, run_folder.DISCARDED)
        return f"{found.name!r} is deleted from the lab. Data that were written before stay in their folders."

    return _with_run(data_dir, run, work, command="discard")


def export(data_dir: Path, run: str, out: Path | None) -> str:
    """Write the data so far into the folder of the run, or into a new one."""

    async def work(lab: LabAtHand, found: Row) -> str:
        return f"The data are in {await _taken_home(lab, found.id, out)}{os.sep}"

    return _with_run(data_dir, run, work)


async def _taken_home(lab: LabAtHand, experiment_id: UUID, out: Path | None) -> Path:
    recorded = recorded_run(lab, experiment_id, out)
    return await take_home(lab, experiment_id, recorded=recorded, new_below=out or run_folder.DEFAULT_OUT)


def remove(data_dir: Path, run: str, path: str, reason: str) -> str:
    """Take the member at this path out of a run for good, such as a seat without a person.

    Raises:
        Conflict: the run or the member has ended.
    """

    async def work(lab: LabAtHand, found: Row) -> str:
        async def take_out(session: Session) -> None:
            seat = await seat_of(session, found.id, path)
            standing = await standings.lock_standing(session, seat.id)
            now = lab.clock.now()
            outcome = lives.outcome(standing.status, "remove")
            await advancing.end_member(
                session, standing, outcome, reason or REMOVED, now, cause=CAUSE, actor="operator"
            )

        await _decided(lab, take_out)
        return f"{path} of {found.name!r} is removed. Members who waited for it go on."

    return _with_run(data_dir, run, work, command="remove", about=path)


def read_ids(path: Path) -> list[str]:
    """The external ids in a text file, one on each line that is not blank.

    Raises:
        InvalidInput: the file cannot be read, or has none.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        expected = "a text file in UTF-8 with an external id on each line"
        raise InvalidInput(f"The ids in {path} cannot be read.", [Problem(str(path), str(error), expected)]) from error
    ids = [line.strip() for line in lines if line.strip()]
    if not ids:
        problem = Problem(
            str(path), "no id", "an external id on each line, or --everybody or --nobody instead of the file"
        )
        raise InvalidInput(f"{path} has no guests.", [problem])
    return ids


def set_guests(data_dir: Path, run: str, external_ids: Sequence[str]) -> str:
    """Let these people join a run and no others.

    Raises:
        InvalidInput: one of them is no id.
        Conflict: the run has ended.
    """

    async def work(lab: LabAtHand, found: Row) -> str:
        await _decided(lab, lambda session: replace_guests(session, found.id, external_ids, lab.clock.now()))
        listed = await _decided(lab, lambda session: guests_of(session, found.id))
        if not listed:
            return f"No one may join {found.name!r}."
        people = "1 person" if len(listed) == 1 else f"{len(listed)} people"
        return f"{people} may join {found.name!r}, and no others."

    return _with_run(data_dir, run, work, command="guests")


def take_guest_list_away(data_dir: Path, run: str) -> str:
    """Let everybody who has the link join a run.

    Raises:
        Conflict: the run has ended.
    """

    async def work(lab: LabAtHand, found: Row) -> str:
        await _decided(lab, lambda session: let_everybody(session, found.id))
        return f"Everybody who has the link may join {found.name!r}."

    return _with_run(data_dir, run, work, command="guests")


def guests(data_dir: Path, run: str) -> str:
    """The guest list of a run, a line for each, with who came."""

    async def work(lab: LabAtHand, found: Row) -> str:
        listed = await _decided(lab, lambda session: guests_of(session, found.id))
        forgotten = await _decided(lab, lambda session: forgotten_guests(session, found.id))
        has_list = await _decided(lab, lambda session: has_guest_list(session, found.id))
        return "\n".join(guest_lines(found.name, listed, forgotten, has_list=has_list))

    return _with_run(data_dir, run, work)


def guest_lines(name: str, listed: Sequence[Row], forgotten: int, *, has_list: bool) -> list[str]:
    """The guests of a run, who came of them, and how many are not shown because their data was deleted."""
    if not has_list:
        return [f"{name!r} has no guest list: everybody who has the link may join."]
    if not listed and not forgotten:
        return [f"The guest list of {name!r} is empty: no one may join."]
    came = sum(one.path is not None for one in listed)
    lines = [f"{one.external_id}\t{'-' if one.path is None else f'{one.path} {one.status}'}" for one in listed]
    lines += [f"{came} of {len(listed)} have joined."] if listed else []
    if forgotten:
        guests_are = "1 guest is" if forgotten == 1 else f"{forgotten} guests are"
        lines.append(f"{guests_are} not shown: their data was deleted. The list stays closed to everybody else.")
    return lines


def link(data_dir: Path, run: str, url: str | None) -> str:
    """The address at which people join a run.

    Raises:
        Conflict: the run has ended, or its lab serves nothing.
    """

    async def work(lab: LabAtHand, found: Row) -> str:
        if found.status == "ended":
            raise Conflict(f"{found.name!r} has ended: nobody can join it any more.", reason="ended")
        served = url or lab.address()
        if served is None:
            raise Conflict(
                "No lab serves pages here. Start one with parley up, or name its address with --url.",
                reason="not_running",
            )
        return f"{served.rstrip('/')}/join/{found.join_code}"

    return _with_run(data_dir, run, work)


def message(data_dir: Path, run: str, path: str, words: str) -> str:
    """Say something to the person at this path, on their page until they have read it.

    Raises:
        Conflict: no person is there.
    """

    async def work(lab: LabAtHand, found: Row) -> str:
        async def send(session: Session) -> None:
            seat = await seat_of(session, found.id, path)
            standing = await standings.lock_standing(session, seat.id)
            await notices.send_notice(session, standing, words, lab.clock.now(), sent_by="operator")

        await _decided(lab, send)
        return f"{path} of {found.name!r} reads it on the page, until it is marked as read."

    return _with_run(data_dir, run, work, command="message", about=path)


def _with_run(
    data_dir: Path,
    run: str,
    work: Callable[[LabAtHand, Row], Awaitable[str]],
    *,
    command: str | None = None,
    about: str = "",
) -> str:
    """The result of `work` for the run whose id begins with `run`.

    `command`: its name, where it changes something; that it was given is kept first, with what in the run it is about.
    """

    async def find_it(lab: LabAtHand, session: Session) -> Row:
        found = await run_of(session, run)
        if command is not None:
            deed = f"parley {command} {found.id} {about}".rstrip()
            await note_command(session, lab.operator_id, deed, lab.clock.now())
        return found

    async def with_it(lab: LabAtHand) -> str:
        return await work(lab, await _decided(lab, lambda session: find_it(lab, session)))

    return _at(data_dir, with_it)


async def _decided(lab: LabAtHand, work: Callable[[Session], Awaitable[ResultT]]) -> ResultT:
    return await lab.database.transact(work, statement_seconds=WHOLE_EXPERIMENT_SECONDS)


def _at(data_dir: Path, work: Callable[[LabAtHand], Awaitable[ResultT]]) -> ResultT:
    async def at_lab() -> ResultT:
        async with LabAtHand(data_dir, servers=read_servers()) as lab:
            return await work(lab)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(at_lab())
