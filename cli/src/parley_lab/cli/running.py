"""Runs experiments in an embedded lab, for `parley up` and `parley run`."""

import asyncio
import inspect
import os
import shlex
import shutil
import sys
import traceback
from collections.abc import Coroutine, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

from parley_lab.base.errors import InvalidInput, Unavailable
from parley_lab.base.event_loop import new_event_loop
from parley_lab.base.settings import KindSettings, ServerSettings, read_settings
from parley_lab.cli.embedded import Continued, EmbeddedLab
from parley_lab.cli.environment import read_servers
from parley_lab.cli.experiment_file import has_open_seats
from parley_lab.cli.experiment_run import FINISHED, INCOMPLETE, ExperimentRun, spent_calls_text
from parley_lab.cli.following import PATIENCE
from parley_lab.cli.interrupts import Interrupted, Interrupts
from parley_lab.cli.key_commands import console_address
from parley_lab.cli.lab_database import OPERATOR
from parley_lab.cli.lab_logs import OnError, logging_to
from parley_lab.cli.looking_on import data_dir_option, show_all
from parley_lab.cli.made_up_people import ALL_COME
from parley_lab.cli.overview import Overview
from parley_lab.cli.plans import Order, Plan, plans_of, with_library
from parley_lab.cli.screen import Screen, run_line
from parley_lab.cli.taking_home import take_home_what_moved
from parley_lab.contracts.real_models import insists_on_mock, keyless_addresses
from parley_lab.design import models_used
from parley_lab.experiments.runs import known_runs
from parley_lab.kinds.stages import brought, kinds
from parley_lab.store import sign_ins
from parley_lab.store.session import WHOLE_EXPERIMENT_SECONDS

DEFAULT_PORT: Final = 8000
_MOST_LISTED: Final = 5

ResultT = TypeVar("ResultT")


def execute(order: Order) -> int:
    """Execute the order and return the exit code.

    Raises:
        ParleyError: the order is refused, before the lab starts whenever possible.
    """
    servers = read_servers()
    plans = [] if order.file is None else plans_of(order, order.file)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_execute(order, plans, servers))


def _port(order: Order, plans: Sequence[Plan]) -> int | None:
    if order.port is None and any(has_open_seats(plan.experiment) for plan in plans):
        return 0 if order.rehearse else DEFAULT_PORT
    return order.port


def _mock_only(order: Order, plans: Sequence[Plan]) -> bool:
    """Whether the user has not allowed real models: then no request may call one, also over REST."""
    if order.models == "mock" or insists_on_mock(os.environ):
        return True
    return not order.keep_serving and bool(plans) and all(plan.model_mode == "mock" for plan in plans)


async def _execute(order: Order, plans: Sequence[Plan], servers: ServerSettings) -> int:
    lab = EmbeddedLab(
        order.data_dir,
        servers=servers,
        environ=os.environ,
        port=_port(order, plans),
        mock_only=_mock_only(order, plans),
        first_calls_alone=bool(plans),
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


def errors_to(screen: Screen, log: Path) -> OnError:
    """Tells the user about each kind of error once, and where in a kind of others it arose; the log has all of them."""
    told: set[str] = set()

    def tell(event: str, error: BaseException | None) -> None:
        what = f"({event}){_in_a_kind(error)}"
        if what not in told:
            told.add(what)
            screen.problem(f"The lab had an error {what}. Details are in {log}.")

    return tell


def _in_a_kind(error: BaseException | None) -> str:
    """The last line of a kind of others that led to the error, in words; empty where none did."""
    folders = {name: Path(inspect.getfile(type(kinds()[name]))).parent for name in brought()}
    for frame in reversed(traceback.extract_tb(None if error is None else error.__traceback__)):
        for name, folder in folders.items():
            if folder in Path(frame.filename).parents:
                what = f"{type(error).__name__}: {error}".partition("\n")[0]
                return f" in the kind {name!r}: {what} ({frame.filename}, line {frame.lineno})"
    return ""


async def _in_lab(order: Order, plans: Sequence[Plan], lab: EmbeddedLab, screen: Screen, interrupts: Interrupts) -> int:
    began_at = lab.clock.now()
    _say_where(lab, screen)
    if order.keep_serving:
        await _say_how_to_sign_in(lab, screen)
    if order.continue_all:
        continued = await lab.continue_all()
        _say_what_goes_on(continued, lab, screen)
        for name, problems in continued.refused.items():
            screen.problem(f"{name} stays as it is: {' '.join(problems)}")
    await _say_what_is_unfinished(order, plans, lab, screen)
    code, runs = FINISHED, list[ExperimentRun]()
    if plans:
        first = plans[0]
        for warning in [*first.file.warnings, *first.file.warnings_of(first.experiment), *_keyless(plans)]:
            screen.notice(f"Warning: {warning}", style="yellow")
        overview = Overview(screen)
        runs = [
            ExperimentRun(order, plan, lab, screen, overview, label=plan.experiment.name if len(plans) > 1 else "")
            for plan in plans
        ]
        try:
            code = await interrupts.unless(lambda: while_ours(lab, _all_to_their_end(runs, lab.clock.now())))
        except Interrupted as interrupted:
            screen.end_progress()
            await _leave(order, runs, lab, screen, began_at)
            if any(one.has_begun for one in runs):
                _say_how_to_go_on(order, plans[0], screen)
            return interrupted.exit_code
        if any(one.is_left for one in runs):
            _say_how_to_go_on(order, plans[0], screen, needs_calls=any(one.spent for one in runs))
    if order.keep_serving:
        screen.notice(f"The REST API stays at {lab.url}/docs until you press Ctrl-C.", style="bold")
        try:
            await interrupts.unless(lambda: while_ours(lab, _look_on(order, lab, screen, runs)))
        except Interrupted:
            is_written = await _leave(order, runs, lab, screen, began_at)
            return code if is_written else code or INCOMPLETE
    return code


async def _look_on(order: Order, lab: EmbeddedLab, screen: Screen, runs: Sequence[ExperimentRun]) -> None:
    """Show what happens in the lab beside the runs of this command, until this is cancelled."""
    shown = {one.experiment_id for one in runs if one.experiment_id is not None}
    where = data_dir_option(order.data_dir)
    await show_all(lab.database, lab.clock, screen, but=shown, where=where)


def _say_what_goes_on(continued: Continued, lab: EmbeddedLab, screen: Screen) -> None:
    runs_word = "run" if len(continued.runs) == 1 else "runs"
    screen.notice(f"Going on with {len(continued.runs)} unfinished {runs_word}.", style="bold")
    for name, code in continued.runs.items():
        screen.notice(f"  {name}: {lab.url}/join/{code}" if code and lab.url else f"  {name}")
    if continued.runs:
        screen.notice("parley runs shows how far they are; Ctrl-C and parley export ID write their data.")


def _keyless(plans: Sequence[Plan]) -> list[str]:
    """A warning about addresses that are called without a key, once for all runs."""
    uses = [use for plan in plans if plan.model_mode == "real" for use in models_used(plan.experiment)]
    return keyless_addresses(uses, os.environ)


async def _all_to_their_end(runs: Sequence[ExperimentRun], now: datetime) -> int:
    """Run them in parallel; returns the worst of their exit codes."""
    # All are recorded before any starts, so that all can be resumed; their common time shows that they belong together.
    begun_at = next((one.begun_at for one in runs if one.begun_at), None)
    begun = [(one, await one.begin(begun_at or now)) for one in runs]
    spent = [one.spent for one in runs if one.spent is not None]
    if len(spent) == len(runs):
        raise InvalidInput(spent_calls_text(max(spent, key=lambda limit: limit.taken)))
    return max(await asyncio.gather(*(one.to_its_end(run) for one, run in begun)))


async def _leave(
    order: Order, runs: Sequence[ExperimentRun], lab: EmbeddedLab, screen: Screen, began_at: datetime
) -> bool:
    """Finish the work in hand, then write the data of all runs of this lab; whether all were written."""
    await lab.come_to_rest()
    own_written = [await one.write_what_there_is() for one in runs]
    own = {one.experiment_id for one in runs if one.experiment_id is not None}
    others_written = await take_home_what_moved(lab, began_at, but=own, new_below=order.out, screen=screen)
    return all(own_written) and others_written


async def _say_what_is_unfinished(order: Order, plans: Sequence[Plan], lab: EmbeddedLab, screen: Screen) -> None:
    """List unfinished runs that do not continue by themselves, with their costs."""
    resumed = {plan.run.experiment_id for plan in plans if plan.run is not None}
    async with lab.database.transaction(statement_seconds=WHOLE_EXPERIMENT_SECONDS) as session:
        found = await known_runs(session, with_ended=False)
    paused = [one for one in found if one.status == "paused" and one.id not in resumed]
    if not paused:
        return
    screen.notice("Unfinished in this lab, and not gone on with:", style="yellow")
    for one in paused[:_MOST_LISTED]:
        screen.notice(f"  {run_line(one, is_running=True)}")
    if len(paused) > _MOST_LISTED:
        screen.notice(f"  and {len(paused) - _MOST_LISTED} more: parley runs")
    where = data_dir_option(order.data_dir)
    screen.notice(
        f"Go on with one by parley run FILE --resume, with all by parley up --continue-all{where}; end one with its "
        f"data by parley end ID{where}, delete one by parley discard ID{where}.",
        style="dim",
    )


async def while_ours(lab: EmbeddedLab, work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """The result of `work`.

    Raises:
        Unavailable: another lab took over the database meanwhile.
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


async def _say_how_to_sign_in(lab: EmbeddedLab, screen: Screen) -> None:
    """Show the address of the console with a code that signs in; on a terminal alone, since others may read a log."""
    if lab.url is None or not sys.stdout.isatty():
        return
    async with lab.database.transaction() as session:
        code = await sign_ins.make_code(session, OPERATOR, lab.clock.now())
    screen.notice(f"Console: {console_address(lab.url, code)}", style="bold")
    screen.notice("It signs you in once, within 10 minutes. Another one: parley console", style="dim")


def _say_how_to_go_on(order: Order, plan: Plan, screen: Screen, *, needs_calls: bool = False) -> None:
    """needs_calls: whether a run has used up its limit of calls."""
    # The command as it was called: `make run` calls it by a path that may not be on the shell's PATH.
    own_path = Path(sys.argv[0])
    is_out_of_sight = own_path.name == "parley" and shutil.which("parley") is None
    program = os.path.relpath(own_path) if is_out_of_sight else "parley"
    command = [program, "run", str(plan.file.path), "--resume"]
    command += ["--model", order.model] if order.model else []
    command += [word for seat in order.people for word in ("--people", seat)]
    if order.sessions is not None:
        command += ["--sessions", str(order.sessions)]
    if order.draws != "reference":
        command += ["--draws", order.draws]
    command += ["--steps"] if order.steps else []
    command += ["--rehearse"] if order.rehearse else []
    command += [word for name in order.personas for word in ("--as", name)]
    for name, count in asdict(order.turnout).items():
        command += [f"--{name.replace('_', '-')}", str(count)] if count != getattr(ALL_COME, name) else []
    if str(order.out) != "results":
        command += ["--out", str(order.out)]
    if str(order.data_dir) != ".parley":
        command += ["--data-dir", str(order.data_dir)]
    if (folder := read_settings(KindSettings).kinds_dir) is not None:
        command += ["--kinds", str(folder)]
    if order.port:
        command += ["--port", str(order.port)]
    if order.patience != PATIENCE:
        command += ["--patience", f"{order.patience / timedelta(minutes=1):g}"]
    if order.max_calls is not None and not needs_calls:
        command += ["--max-calls", str(order.max_calls)]
    told = shlex.join(command) + (" --max-calls M, where M counts all calls from its beginning" if needs_calls else "")
    screen.notice(f"Stopped. What was finished is kept in {order.data_dir}. Go on with: {told}")
