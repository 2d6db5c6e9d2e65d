"""Writes the data files. A file appears whole or not at all; its texts are unchanged."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Final
from uuid import UUID

from parley_lab.base.errors import InvalidInput
from parley_lab.data import exports as reads
from parley_lab.data.export_sections import SECTIONS
from parley_lab.design import SCHEMA_VERSION, Resolved
from parley_lab.formats.data_files import as_indented_json, as_json, cell, csv_file, whole_file
from parley_lab.formats.exports import balance, rows
from parley_lab.formats.exports.readers import ReadFor
from parley_lab.formats.workbook.data import write_data
from parley_lab.formats.workbook.facts import FORMAT as WORKBOOK
from parley_lab.kinds import Table
from parley_lab.kinds.data import COLUMNS_OF_ROWS, COLUMNS_OF_RUN, Report, Reporter
from parley_lab.kinds.stages import parts_of, require_kinds
from parley_lab.store.session import Database, Session

EXPORT_VERSION: Final = 2
"""Increases when a change of a file would break scripts that read it."""
CSV_FILES: Final = ("participants.csv", "answers.csv", "messages.csv", "model_calls.csv", "members.csv")
LONG_TABLES: Final = ("messages", "model_calls")
"""The tables that are as long as what was said and asked."""
_MANIFEST: Final = "manifest.json"
_CALLED: Final = COLUMNS_OF_RUN[-2:]
Rows = AsyncIterator[Mapping[str, Any]]
_TableToWrite = tuple[str, Sequence[str], Rows, Callable[[Mapping[str, Any]], Iterable[Mapping[str, Any]]]]
"""A file, its columns, its source rows, and the function from a source row to lines."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: the entries of the manifest, and the number of rows by file."""

    manifest: Mapping[str, Any]
    reports: Sequence[Report]


async def export(
    database: Database,
    experiment_id: UUID,
    folder: Path,
    now: datetime,
    *,
    formats: Iterable[str] = ("json", "csv"),
    most_rows: int | None = None,
) -> Written:
    """Write the data of an experiment into `folder`, from one snapshot.

    `formats`: `json` is data.json, `csv` the tables. `most_rows`: so many rows of `LONG_TABLES`, the first ones; the
    manifest has the number of all. A file of the same name is replaced. An experiment from another format also gets the
    data files of that format, in a folder named after it.
    Raises:
        NotFound: there is no such experiment.
    """
    wanted = frozenset(formats)
    counts: dict[str, int] = {}
    found: list[Report] = []
    with TemporaryDirectory(prefix="parley-data-") as scratch:
        async with reads.snapshot(database) as session:
            experiment = await reads.experiment(session, experiment_id)
            called = await reads.models_called(session, experiment_id)
            made_up = _made_up(experiment, called, is_rehearsed=await reads.is_rehearsed(session, experiment_id))
            origin = format_of(experiment.document)
            data = (folder if "json" in wanted else Path(scratch)) / "data.json"
            if "json" in wanted or origin is not None:
                count = await _write_json(session, experiment, called, data)
                counts.update({"data.json": count} if "json" in wanted else {})
            if "csv" in wanted:
                marks = _marks(experiment, called, made_up)
                reporters = await _reporters(session, experiment.id)
                counts.update(await _write_tables(session, experiment, folder, reporters, marks, most_rows))
                found = await asyncio.to_thread(_write_reports, [*reporters.values()], folder, marks, counts)
        manifest = _manifest(experiment, called, counts, now, made_up)
        if origin is not None:
            manifest.update(await asyncio.to_thread(_write_origin, origin, data, folder, wanted, counts))
    with whole_file(folder / _MANIFEST) as target:
        target.write(as_indented_json(manifest))
    return Written(manifest, found)


def row_counts(folder: Path) -> Mapping[str, int]:
    """The number of rows of each file that an export has written into this folder, by its path there."""
    manifest = folder / _MANIFEST
    return json.loads(manifest.read_bytes())["rows"] if manifest.is_file() else {}


def _write_origin(
    origin: str, data: Path, folder: Path, wanted: Collection[str], counts: Mapping[str, int]
) -> dict[str, Any]:
    """Write the files of the format that the experiment was made from; returns their entries in the manifest.

    An experiment that was changed and no longer fits that format goes without them.
    """
    own = folder / origin
    own.mkdir(exist_ok=True)
    try:
        written = writer_of(origin)(data, own, wanted)
    except InvalidInput as error:
        return {"not_written": {origin: str(error)}}
    return {"rows": {**counts, **{f"{origin}/{name}": count for name, count in written.items()}}}


def _made_up(experiment: Any, called: Sequence[Any], *, is_rehearsed: bool) -> str:
    """What is made up in the data: `no`, `models` (the mock answered), `people` (of a rehearsal), or `both`."""
    are_models = experiment.model_mode == "mock" and bool(called)
    if are_models and is_rehearsed:
        return "both"
    return "models" if are_models else "people" if is_rehearsed else "no"


def _marks(experiment: Any, called: Sequence[Mapping[str, Any]], made_up: str) -> dict[str, Any]:
    """The first columns of every table: the run, and the models that answered in it."""
    lists = {name: "; ".join(dict.fromkeys(filter(None, (row[name] for row in called)))) for name in _CALLED}
    run = (experiment.id, made_up, experiment.model_mode, *(lists[name] for name in _CALLED))
    return dict(zip(COLUMNS_OF_RUN, run, strict=True))


def _manifest(
    experiment: Any, called: Sequence[Any], counts: Mapping[str, int], now: datetime, made_up: str
) -> dict[str, Any]:
    return {
        "export_version": EXPORT_VERSION,
        "experiment_schema_version": SCHEMA_VERSION,
        "software": "parley",
        "software_version": version("parley-lab"),
        "experiment_id": str(experiment.id),
        "name": experiment.name,
        "study": experiment.study,
        "file_hash": experiment.document_hash,
        "seed": experiment.seed,
        "pace": experiment.pace,
        "model_mode": experiment.model_mode,
        "models_called": called,
        "made_up": made_up,
        "is_test": experiment.is_test,
        "status": experiment.status,
        "created_at": now,
        "rows": dict(counts),
    }


def _header(experiment: Any, called: Sequence[Any]) -> dict[str, Any]:
    return {
        "experiment_id": experiment.id,
        "name": experiment.name,
        "study": experiment.study,
        "seed": experiment.seed,
        "pace": experiment.pace,
        "model_mode": experiment.model_mode,
        "models_called": called,
        "is_test": experiment.is_test,
        "status": experiment.status,
        "file_hash": experiment.document_hash,
        "created_at": experiment.created_at,
        "started_at": experiment.started_at,
        "ended_at": experiment.ended_at,
        "document": experiment.document,
    }


async def _write_json(session: Session, experiment: Any, called: Sequence[Any], path: Path) -> int:
    """Write one object with a list for every section, one row a line; returns the number of rows."""
    count = 0
    with whole_file(path) as target:
        head = {
            "export_version": EXPORT_VERSION,
            "model_mode": experiment.model_mode,
            "experiment": _header(experiment, called),
        }
        # The object stays open, because its sections follow one by one.
        target.write(as_json(head)[:-1])
        for name in SECTIONS:
            count += await _write_section(target, name, reads.section(session, name, experiment.id))
        count += await _write_section(target, "conversations", conversations(session, experiment.id))
        target.write(b"\n}\n")
    return count


async def _write_section(target: IO[bytes], name: str, source: Rows) -> int:
    count = 0
    target.write(f',\n"{name}": ['.encode())
    async for row in source:
        target.write((b",\n" if count else b"\n") + as_json(dict(row)))
        count += 1
    target.write(b"\n]")
    return count


async def conversations(session: Session, experiment_id: UUID) -> Rows:
    """A row for every treatment and stage in which members talked; see `rows.conversation`."""
    arms = await _arms(session, experiment_id)
    async for row in reads.conversations(session, experiment_id):
        if parts_of(arms[row["treatment"]].stage(row["stage"])).talk is not None:
            yield rows.conversation(row, arms)


async def _arms(session: Session, experiment_id: UUID) -> dict[str, Resolved]:
    """Raises:
    Conflict: there are stages of kinds that this lab lacks.
    """
    rows = [row async for row in reads.section(session, "treatments", experiment_id)]
    require_kinds(stage for row in rows for stage in row["resolved"]["stages"])
    return {row["treatment"]: Resolved.model_validate(row["resolved"]) for row in rows}


async def reports(session: Session, experiment_id: UUID) -> list[Report]:
    """The reports of the stage kinds in this experiment."""
    arms, reporters = await _arms(session, experiment_id), await _reporters(session, experiment_id)
    for table, stage_ids in _stages_with_tables(arms).items():
        if table in reporters:
            async for row in reads.cohort_stages(session, experiment_id, [*stage_ids], rows.read_by_stage(arms)):
                _report(reporters[table], row, [*rows.own_rows(row, arms)])
    return await asyncio.to_thread(_reports_of, [*reporters.values()])


def _reports_of(reporters: Iterable[Reporter]) -> list[Report]:
    return [report for reporter in reporters if (report := reporter.report()) is not None]


async def _reporters(session: Session, experiment_id: UUID) -> dict[Table, Reporter]:
    tables = _stages_with_tables(await _arms(session, experiment_id))
    return {table: table.reporter([*stage_ids]) for table, stage_ids in tables.items() if table.reporter is not None}


def _write_reports(
    reporters: Iterable[Reporter], folder: Path, marks: Mapping[str, Any], counts: dict[str, int]
) -> list[Report]:
    """Write the files of all reports, and add their numbers of rows to the counts. It may take many seconds."""
    found = _reports_of(reporters)
    for report in found:
        counts.update(_write_report(report, folder, marks, {*counts}))
    return found


def _write_report(
    report: Report, folder: Path, marks: Mapping[str, Any], taken: Collection[str]
) -> Iterator[tuple[str, int]]:
    """Write the files of the report; yields those with rows, and the number of rows.

    A table with the name of a file that is `taken` gets another one: it must not replace the rows of a kind.
    """
    for table in report.tables:
        name = f"{table.name}_report.csv" if f"{table.name}.csv" in taken else f"{table.name}.csv"
        with csv_file(folder / name, _marked(marks, table.columns)) as write:
            for row in table.rows:
                write({**marks, **row})
        yield name, len(table.rows)
    for name, figure in report.figures.items():
        with whole_file(folder / name) as binary:
            binary.write(figure.encode())


async def _write_tables(
    session: Session,
    experiment: Any,
    folder: Path,
    reporters: Mapping[Table, Reporter],
    marks: Mapping[str, Any],
    most: int | None,
) -> dict[str, int]:
    arms = await _arms(session, experiment.id)
    read_for = ReadFor(arms)
    answers = rows.answer_columns(arms, [stage["id"] for stage in experiment.document["stages"]])
    process = rows.PROCESS_COLUMNS if _records_process(arms) else ()
    tables: list[_TableToWrite] = [
        (
            "participants.csv",
            [*rows.PARTICIPANT_COLUMNS, *rows.attribute_columns(arms), *answers],
            reads.participants(session, experiment.id),
            lambda row: [rows.participant(row, arms, read_for)],
        ),
        (
            "answers.csv",
            [*rows.ANSWER_COLUMNS, *rows.row_columns(arms), *process],
            reads.answers(session, experiment.id, with_pages=read_for.names_answers),
            lambda row: rows.answer(row, read_for),
        ),
        (
            "messages.csv",
            [*rows.MESSAGE_COLUMNS, *process],
            reads.section(session, "messages", experiment.id, most=most),
            lambda row: [{**row, **row.get("process", {})}],
        ),
        (
            "model_calls.csv",
            rows.MODEL_CALL_COLUMNS,
            reads.section(session, "model_calls", experiment.id, most=most),
            lambda row: [row],
        ),
        (
            "members.csv",
            rows.MEMBER_COLUMNS,
            reads.section(session, "members", experiment.id),
            lambda row: [rows.member(row)],
        ),
        *_own_tables(session, experiment, arms, reporters),
    ]
    columns_of_rows, lines = rows.rows_of_stages(arms)
    if lines:
        tables.append(("rows.csv", columns_of_rows, _one_by_one(lines), lambda row: [row]))
    if experiment.document.get("treatments"):
        columns = [*balance.BALANCE_COLUMNS, *balance.mean_columns(arms)]
        read = reads.balance(session, experiment.id)
        tables.append(("balance.csv", columns, read, lambda row: [balance.balance(row)]))
    if experiment.document.get("assigned"):
        given = reads.section(session, "variables", experiment.id)
        tables.append(("variables.csv", rows.VARIABLE_COLUMNS, given, lambda row: [row]))
    if await reads.has_people(session, experiment.id):
        # The only file with external ids and what else links said; no column of it leads to the others.
        paid, columns = reads.payments(session, experiment.id), rows.payment_columns(experiment.document)
        tables.append(("payments.csv", columns, paid, lambda row: [rows.payment(row)]))
    levels = balance.levels(arms)
    factors = list(dict.fromkeys(factor for arm in levels.values() for factor in arm))
    written = {
        name: await _write_csv(
            folder / name, _with_factors(_marked(marks, columns), factors), source, spread, marks, levels
        )
        for name, columns, source, spread in tables
    }
    all_rows = {} if most is None else await reads.counts(session, experiment.id)
    return {**written, **{f"{name}.csv": count for name, count in all_rows.items()}}


async def _one_by_one(lines: Iterable[Mapping[str, Any]]) -> Rows:
    for line in lines:
        yield line


def _records_process(arms: Mapping[str, Resolved]) -> bool:
    return any(stage.record == "process" for arm in arms.values() for stage in arm.stages)


def _with_factors(columns: Sequence[str], factors: Sequence[str]) -> list[str]:
    """The columns, with a column for each factor after the treatment, in tables that have a treatment."""
    if "treatment" not in columns:
        return [*columns]
    place = columns.index("treatment") + 1
    return [*columns[:place], *factors, *columns[place:]]


def _own_tables(
    session: Session, experiment: Any, arms: Mapping[str, Resolved], reporters: Mapping[Table, Reporter]
) -> Iterator[_TableToWrite]:
    """The tables of single stage kinds, where the experiment has such stages."""
    for table, stage_ids in _stages_with_tables(arms).items():
        yield (
            f"{table.name}.csv",
            [*COLUMNS_OF_ROWS, *table.columns],
            reads.cohort_stages(session, experiment.id, [*stage_ids], rows.read_by_stage(arms)),
            partial(_reported_rows, arms=arms, reporter=reporters.get(table)),
        )


def _reported_rows(
    row: Mapping[str, Any], *, arms: Mapping[str, Resolved], reporter: Reporter | None
) -> list[dict[str, Any]]:
    lines = [*rows.own_rows(row, arms)]
    if reporter is not None:
        _report(reporter, row, lines)
    return lines


def _report(reporter: Reporter, row: Mapping[str, Any], lines: Iterable[Mapping[str, Any]]) -> None:
    """A report is on the cohort, whose members may have arms of their own."""
    reporter.add([{**line, "treatment": row["treatment"]} for line in lines])


def _stages_with_tables(arms: Mapping[str, Resolved]) -> dict[Table, dict[str, None]]:
    """The stages of each table. A table of which arms have other columns has those of all arms."""
    found = [
        (table, stage_id)
        for resolved in arms.values()
        for stage_id in resolved.stage_ids
        if (table := rows.table_of(resolved, stage_id)) is not None
    ]
    columns: dict[str, dict[str, None]] = {}
    for table, _ in found:
        columns.setdefault(table.name, {}).update(dict.fromkeys(table.columns))
    stages: dict[Table, dict[str, None]] = {}
    for table, stage_id in found:
        stages.setdefault(replace(table, columns=tuple(columns[table.name])), {})[stage_id] = None
    return stages


def _marked(marks: Mapping[str, Any], columns: Sequence[str]) -> list[str]:
    """The columns of a table, preceded by the marks that the table does not fill itself."""
    return [*(one for one in marks if one not in columns), *columns]


async def _write_csv(
    path: Path,
    columns: Sequence[str],
    source: Rows,
    spread: Callable[[Mapping[str, Any]], Iterable[Mapping[str, Any]]],
    marks: Mapping[str, Any],
    levels: Mapping[str, Mapping[str, str]],
) -> int:
    """levels: the levels of the factors, by treatment."""
    count = 0
    marked = {name: cell(value) for name, value in marks.items()}
    with csv_file(path, columns) as write:
        async for row in source:
            for line in spread(row):
                write({**marked, **line, **levels.get(line.get("treatment", ""), {})})
                count += 1
    return count


DataWriter = Callable[[Path, Path, Collection[str]], dict[str, int]]
"""Writes the files of a format (`json`, `csv`) from data.json into a folder; returns the number of rows by file."""
_WRITERS: Final[Mapping[str, DataWriter]] = {WORKBOOK: write_data}


def format_of(document: Mapping[str, Any]) -> str | None:
    """The format that the experiment was made from, if that format has data files of its own."""
    source = document.get("source") or {}
    return source.get("format") if source.get("format") in _WRITERS else None


def writer_of(format_name: str) -> DataWriter:
    """The data writer of a format that `format_of` has returned."""
    return _WRITERS[format_name]
