"""What a command is about to do with an experiment file, and everything for which that can be refused."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from parley import run_folder
from parley.experiment_file import ExperimentFile, Models, chosen_mode, kept_mode, mode_asked_for, read_file
from parley.lab_database import LabDatabase
from parley.run_folder import NothingToResume, Run
from parley.workbook_file import is_workbook, read_workbook
from shared.contracts.experiment import ModelMode
from shared.db import experiments, personas
from shared.db.session import Row, Session
from shared.errors import InvalidInput, NotFound
from shared.experiment import Experiment
from shared.importers.workbook import compile_workbook


@dataclass(frozen=True, slots=True)
class Order:
    """What the user asked for. `port` None: no REST API, unless people have to join; 0: any free port."""

    file: Path | None
    models: Models | None
    out: Path
    data_dir: Path
    port: int | None
    resume: bool = False
    keep_serving: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be run, once everything that can be refused beforehand was not; `run` is the one to go on with.

    An experiment that needs a library is a sketch, and its models are not let through, until the lab is there.
    """

    file: ExperimentFile
    experiment: Experiment
    file_hash: str
    model_mode: ModelMode
    run: Run | None


def plans_of(order: Order, path: Path) -> list[Plan]:
    """The plans of what was ordered: one for an experiment file, one for each permutation of a workbook.

    Raises:
        InvalidInput: it is refused.
    """
    run_folder.require_writable(order.out)
    if is_workbook(path):
        return _plans_of_workbook(order, path)
    file = read_file(path)
    plan = _plan(order, file, file.sketch())
    return [plan if file.named else _let_through(order, plan)]


def _plan(order: Order, file: ExperimentFile, sketch: Experiment) -> Plan:
    file_hash = experiments.document_hash(sketch)
    run = run_folder.latest_unfinished(order.out, sketch.name, file.path, file_hash) if order.resume else None
    return Plan(file, sketch, file_hash, _stored_mode(run) if run else mode_asked_for(sketch, order.models), run)


def _plans_of_workbook(order: Order, path: Path) -> list[Plan]:
    """To resume it is to go on with those permutations that are not finished, and to begin those that were not."""
    file = ExperimentFile(path, {})
    designs = compile_workbook(read_workbook(path))
    has_begun = any(run_folder.was_begun(order.out, one.name) for one in designs)
    plans: list[Plan] = []
    for one in designs:
        is_new = has_begun and not run_folder.was_begun(order.out, one.name)
        try:
            plans.append(_let_through(order, _plan(replace(order, resume=False) if is_new else order, file, one)))
        except NothingToResume:
            if one is designs[-1] and not plans:
                raise
    return plans


def _stored_mode(run: Run) -> ModelMode:
    return "real" if run.model_mode == "real" else "mock"


def _let_through(order: Order, plan: Plan) -> Plan:
    """The plan of a whole experiment, if its models may be called.

    Raises:
        InvalidInput: they may not.
    """
    if plan.run is None:
        mode = chosen_mode(plan.experiment, order.models, os.environ)
    else:
        mode = kept_mode(_stored_mode(plan.run), plan.experiment, order.models, os.environ)
    return replace(plan, model_mode=mode)


async def with_library(order: Order, plan: Plan, lab: LabDatabase) -> Plan:
    """The plan with the personas that its file expects the library to have; a run that was begun has them already.

    Raises:
        InvalidInput: the library does not have them, or their models may not be called.
    """
    async with lab.database.transaction() as session:
        if plan.run is None:
            library = await personas.find_some(session, lab.operator_id, plan.file.named)
            experiment = plan.file.experiment(library)
        else:
            row = await begun_experiment(session, plan.run)
            experiment = Experiment.model_validate(row.document)
    return _let_through(order, replace(plan, experiment=experiment))


async def begun_experiment(session: Session, run: Run) -> Row:
    """The experiment that a run was begun with.

    Raises:
        InvalidInput: it is not in this database.
    """
    try:
        return await experiments.find(session, run.experiment_id)
    except NotFound as error:
        raise InvalidInput(
            f"The run {run.folder} was begun in another lab: its experiment is not in this one's database. "
            "Name the data directory (--data-dir) or PARLEY_DATABASE_URL with which it was begun."
        ) from error
