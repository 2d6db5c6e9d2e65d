"""An experiment file on the command line: read, validated, and checked for permission to call real models."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.base.meant_names import one_of
from parley_lab.base.settings import FileSettings, read_settings
from parley_lab.contracts.endpoints import read_endpoints
from parley_lab.contracts.experiment import ModelMode, Persona
from parley_lab.contracts.media import ending_of
from parley_lab.contracts.models import ModelSettings
from parley_lab.contracts.named_providers import read_providers
from parley_lab.contracts.personas_from import PersonasFrom
from parley_lab.contracts.providers import effective_model_mode, vendor_named
from parley_lab.contracts.real_models import model_mode_problems
from parley_lab.design import Experiment, Reading, misspelt_personas, models_used, named_personas, read
from parley_lab.design.tables import Table

_WORKBOOKS: Final = (".xlsx", ".xlsm", ".xls", ".ods")
_BESIDE: Final = "a file in the folder of the experiment file or below"

Models = Literal["mock", "real"]
"""The values of `--models`."""


def is_workbook(path: Path) -> bool:
    """Whether the path is a workbook, not an experiment file."""
    return path.suffix.lower() in _WORKBOOKS or path.is_dir()


@dataclass(frozen=True, slots=True)
class ExperimentFile:
    """The content of a file, before the personas that it names without defining them are looked up."""

    path: Path
    reading: Reading | None
    """None for a workbook, which names no personas of a library."""
    warnings: tuple[str, ...] = ()
    """Problems of the file that do not prevent a run."""

    @property
    def values(self) -> Any:
        return None if self.reading is None else self.reading.value

    @property
    def named(self) -> list[str]:
        """The ids of personas that the file expects in a library."""
        return named_personas(self.values)

    def experiment(self, library: Mapping[str, Persona]) -> Experiment:
        """The experiment with the personas of this library.

        Raises:
            InvalidInput: with all problems.
        """
        reading = self.reading or Reading(str(self.path), None)
        return reading.experiment(library)

    def warnings_of(self, experiment: Experiment, *, looked_up: Collection[str] = ()) -> list[str]:
        """The warnings of the experiment of this file, in which these personas of a library are more than a name."""
        sketched = {*self.named} - {*looked_up}
        found = () if self.reading is None else self.reading.warnings_of(experiment, sketched=sketched)
        return [str(one) for one in found]

    def sketch(self) -> Experiment:
        """The experiment without a library; personas of a library have a name only.

        Raises:
            InvalidInput: with all problems that no library can solve.
        """
        return self.experiment({name: Persona(id=name) for name in self.named})

    def careful_sketch(self) -> Experiment:
        """A sketch in which a name close to a persona of the file counts as misspelt, not as one of a library.

        Raises:
            InvalidInput: with all problems, those names included.
        """
        misspelt = misspelt_personas(self.values)
        return self.experiment({name: Persona(id=name) for name in self.named if name not in misspelt})


def read_file(path: Path) -> ExperimentFile:
    """Read an experiment file, with its table of personas.

    Raises:
        InvalidInput: the file cannot be read.
        TooLarge: the file is too large.
    """
    folder = path.parent
    read_medium = partial(_medium, folder, read_settings(FileSettings).max_file_bytes)
    reading = read(
        content_of(path),
        str(path),
        read_table=partial(_table, folder),
        read_medium=read_medium,
        read_words=partial(_words, folder),
    )
    return ExperimentFile(path, reading, tuple(map(str, reading.warnings())))


def _table(folder: Path, source: PersonasFrom) -> Table:
    path = folder / source.file
    if not path.resolve().is_relative_to(folder.resolve()):
        place = Problem("personas_from.file", repr(source.file), _BESIDE)
        raise InvalidInput("The table of personas is not where it should be.", [place])
    # Few files name a table, and its reader loads that of workbooks.
    from parley_lab.formats.spreadsheets import read_table

    return read_table(source, content_of(path))


def _words(folder: Path, name: str) -> bytes:
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InvalidInput("Not beside the file.", [Problem(name, repr(name), _BESIDE)])
    return content_of(path)


def _medium(folder: Path, most_bytes: int, name: str) -> bytes:
    """The content of a file that a stage shows.

    Raises:
        InvalidInput: with one problem: it is elsewhere, is not there or is too large.
    """
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise _not_shown(name, repr(name), _BESIDE)
    if not path.is_file():
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        known = sorted(str(one.relative_to(folder)) for one in beside if one.is_file() and ending_of(one.name))
        where = f"in {folder.resolve()}"
        raise _not_shown(name, repr(name), f"{one_of(name, known, 'file')} {where}" if known else f"a file {where}")
    if (size := path.stat().st_size) > most_bytes:
        raise _not_shown(name, f"{size} bytes", f"at most {most_bytes} (PARLEY_MAX_FILE_BYTES)")
    return content_of(path)


def _not_shown(name: str, found: str, expected: str) -> InvalidInput:
    return InvalidInput(f"{name} cannot be shown.", [Problem(name, found, expected)])


def content_of(path: Path) -> bytes:
    """Read the file.

    Raises:
        InvalidInput: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.{_meant(path)}") from error


def _meant(path: Path) -> str:
    """A suggestion of a file in the same folder with a similar name."""
    beside = [one.name for one in path.parent.iterdir() if one.is_file()] if path.parent.is_dir() else []
    close = [] if path.name in beside else get_close_matches(path.name, beside, n=1)
    return f" Did you mean {path.parent / close[0]}?" if close else ""


def has_open_seats(experiment: Experiment) -> bool:
    """Whether the experiment needs people to join before it can end."""
    return open_seats_in(experiment) > 0


def open_seats_in(experiment: Experiment) -> int:
    """How many people may join in all."""
    return sum(cohort.count * seat.count for cohort in experiment.cohorts for seat in cohort.seats if seat.open)


def with_model(experiment: Experiment, name: str | None, environ: Mapping[str, str]) -> Experiment:
    """The experiment in which this model speaks for personas that name none; its provider is known by its prefix, or
    by its family.

    Raises:
        InvalidInput: no persona is without a model.
    """
    if name is None:
        return experiment
    prefix, _, rest = name.partition("/")
    is_named = bool(rest) and prefix in read_providers(environ)
    provider, model = (prefix, rest) if is_named else (vendor_named(name) or ModelSettings().provider, name)
    chosen = {"provider": provider, "model": model}
    personas = [
        persona
        if persona.model.model_fields_set & chosen.keys()
        else persona.model_copy(update={"model": persona.model.model_copy(update=chosen)})
        for persona in experiment.personas
    ]
    if all(one is other for one, other in zip(personas, experiment.personas, strict=True)):
        raise InvalidInput(f"--model {name}: every persona of {experiment.name!r} names its own model.")
    return experiment.model_copy(update={"personas": type(experiment.personas)(personas)})


def mode_asked_for(experiment: Experiment, models: Models | None) -> ModelMode:
    """The model mode that the user asks for."""
    mode: ModelMode = "mock" if models == "mock" else experiment.model_mode
    return effective_model_mode(mode, requested_real=models == "real")


def chosen_mode(experiment: Experiment, models: Models | None, environ: Mapping[str, str]) -> ModelMode:
    """The model mode in which a new run of this experiment runs.

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
    """The reasons why an embedded lab with this environment may not run the experiment in this mode."""
    # Of the commands that read a file only those that run it load what calls models.
    from parley_lab.agent_worker.models import served_providers

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
    """The model mode in which a run continues, which is the one of its start.

    Raises:
        InvalidInput: the user asks for another mode, or the run calls real models and may not (any more).
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
