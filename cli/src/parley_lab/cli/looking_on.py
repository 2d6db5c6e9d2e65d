"""Shows in the terminal what happens in the experiments of a lab: of all that run, or of one."""

import asyncio
import shlex
from collections.abc import Collection, Coroutine, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

import structlog
from rich.console import Console

from parley_lab.base.clock import Clock
from parley_lab.base.errors import Conflict, Unavailable
from parley_lab.base.event_loop import new_event_loop
from parley_lab.cli.environment import read_servers
from parley_lab.cli.following import Follower
from parley_lab.cli.lab_database import LabAtHand
from parley_lab.cli.screen import Screen, plain
from parley_lab.experiments.experiments import Progress
from parley_lab.experiments.following import CohortProgress
from parley_lab.experiments.runs import moved_since, run_of
from parley_lab.store.session import Database
from parley_lab.store.statements import Row

log = structlog.get_logger(__name__)

_LOOK_SECONDS: Final = 2.0
"""How often to look for experiments that have begun, and again at one that seems stuck."""


async def show_all(database: Database, clock: Clock, screen: Screen, *, but: Collection[UUID], where: str) -> None:
    """Show what happens in each experiment from now on, until this is cancelled.

    `but`: experiments that are shown already. `where`: the option that names the lab's folder, for the command that is
    printed at the end of an experiment.
    """
    since = clock.now()
    shown: dict[UUID, asyncio.Task[None]] = {}
    async with asyncio.TaskGroup() as group:
        while True:
            for run in await _moved(database, since):
                if run.id not in but and run.id not in shown and run.status == "running":
                    shown[run.id] = group.create_task(
                        _try(_show(database, clock, screen, run, since=since, where=where))
                    )
            await asyncio.sleep(_LOOK_SECONDS)


async def _try(showing: Coroutine[None, None, None]) -> None:
    """Show one experiment; a fault of this ends neither the lab nor what is shown of others."""
    try:
        await showing
    except Exception:
        log.exception("looking_on.failed")


async def _moved(database: Database, since: datetime) -> Sequence[Row]:
    try:
        async with database.read() as session:
            return await moved_since(session, since)
    except Unavailable:
        # The follower of each run prints that the database is away.
        return ()


async def _show(database: Database, clock: Clock, screen: Screen, run: Row, *, since: datetime, where: str) -> None:
    """Show one experiment until it has ended or is deleted."""
    follower = Follower(
        database,
        run.id,
        screen,
        show_progress=_nothing,
        label=run.name,
        waits_in_pauses=True,
        clock=clock,
    )
    if run.started_at < since:
        await follower.skip_what_was()
    while True:
        ending = await follower.until_over()
        if ending.progress is None:
            return
        if ending.progress.status == "ended":
            screen.notice(f"{run.name!r} has ended. Its data: parley export {run.id.hex[:8]}{where}", style="bold")
            return
        await asyncio.sleep(_LOOK_SECONDS)


def _nothing(experiment_id: UUID, progress: Progress, cohorts: Sequence[CohortProgress]) -> None:
    """Progress of experiments that come and go has no place on the screen."""


def data_dir_option(data_dir: Path) -> str:
    """What a command must be given to find this lab; empty for the usual folder."""
    return "" if str(data_dir) == ".parley" else f" --data-dir {shlex.quote(str(data_dir))}"


def watch(data_dir: Path, run: str) -> str:
    """Show what happens in one run of a lab that runs, until the run has ended; the last word about it.

    Raises:
        Conflict: no lab runs here.
    """

    async def work() -> str:
        async with LabAtHand(data_dir, servers=read_servers()) as lab:
            async with lab.database.read() as session:
                found = await run_of(session, run)
            if not lab.is_running:
                raise Conflict("No lab runs here, so nothing happens. Start one with parley up.", reason="not_running")
            # The screen may be slow to show the notice: events from before it count, too.
            since = lab.clock.now()
            # Without a reader there is nothing to watch for.
            with Screen(plain(Console)) as screen:
                screen.notice(f"Watching {found.name!r}. Ctrl-C ends the watching, and not the run.", style="bold")
                await _show(lab.database, lab.clock, screen, found, since=since, where=data_dir_option(data_dir))
        return ""

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work())
