"""An experiment file as the command line takes it: read, checked, and let through the gate to real models."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from agent_worker.models import served_providers
from shared.contracts.endpoints import read_endpoints
from shared.contracts.experiment import ModelMode, Persona
from shared.contracts.providers import effective_model_mode, model_mode_problems
from shared.errors import InvalidInput, Problem
from shared.experiment import (
    Experiment,
    endpoint_problems,
    named_personas,
    providers_used,
    read_values,
    validate,
)

Models = Literal["mock", "real"]
"""What `--models` asks for."""


@dataclass(frozen=True, slots=True)
class ExperimentFile:
    """What a file says, before the personas that it names without defining them are looked up."""

    path: Path
    values: Any
    warnings: tuple[str, ...] = ()
    """What was forgiven in it."""

    @property
    def named(self) -> list[str]:
        """The personas that it expects a library to have."""
        return named_personas(self.values)

    def experiment(self, library: Mapping[str, Persona]) -> Experiment:
        """The experiment with the personas of this library.

        Raises:
            InvalidInput: with everything that is wrong in it.
        """
        return validate(self.values, str(self.path), library=library)

    def sketch(self) -> Experiment:
        """The experiment as far as the file says it: personas of a library are there by name only.

        Raises:
            InvalidInput: with everything that is wrong whatever a library has.
        """
        return self.experiment({name: Persona(id=name) for name in self.named})


def read_file(path: Path) -> ExperimentFile:
    """An experiment file, its table of personas included.

    Raises:
        InvalidInput: the file cannot be read.
        TooLarge: nobody writes such a file by hand.
    """
    return ExperimentFile(path, read_values(content_of(path), str(path), read_table=partial(_table, path.parent)))


def _table(folder: Path, name: str) -> bytes:
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        place = Problem("personas_from.file", repr(name), "a file in the folder of the experiment file or below")
        raise InvalidInput("The table of personas is not where it should be.", [place])
    return content_of(path)


def content_of(path: Path) -> bytes:
    """What stands in the file.

    Raises:
        InvalidInput: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from error


def has_open_seats(experiment: Experiment) -> bool:
    """Whether somebody has to join before this experiment can end."""
    return any(seat.open for cohort in experiment.cohorts for seat in cohort.seats)


def mode_asked_for(experiment: Experiment, models: Models | None) -> ModelMode:
    """The model mode in which a new run would take place, if it may."""
    mode: ModelMode = "mock" if models == "mock" else experiment.model_mode
    return effective_model_mode(mode, requested_real=models == "real")


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
    if mode_asked_for(experiment, models) == "real":
        problems += endpoint_problems(experiment, read_endpoints(environ, is_open=True))
    refuse(problems)
    return mode_asked_for(experiment, models)


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
