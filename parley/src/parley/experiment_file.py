"""An experiment file as the command line takes it: read, checked, and let through the gate to real models."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Literal

from agent_worker.models import served_providers
from shared.contracts.experiment import ModelMode
from shared.contracts.providers import effective_model_mode, model_mode_problems
from shared.errors import InvalidInput, Problem
from shared.experiment import (
    Experiment,
    load,
    providers_used,
)

Models = Literal["mock", "real"]
"""What `--models` asks for."""


def read_experiment(path: Path) -> Experiment:
    """The experiment in this file.

    Raises:
        InvalidInput: the file cannot be read, or with everything that is wrong in it.
        TooLarge: nobody writes such a file by hand.
    """
    return load(_content(path), str(path), read_table=partial(_table, path.parent))


def _table(folder: Path, name: str) -> bytes:
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        place = Problem("personas_from.file", repr(name), "a file in the folder of the experiment file or below")
        raise InvalidInput("The table of personas is not where it should be.", [place])
    return _content(path)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from error


def has_open_seats(experiment: Experiment) -> bool:
    """Whether somebody has to join before this experiment can end."""
    return any(seat.open for cohort in experiment.cohorts for seat in cohort.seats)


def chosen_mode(experiment: Experiment, models: Models | None, environ: Mapping[str, str]) -> ModelMode:
    """The model mode in which a new run of this experiment takes place.

    Raises:
        InvalidInput: it would call real models and may not, with every reason.
    """
    mode: ModelMode = "mock" if models == "mock" else experiment.model_mode
    requested_real = models == "real"
    problems = model_mode_problems(
        mode,
        providers_used(experiment),
        environ,
        requested_real=requested_real,
        served=served_providers(environ),
    )
    refuse(problems)
    return effective_model_mode(mode, requested_real=requested_real)


def kept_mode(
    stored: ModelMode, experiment: Experiment, models: Models | None, environ: Mapping[str, str]
) -> ModelMode:
    """The model mode in which a run that was begun goes on: the one it was begun in.

    Raises:
        InvalidInput: another was asked for, or it calls real models and may not (any more).
    """
    if stored == "real" and models == "mock":
        refuse(
            ["This run was begun with real models and cannot change to the mock. Start a new run with --models mock."]
        )
    requested_real = models == "real"
    problems = model_mode_problems(
        stored,
        providers_used(experiment),
        environ,
        requested_real=requested_real,
        is_draft=False,
        served=served_providers(environ),
    )
    refuse(problems)
    return stored


def refuse(problems: list[str]) -> None:
    """Raises:
    InvalidInput: when there are any problems.
    """
    if problems:
        raise InvalidInput("\n".join(problems))
