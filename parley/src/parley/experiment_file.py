"""An experiment file as the command line takes it: read, checked, and let through the gate to real models."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Literal

from agent_worker.models import served_providers
from shared.contracts.endpoints import read_endpoints
from shared.contracts.experiment import ModelMode, Persona
from shared.contracts.providers import effective_model_mode
from shared.contracts.real_models import model_mode_problems
from shared.errors import InvalidInput, Problem
from shared.experiment import (
    Experiment,
    Reading,
    misspelt_personas,
    models_used,
    named_personas,
    read,
)

Models = Literal["mock", "real"]
"""What `--models` asks for."""


@dataclass(frozen=True, slots=True)
class ExperimentFile:
    """What a file says, before the personas that it names without defining them are looked up."""

    path: Path
    reading: Reading | None
    """None: a workbook, which says itself who takes part."""
    warnings: tuple[str, ...] = ()
    """What was forgiven in it."""

    @property
    def values(self) -> Any:
        return None if self.reading is None else self.reading.value

    @property
    def named(self) -> list[str]:
        """The personas that it expects a library to have."""
        return named_personas(self.values)

    def experiment(self, library: Mapping[str, Persona]) -> Experiment:
        """The experiment with the personas of this library.

        Raises:
            InvalidInput: with everything that is wrong in it.
        """
        reading = self.reading or Reading(str(self.path), None)
        return reading.experiment(library)

    def sketch(self) -> Experiment:
        """The experiment as far as the file says it: personas of a library are there by name only.

        Raises:
            InvalidInput: with everything that is wrong whatever a library has.
        """
        return self.experiment({name: Persona(id=name) for name in self.named})

    def careful_sketch(self) -> Experiment:
        """A sketch in which a name that is nearly one of the file's own counts as misspelt, not as one of a library.

        Raises:
            InvalidInput: with everything that is wrong, those names included.
        """
        misspelt = misspelt_personas(self.values)
        return self.experiment({name: Persona(id=name) for name in self.named if name not in misspelt})


def read_file(path: Path) -> ExperimentFile:
    """An experiment file, its table of personas included.

    Raises:
        InvalidInput: the file cannot be read.
        TooLarge: nobody writes such a file by hand.
    """
    return ExperimentFile(path, read(content_of(path), str(path), read_table=partial(_table, path.parent)))


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
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.{_meant(path)}") from error


def _meant(path: Path) -> str:
    """The file beside it whose name is nearly the same, in words."""
    beside = [one.name for one in path.parent.iterdir() if one.is_file()] if path.parent.is_dir() else []
    close = [] if path.name in beside else get_close_matches(path.name, beside, n=1)
    return f" Did you mean {path.parent / close[0]}?" if close else ""


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
    refuse(problems_of(mode, experiment, environ, requested_real=models == "real"))
    return mode_asked_for(experiment, models)


def problems_of(
    mode: ModelMode,
    experiment: Experiment,
    environ: Mapping[str, str],
    *,
    requested_real: bool,
    is_draft: bool = True,
) -> list[str]:
    """Why an embedded lab with this environment may not run the experiment in this mode; empty when it may."""
    return model_mode_problems(
        mode,
        models_used(experiment),
        environ,
        endpoints=read_endpoints(environ, is_open=True),
        requested_real=requested_real,
        is_draft=is_draft,
        served=served_providers(environ),
    )


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
    refuse(problems_of(stored, experiment, environ, requested_real=models == "real", is_draft=False))
    return stored


def refuse(problems: list[str]) -> None:
    """Raises:
    InvalidInput: when there are any problems.
    """
    if problems:
        raise InvalidInput("\n".join(problems))
