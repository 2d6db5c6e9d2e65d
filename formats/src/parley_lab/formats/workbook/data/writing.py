"""Writes the files session by session; the memory holds one session at a time."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, Final

from parley_lab.formats.data_files import as_indented_json, as_json, csv_file, whole_file
from parley_lab.formats.exported import Exported
from parley_lab.formats.workbook.data import nested, tidy, wide
from parley_lab.formats.workbook.data.sessions import SECTIONS, SessionData, sessions
from parley_lab.formats.workbook.data.study import Study, read_study
from parley_lab.formats.workbook.data.transcripts import transcript

Json = Any
_Put = Callable[[SessionData], int]
"""Writes a session into a file; returns the number of its rows."""

VERSION: Final = 1
"""Increases when a change of a file would break scripts that read it."""
TIDY: Final = "tidy"
TRANSCRIPTS: Final = "transcripts"
_UNSAFE: Final = re.compile(r"[^\w.()+-]+")
_LONGEST_NAME: Final = 100


def write_data(data: Path, folder: Path, formats: Collection[str]) -> dict[str, int]:
    """Write the files of a workbook's experiment into `folder`; returns the number of rows by file name.

    data: data.json. formats: `json` is the nested form, the manifest and the transcripts, `csv` the tables.

    Raises:
        InvalidInput: `data` is damaged, or its experiment was not made from a workbook.
    """
    exported = Exported(data)
    exported.require(("treatments", "cohorts", *SECTIONS))
    study = read_study(exported)
    for part in (TIDY, *([TRANSCRIPTS] if "json" in formats else [])):
        (folder / part).mkdir(parents=True, exist_ok=True)
    with ExitStack() as files:
        writers = _writers(study, folder, formats, files)
        counts = dict.fromkeys(writers, 0)
        seen = _Seen()
        for session in sessions(exported, study):
            seen.look(session)
            for name, put in writers.items():
                counts[name] += put(session)
    if "csv" in formats:
        counts[f"{TIDY}/codebook.csv"] = _write_codebook(study, folder)
    if "json" in formats:
        _write_manifest(study, seen, folder)
    return counts


def _writers(study: Study, folder: Path, formats: Collection[str], files: ExitStack) -> dict[str, _Put]:
    name = file_name(study.name)
    writers: dict[str, _Put] = {}
    if "json" in formats:
        writers[f"{name}.json"] = files.enter_context(_nested_file(folder / f"{name}.json", study))
        writers[TRANSCRIPTS] = _Transcripts(folder / TRANSCRIPTS)
    if "csv" in formats:
        constants = tidy.constant_columns(study)
        tables: Mapping[str, tuple[list[str], Callable[[SessionData], Iterator[Mapping[str, Json]]]]] = {
            f"{name}.csv": (wide.columns(study), wide.rows),
            f"{TIDY}/answers.csv": ([*tidy.ANSWER_COLUMNS, *constants], tidy.answers),
            f"{TIDY}/sessions.csv": ([*tidy.SESSION_COLUMNS, *constants], lambda one: iter([tidy.session_row(one)])),
            f"{TIDY}/assignments.csv": ([*tidy.ASSIGNMENT_COLUMNS, *constants], tidy.assignments),
            f"{TIDY}/profiles.csv": (tidy.profile_columns(study), tidy.profiles),
        }
        for table, (columns, rows) in tables.items():
            write = files.enter_context(csv_file(folder / table, columns))
            writers[table] = _put_rows(write, rows)
    return writers


def _put_rows(
    write: Callable[[Mapping[str, Json]], None], rows: Callable[[SessionData], Iterator[Mapping[str, Json]]]
) -> _Put:
    return lambda session: _write_all(write, rows(session))


def _write_all(write: Callable[[Mapping[str, Json]], None], rows: Iterable[Mapping[str, Json]]) -> int:
    count = 0
    for row in rows:
        write(row)
        count += 1
    return count


@contextmanager
def _nested_file(path: Path, study: Study) -> Iterator[_Put]:
    """One object with a line for each session."""
    with whole_file(path) as target:
        # The object stays open, because its sessions follow one by one.
        target.write(as_json(nested.head(study))[:-1] + b',\n"sessions": {')
        yield _NestedSessions(target)
        target.write(b"\n}\n}\n")


class _NestedSessions:
    def __init__(self, target: IO[bytes]) -> None:
        self._target = target
        self._separator = b"\n"

    def __call__(self, session: SessionData) -> int:
        written = as_json({session.id: nested.session_object(session)})
        self._target.write(self._separator + written[1:-1])
        self._separator = b",\n"
        return 1


class _Transcripts:
    """A file for each session, named after it; names that are invalid or taken are changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._taken: set[str] = set()

    def __call__(self, session: SessionData) -> int:
        name = file_name(f"session_{session.id}")
        if name.casefold() in self._taken:
            name = f"{name}_{session.cohort['cohort_path']}"
        self._taken.add(name.casefold())
        with whole_file(self._folder / f"{name}.md") as target:
            target.write(transcript(session).encode())
        return 1


class _Seen:
    """Entries of the manifest that sum up all sessions: the models that answered, and one hash over all prompts."""

    def __init__(self) -> None:
        self.models: dict[str, int] = {}
        self.sessions = 0
        self.prompts = sha256()

    def look(self, session: SessionData) -> None:
        self.sessions += 1
        for reply in session.replies:
            for call in reply.calls:
                model = str(call["model_returned"] or call["model_asked"])
                self.models[model] = self.models.get(model, 0) + 1
                self.prompts.update(f"{call['prompt_hash']}\n".encode())


def _write_codebook(study: Study, folder: Path) -> int:
    with csv_file(folder / TIDY / "codebook.csv", tidy.CODEBOOK_COLUMNS) as write:
        return _write_all(write, tidy.codebook(study))


def _write_manifest(study: Study, seen: _Seen, folder: Path) -> None:
    facts = study.facts
    manifest = {
        "data_version": VERSION,
        "software_version": version("parley-lab"),
        "experiment_id": study.experiment_id,
        "name": study.name,
        "permutation": facts.permutation,
        "constants": study.constants,
        "file_hash": study.experiment["file_hash"],
        "random_seed": study.seed,
        "draws": facts.draws,
        "model_mode": study.experiment["model_mode"],
        "model_info": facts.model_info,
        "temperature": facts.temperature,
        "models_called": seen.models,
        "endpoints": study.called["endpoint"],
        "sessions": seen.sessions,
        "status": study.experiment["status"],
        "question_hashes": _question_hashes(study),
        "prompts_hash": seen.prompts.hexdigest(),
    }
    with whole_file(folder / TIDY / "manifest.json") as target:
        target.write(as_indented_json(manifest))


def _question_hashes(study: Study) -> dict[str, str]:
    """A hash of each task's texts, which shows whether the wording changed between two runs."""
    return {
        study.task_id(task): sha256(as_json([task.text, [[one.role, one.text] for one in task.questions]])).hexdigest()
        for task in study.tasks
    }


def file_name(name: str) -> str:
    """The name, changed to be valid on every operating system."""
    safe = _UNSAFE.sub("_", name)[:_LONGEST_NAME].strip(". ")
    return safe or "experiment"
