"""Plans what a command does with an experiment file, and checks everything that can be refused in advance."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from parley_lab.base.errors import InvalidInput, NotFound
from parley_lab.cli import run_folder
from parley_lab.cli.experiment_file import (
    ExperimentFile,
    Models,
    chosen_mode,
    is_workbook,
    kept_mode,
    mode_asked_for,
    open_seats_in,
    read_file,
    with_model,
)
from parley_lab.cli.following import PATIENCE
from parley_lab.cli.lab_database import LabDatabase
from parley_lab.cli.made_up_people import ALL_COME, Turnout
from parley_lab.cli.run_folder import Run, Wanted
from parley_lab.cli.workbook_file import read_workbook
from parley_lab.contracts.experiment import ModelMode, Persona
from parley_lab.design import Experiment, document_hash
from parley_lab.experiments import experiments, personas
from parley_lab.formats.workbook import Draws, compile_designs, estimates
from parley_lab.store.session import Session
from parley_lab.store.statements import Row


@dataclass(frozen=True, slots=True)
class Order:
    """What the user asked for. `port` None: no REST API, unless people have to join; 0: any free port."""

    file: Path | None
    models: Models | None
    """None: as in the file; with a `model` real ones."""
    out: Path
    data_dir: Path
    port: int | None
    model: str | None = None
    """The model of personas that name none."""
    resume: bool = False
    retry_failed: bool = False
    """Whether to retry what failed for good in the run that is resumed."""
    keep_serving: bool = False
    continue_all: bool = False
    """Whether to continue all runs that were running when a lab here was stopped."""
    people: tuple[str, ...] = ()
    """Seats of a workbook for people."""
    sessions: int | None = None
    """How many sessions of a workbook are run; None: all."""
    draws: Draws = "reference"
    """The way in which a workbook's draws are made."""
    max_calls: int | None = None
    """The limit of model calls of each experiment; None: as in the file."""
    patience: timedelta = PATIENCE
    """How long a run waits for a refused key."""
    rehearse: bool = False
    """Whether made-up people take the open seats."""
    turnout: Turnout = ALL_COME
    """How many of them never come, and the like."""
    personas: tuple[str, ...] = ()
    """The personas as whom they take part."""
    steps: bool = False
    """Whether to show every step of stages that narrate, such as the rounds of games."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be run, after all checks that are possible in advance; `run` is the run to resume.

    An experiment that needs a library stays a sketch, with its models unchecked, until the lab has started.
    """

    file: ExperimentFile
    experiment: Experiment
    file_hash: str
    """That of the file, without the model that the command names."""
    model: str | None
    """The model of personas that name none, by the command or, of a run that is resumed, by its beginning."""
    model_mode: ModelMode
    run: Run | None
    replies: Mapping[str, int]
    """The expected replies of each cohort, by path, where they are known."""


def plans_of(order: Order, path: Path) -> list[Plan]:
    """The plans of an order: one for an experiment file, one for each permutation of a workbook.

    Raises:
        InvalidInput: the order is refused.
    """
    plans = _plans(order, path)
    for plan in plans:
        require_people(order, open_seats_in(plan.experiment))
        personas_of_people(order, plan.experiment)
    run_folder.require_writable(order.out)
    if order.resume:
        wanted = {
            plan.experiment.name: Wanted(plan.file_hash, plan.model, document_hash(plan.experiment)) for plan in plans
        }
        runs = run_folder.latest_unfinished(order.out, wanted, path, or_finished=order.retry_failed)
        plans = [_going_on(plan, runs.get(plan.experiment.name)) for plan in plans]
    return [plan if plan.file.named else _let_through(order, plan) for plan in plans]


def require_people(order: Order, people: int) -> None:
    """Refuse a rehearsal of whose made-up people, of whom there are so many, none would take part.

    Raises:
        InvalidInput: it is one.
    """
    if order.turnout.others and people <= order.turnout.others:
        raise InvalidInput(f"Of {people} made-up people {order.turnout}: at least one has to take part.")


def personas_of_people(order: Order, experiment: Experiment) -> list[Persona]:
    """The personas as whom made-up people take part.

    Raises:
        InvalidInput: the file has none of this name.
    """
    known = {persona.id: persona for persona in experiment.personas}
    for name in order.personas:
        if name not in known:
            raise InvalidInput(f"--as {name}: the file has no such persona. It has: {', '.join(known) or 'none'}.")
    return [known[name] for name in order.personas]


def _plans(order: Order, path: Path) -> list[Plan]:
    """The plans of new runs, with their models unchecked."""
    if is_workbook(path):
        return _plans_of_workbook(order, path)
    if order.people or order.sessions is not None:
        raise InvalidInput(f"--people and --sessions are for workbooks; {path} says itself who takes part.")
    file = read_file(path)
    return [_plan(order, file, file.sketch(), {})]


def _plans_of_workbook(order: Order, path: Path) -> list[Plan]:
    workbook = read_workbook(path, order.draws)
    file = ExperimentFile(path, None, tuple(map(str, workbook.warnings)))
    return [
        _plan(
            order, file, one.experiment, {f"c{number}": each.replies for number, each in enumerate(estimates(one), 1)}
        )
        for one in compile_designs(workbook, draws=order.draws, people=order.people, sessions=order.sessions)
    ]


def _plan(order: Order, file: ExperimentFile, sketch: Experiment, replies: Mapping[str, int]) -> Plan:
    experiment = with_model(sketch, order.model, os.environ)
    mode = mode_asked_for(experiment, _models(order))
    return Plan(file, experiment, document_hash(sketch), order.model, mode, None, replies)


def _models(order: Order) -> Models | None:
    return order.models or (None if order.model is None else "real")


def _going_on(plan: Plan, run: Run | None) -> Plan:
    if run is None:
        return plan
    if plan.model is None:
        experiment = with_model(plan.experiment, run.model, os.environ)
        plan = replace(plan, experiment=experiment, model=run.model)
    return replace(plan, run=run, model_mode=_stored_mode(run))


def _stored_mode(run: Run) -> ModelMode:
    return "real" if run.model_mode == "real" else "mock"


def _let_through(order: Order, plan: Plan) -> Plan:
    """The plan of a complete experiment, if its models may be called.

    Raises:
        InvalidInput: its models may not be called.
    """
    if plan.run is None:
        mode = chosen_mode(plan.experiment, _models(order), os.environ)
    else:
        mode = kept_mode(_stored_mode(plan.run), plan.experiment, _models(order), os.environ)
    return replace(plan, model_mode=mode)


async def with_library(order: Order, plan: Plan, lab: LabDatabase) -> Plan:
    """The plan with the personas that its file expects in the library; a run that was started has them already.

    Raises:
        InvalidInput: the library lacks them, or their models may not be called.
    """
    async with lab.database.transaction() as session:
        if plan.run is None:
            library = await personas.find_some(session, lab.operator_id, plan.file.named)
            experiment = with_model(plan.file.experiment(library), order.model, os.environ)
        else:
            row = await begun_experiment(session, plan.run)
            experiment = Experiment.model_validate(row.document)
    return _let_through(order, replace(plan, experiment=experiment))


async def begun_experiment(session: Session, run: Run) -> Row:
    """The experiment of a run that was started.

    Raises:
        InvalidInput: it is not in this database.
    """
    try:
        return await experiments.find(session, run.experiment_id)
    except NotFound as error:
        raise InvalidInput(
            f"The run {run.folder} was begun in another lab, or deleted: its experiment is not in this database. "
            "Name the data directory (--data-dir) or PARLEY_DATABASE_URL with which it was begun; if it was deleted, "
            "delete that folder, too."
        ) from error
