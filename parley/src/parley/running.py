"""Running experiments in an embedded lab, as `parley up` and `parley run` do it."""

import asyncio
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Collection, Coroutine, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, Final, TypeVar
from uuid import UUID

import uvloop

from parley import run_folder
from parley.embedded import EmbeddedLab
from parley.experiment_file import has_open_seats
from parley.following import Ending, Follower
from parley.interrupts import Interrupted, Interrupts
from parley.lab_logs import logging_to
from parley.plans import Order, Plan, begun_experiment, plans_of, with_library
from parley.run_folder import Run
from parley.screen import Screen, conversation_line, progress_line
from shared.db import experiments
from shared.db.following import Failed, failed_members, open_seats, others_running
from shared.errors import InvalidInput, Unavailable
from shared.exports import conversations, export
from shared.settings import ServerSettings, read_settings

DEFAULT_PORT: Final = 8000

FINISHED: Final = 0
ResultT = TypeVar("ResultT")

INCOMPLETE: Final = 1
"""The run is stuck, or participants failed in it."""


def execute(order: Order) -> int:
    """Do what was ordered and return the exit code.

    Raises:
        ParleyError: it was refused, before anything has started whenever that is possible.
    """
    servers = read_settings(ServerSettings)
    plans = [] if order.file is None else plans_of(order, order.file)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_execute(order, plans, servers))


def _port(order: Order, plans: Sequence[Plan]) -> int | None:
    if order.port is None and any(has_open_seats(plan.experiment) for plan in plans):
        return DEFAULT_PORT
    return order.port


def _mock_only(order: Order, plans: Sequence[Plan]) -> bool:
    """What was left unfinished in the data directory goes on too: without a word for real models, none is called."""
    if order.models == "mock":
        return True
    return not order.keep_serving and bool(plans) and all(plan.model_mode == "mock" for plan in plans)


async def _execute(order: Order, plans: Sequence[Plan], servers: ServerSettings) -> int:
    lab = EmbeddedLab(
        order.data_dir,
        servers=servers,
        environ=os.environ,
        port=_port(order, plans),
        mock_only=_mock_only(order, plans),
    )
    lab.directory.make()
    with Screen() as screen, logging_to(lab.directory.log, errors_to(screen, lab.directory.log)):
        interrupts = Interrupts(
            on_first=lambda: screen.notice("Finishing what is in hand ... (Ctrl-C again stops at once)"),
            before_exit=lab.stop_postgres,
        )
        screen.notice("Starting the lab ...", style="dim")
        async with lab:
            plans = [await with_library(order, plan, lab) if plan.file.named else plan for plan in plans]
            return await _in_lab(order, plans, lab, screen, interrupts)


def errors_to(screen: Screen, log: Path) -> Callable[[str], None]:
    """Tells the user of each kind of error once; the rest is in the log."""
    told: set[str] = set()

    def tell(event: str) -> None:
        if event not in told:
            told.add(event)
            screen.problem(f"The lab had an error ({event}). Details are in {log}.")

    return tell


async def _in_lab(order: Order, plans: Sequence[Plan], lab: EmbeddedLab, screen: Screen, interrupts: Interrupts) -> int:
    _say_where(lab, screen)
    code = FINISHED
    if plans:
        runs = [_ExperimentRun(order, plan, lab, screen) for plan in plans]
        try:
            code = await interrupts.unless(while_ours(lab, _all_to_their_end(runs)))
        except Interrupted as interrupted:
            screen.end_progress()
            if any(one.has_begun for one in runs):
                _say_how_to_go_on(order, plans[0], screen)
            return interrupted.exit_code
    if order.keep_serving:
        screen.notice(f"The REST API stays at {lab.url}/docs until you press Ctrl-C.", style="bold")
        try:
            await interrupts.unless(while_ours(lab, asyncio.Event().wait()))
        except Interrupted:
            return code
    return code


async def _all_to_their_end(runs: "Sequence[_ExperimentRun]") -> int:
    """Run them at the same time; returns the worst of their exit codes."""
    # All are recorded before any is started, so that all can be resumed.
    begun = [(one, await one.begin()) for one in runs]
    names = [one.name for one in runs]
    return max(await asyncio.gather(*(one.to_its_end(run, names) for one, run in begun)))


async def while_ours(lab: EmbeddedLab, work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """What `work` returns.

    Raises:
        Unavailable: another lab took the database in the meantime.
    """
    task = asyncio.create_task(work)
    lost = asyncio.create_task(lab.is_lost.wait())
    try:
        await asyncio.wait({task, lost}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Unavailable("Another lab has taken over this database while PostgreSQL was away; this one stops.")
        return task.result()
    finally:
        for unfinished in (task, lost):
            unfinished.cancel()
        await asyncio.gather(task, lost, return_exceptions=True)


def _say_where(lab: EmbeddedLab, screen: Screen) -> None:
    screen.notice(f"The lab runs. Its data and logs are in {lab.directory.path}.")
    if lab.url is not None:
        screen.notice(f"REST API: {lab.url}  documentation: {lab.url}/docs  API key: in {lab.directory.api_key}")


def _say_how_to_go_on(order: Order, plan: Plan, screen: Screen) -> None:
    # As it was called: `make run` calls it by its path, which need not be where the shell looks.
    own_path = Path(sys.argv[0])
    is_out_of_sight = own_path.name == "parley" and shutil.which("parley") is None
    program = os.path.relpath(own_path) if is_out_of_sight else "parley"
    command = [program, "run", str(plan.file.path), "--resume"]
    if str(order.out) != "results":
        command += ["--out", str(order.out)]
    if str(order.data_dir) != ".parley":
        command += ["--data-dir", str(order.data_dir)]
    screen.notice(f"Stopped. What was finished is kept in {order.data_dir}. Go on with: {shlex.join(command)}")


class _ExperimentRun:
    """One run of an experiment, from its start or where it was left to its data files."""

    def __init__(self, order: Order, plan: Plan, lab: EmbeddedLab, screen: Screen) -> None:
        self._order = order
        self._plan = plan
        self._lab = lab
        self._screen = screen
        self._database = lab.database
        self.has_begun = plan.run is not None

    @property
    def name(self) -> str:
        return self._plan.experiment.name

    async def begin(self) -> Run:
        """The run that is gone on with, or a new one, recorded and not started yet."""
        return await self._resumed(self._plan.run) if self._plan.run is not None else await self._begun()

    async def to_its_end(self, run: Run, together_with: Collection[str]) -> int:
        """Start or go on with the run; `together_with` names the experiments of the same file."""
        began = monotonic()
        follower = Follower(self._database, run.experiment_id, self._screen)
        if self._plan.run is not None:
            await follower.skip_what_was()
        await self._start(run.experiment_id, together_with)
        await self._say_who_is_awaited(run.experiment_id)
        ending = await follower.until_over()
        self._screen.end_progress()
        return await self._concluded(run, ending, monotonic() - began)

    async def _begun(self) -> Run:
        plan, now = self._plan, self._lab.clock.now()
        async with self._database.transaction() as session:
            experiment_id = await experiments.create(session, self._lab.operator_id, plan.experiment, now)
            if plan.model_mode != plan.experiment.model_mode:
                await experiments.set_model_mode(session, experiment_id, plan.model_mode)
        # The record stands before anything happens, so that whatever has begun can be resumed.
        run = run_folder.begin(
            self._order.out,
            plan.experiment.name,
            experiment_id=experiment_id,
            file_hash=plan.file_hash,
            file=plan.file.path,
            model_mode=plan.model_mode,
            now=now,
        )
        self.has_begun = True
        self._say_what(f"Running {plan.experiment.name!r} from {plan.file.path}")
        return run

    async def _resumed(self, run: Run) -> Run:
        async with self._database.transaction() as session:
            row = await begun_experiment(session, run)
        if row.model_mode != self._plan.model_mode:
            raise InvalidInput(f"{run.folder / run_folder.RECORD} was changed: the run uses {row.model_mode} models.")
        self._say_what(f"Going on with the run {run.folder}")
        return run

    def _say_what(self, text: str) -> None:
        mode = self._plan.model_mode
        says_other = mode != self._plan.experiment.model_mode
        models = f"{mode} models" + (f" (the file says {self._plan.experiment.model_mode})" if says_other else "")
        self._screen.notice(f"{text}, with {models}, pace {self._plan.experiment.pace}.", style="bold")

    async def _start(self, experiment_id: UUID, together_with: Collection[str]) -> None:
        async with self._database.transaction() as session:
            row = await experiments.find(session, experiment_id)
            if row.status == "draft":
                await experiments.start(session, experiment_id, self._lab.clock.now())
            running = await others_running(session, experiment_id, self._lab.served_modes)
        others = [name for name in running if name not in together_with]
        if others:
            self._screen.notice(
                f"Unfinished experiments in this lab go on as well: {', '.join(map(repr, others[:5]))}"
                + (f" and {len(others) - 5} more." if len(others) > 5 else "."),
                style="yellow",
            )

    async def _say_who_is_awaited(self, experiment_id: UUID) -> None:
        async with self._database.transaction() as session:
            seats = await open_seats(session, experiment_id)
        if seats:
            self._screen.notice(
                f"Waiting for {seats} {'person' if seats == 1 else 'people'} to join: "
                f"curl -X POST {self._lab.url}/v1/experiments/{experiment_id}/join",
                style="bold yellow",
            )

    async def _concluded(self, run: Run, ending: Ending, seconds: float) -> int:
        await export(self._database, run.experiment_id, run.folder, self._lab.clock.now())
        async with self._database.transaction() as session:
            failed = await failed_members(session, run.experiment_id)
            talks = [row async for row in conversations(session, run.experiment_id)]
        self._say_how_it_ended(ending, failed, seconds)
        for talk in talks:
            self._screen.notice(conversation_line(talk))
        self._screen.notice(f"The data are in {run.folder}{os.sep}", style="bold")
        if ending.stuck:
            return INCOMPLETE
        run_folder.finish(run)
        return INCOMPLETE if failed else FINISHED

    def _say_how_it_ended(self, ending: Ending, failed: Sequence[Failed], seconds: float) -> None:
        self._screen.notice(progress_line(ending.progress))
        if ending.stuck:
            self._screen.problem("The run is stuck: nothing more will happen in it.")
        for stuck in ending.stuck:
            self._screen.problem(f"  {stuck.member_path} on {stuck.stage_id or 'no stage'}: {stuck.reason}")
        if failed:
            self._screen.problem(f"{len(failed)} of the participants failed:")
        for member in failed:
            self._screen.problem(f"  {member.member_path} on {member.stage_id or 'no stage'}: {member.reason}")
        if not ending.stuck and not failed:
            self._screen.notice(f"Finished in {seconds:.1f} s.", style="bold green")
