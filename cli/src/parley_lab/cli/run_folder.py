"""The folder of a run's data: `results/<experiment>/<run>/`, new for each run, with `run.json` in it."""

import json
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from parley_lab.base.errors import InvalidInput, ParleyError

DEFAULT_OUT = Path("results")
RECORD = "run.json"
FINISHED = "finished"
DISCARDED = "discarded"
UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class Run:
    """One run of an experiment file.

    `file_hash` is that of the file's content. Earlier versions took it after `model`, which they did not record, was
    filled in.
    """

    folder: Path
    experiment_id: UUID
    file_hash: str
    file: str
    model_mode: str
    started_at: str
    status: str = UNFINISHED
    model: str | None = None
    """The model of personas that name none, if the command named one."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """An experiment of a file whose run is to be resumed; `hash_with_model` has the named `model` filled in."""

    file_hash: str
    model: str | None = None
    hash_with_model: str | None = None

    def is_of(self, run: Run) -> bool:
        """Whether this is a run of it, with the named model if there is one."""
        if self.model is None:
            return run.file_hash == self.file_hash
        return (run.file_hash, run.model) in ((self.file_hash, self.model), (self.hash_with_model, None))


class NotWritten(ParleyError):
    """The data of a run, or its record, cannot be written; the lab has them still."""


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """For what is written into the folder of a run.

    Raises:
        NotWritten: in place of the error of the operating system.
    """
    try:
        yield
    except OSError as error:
        raise NotWritten(
            f"The data cannot be written to {folder}: {error.strerror or error}. Mend that, or choose another folder "
            "with --out."
        ) from error


def slug(name: str) -> str:
    """A folder name for an experiment's name."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].rstrip("-") or "experiment"


def require_writable(out: Path) -> None:
    """Make the folder for results at the start, so that writing does not fail at the end of a run.

    Raises:
        InvalidInput: it cannot be written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        refused = None if os.access(out, os.W_OK) else "it may not be written to"
    except OSError as error:
        refused = error.strerror
    if refused:
        raise InvalidInput(f"The data cannot be written to {out}: {refused}. Choose another folder with --out.")


def begin(
    out: Path,
    name: str,
    *,
    experiment_id: UUID,
    file_hash: str,
    file: Path,
    model_mode: str,
    model: str | None = None,
    now: datetime,
) -> Run:
    """Make and record the folder of a new run; an existing folder is never used.

    Raises:
        NotWritten: it cannot be made.
    """
    folder = place(out, name, experiment_id, now)
    with writing(folder):
        folder.mkdir(parents=True)
    run = Run(folder, experiment_id, file_hash, str(file), model_mode, now.isoformat(), model=model)
    write(run)
    return run


def go_on(run: Run) -> Run:
    """Record that the run goes on."""
    left = replace(run, status=UNFINISHED)
    write(left)
    return left


def finish(run: Run, *, status: str = FINISHED) -> None:
    """Record that the run has nothing left to do."""
    write(replace(run, status=status))


def find(out: Path, experiment_id: UUID, noted: Path | None = None) -> Run | None:
    """The run of this experiment, recorded in the folder that was noted, or else below `out`."""
    records = [noted / RECORD] if noted is not None else []
    for record in [*records, *out.glob(f"*/*-{experiment_id.hex[:8]}/{RECORD}")]:
        run = _read(record)
        if run is not None and run.experiment_id == experiment_id:
            return run
    return None


def place(out: Path, name: str, experiment_id: UUID, started_at: datetime) -> Path:
    """The folder for data of an experiment that was not started on the command line."""
    return out / slug(name) / f"{started_at:%Y%m%dT%H%M%SZ}-{experiment_id.hex[:8]}"


def write(run: Run) -> None:
    """Record the run; a reader finds the old record or the new one, whole.

    Raises:
        NotWritten: the folder cannot be written.
    """
    fields = {
        "experiment_id": str(run.experiment_id),
        "file": run.file,
        "file_hash": run.file_hash,
        "model_mode": run.model_mode,
        "model": run.model,
        "started_at": run.started_at,
        "status": run.status,
    }
    partial = run.folder / f"{RECORD}.partial"
    with writing(run.folder):
        partial.write_text(json.dumps(fields, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(partial, run.folder / RECORD)


def latest_unfinished(
    out: Path, wanted: Mapping[str, Wanted], file: Path, *, or_finished: bool = False
) -> dict[str, Run]:
    """The runs that `--resume` continues, by the names of their experiments: the newest unfinished one, and those that
    were started together with it, which may be finished or may have no record yet.

    wanted: the experiments of the file, by their names.
    or_finished: finished runs count as well.

    Raises:
        InvalidInput: there is none, or those that there are were begun with another content of the file or model.
    """
    folders = sorted({out / slug(name) for name in wanted})
    runs = [run for folder in folders for run in _runs(folder)]
    kind = "run" if or_finished else "unfinished run"
    candidates = [run for run in runs if run.status == UNFINISHED or (or_finished and run.status == FINISHED)]
    own = [run for run in candidates if any(one.is_of(run) for one in wanted.values())]
    same_file = [run for run in candidates if any(run.file_hash == one.file_hash for one in wanted.values())]
    newest = max(own or same_file or candidates, key=lambda run: run.started_at, default=None)
    if newest is None:
        where = " or ".join(map(str, folders[:3]))
        raise InvalidInput(
            f"There is nothing to resume: no {kind} of {file} is in {where}."
            + ("" if or_finished else " After failures, --resume --retry-failed asks again.")
        )
    if not own and same_file:
        how = "without --model" if newest.model is None else f"with --model {newest.model}"
        raise InvalidInput(
            f"The latest {kind}, {newest.folder}, was begun {how}, and keeps its models. Leave --model out to resume "
            "it, or start a new run without --resume."
        )
    if not own:
        raise InvalidInput(
            f"The latest {kind}, {newest.folder}, was begun with another file or another version of it: "
            f"{newest.file} said something else than {file} says now. Restore that file to resume the run, "
            "or start a new run without --resume."
        )
    together = [run for run in runs if run.started_at == newest.started_at]
    return {name: run for name, one in wanted.items() for run in together if one.is_of(run)}


def _runs(experiment_folder: Path) -> Iterator[Run]:
    """The runs in this folder, newest first: their names begin with the time."""
    for record in sorted(experiment_folder.glob(f"*/{RECORD}"), reverse=True):
        run = _read(record)
        if run is not None:
            yield run


def _read(record: Path) -> Run | None:
    try:
        fields: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
        return Run(
            folder=record.parent,
            experiment_id=UUID(fields["experiment_id"]),
            file_hash=str(fields["file_hash"]),
            file=str(fields["file"]),
            model_mode=str(fields["model_mode"]),
            model=fields.get("model"),
            started_at=str(fields["started_at"]),
            status=str(fields["status"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
