"""The tables of an experiment's data, as the export writes them, read a page at a time.

The files of an experiment are written once and kept for some minutes: a page costs no export of its own. The lab first
writes only the rows of a long table that charts and first pages show. A request for a later page writes the whole
table.
"""

import asyncio
import csv
import io
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar
from uuid import UUID

from parley_lab.base import csv_reading
from parley_lab.base.errors import NotFound
from parley_lab.experiments import listing
from parley_lab.formats.exports import (
    LONG_TABLES,
    MOST_ROWS,
    Chart,
    ChartHead,
    chart,
    chart_heads,
    export,
    row_counts,
)
from parley_lab.store.session import Database

ResultT = TypeVar("ResultT")

_KEPT: Final = 4
_FRESH: Final = timedelta(seconds=15)
"""So old may the tables of an experiment be that goes on."""
KEPT_SECONDS: Final = 600.0
"""After so long the files are deleted: their data may have been deleted in the lab."""
_PIECE_CHARACTERS: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class TableHead:
    name: str
    columns: Sequence[str]
    rows: int


@dataclass(frozen=True, slots=True)
class TablePage:
    """Some rows of a table that fit what was asked for; `found` is how many do in all."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    found: int


@dataclass(frozen=True, slots=True)
class _Written:
    folder: TemporaryDirectory[str]
    mark: str
    at: datetime


_Which = tuple[UUID, int | None]
"""An experiment, and how many rows of its long tables; None: all."""


class Tables:
    """The tables of the experiments that were read last."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._written: dict[_Which, _Written] = {}
        self._lock = asyncio.Lock()

    async def close(self) -> None:
        """Delete all files; safe to repeat."""
        async with self._lock:
            while self._written:
                _, written = self._written.popitem()
                await asyncio.to_thread(written.folder.cleanup)

    async def heads(self, experiment_id: UUID, now: datetime) -> Sequence[TableHead]:
        """Every table, in the order of their names."""
        return await self._read((experiment_id, MOST_ROWS), now, _heads)

    async def page(
        self, experiment_id: UUID, name: str, now: datetime, where: Mapping[str, str], *, after: int, most: int
    ) -> TablePage:
        """At most so many rows, after so many that have these values in these columns.

        Raises:
            NotFound: there is no such table, or no such column in it.
        """
        is_short = name not in LONG_TABLES or (not where and after + most <= MOST_ROWS)
        which = experiment_id, MOST_ROWS if is_short else None
        return await self._read(which, now, lambda folder: _page(folder, name, where, after, most))

    async def csv(
        self, experiment_id: UUID, name: str, now: datetime, where: Mapping[str, str], *, after: int
    ) -> AsyncIterator[bytes]:
        """All rows after so many that have these values in these columns, as a CSV file in pieces.

        Raises:
            NotFound: at once; there is no such table, or no such column in it.
        """
        which = experiment_id, MOST_ROWS if name not in LONG_TABLES else None
        table = await self._read(which, now, lambda folder: _Table(folder, name, where))
        return _pieces(table, after)

    async def charts(self, experiment_id: UUID, now: datetime) -> Sequence[ChartHead]:
        """The charts of these tables, without their rows."""
        return await self._read((experiment_id, MOST_ROWS), now, chart_heads)

    async def chart(self, experiment_id: UUID, chart_id: str, now: datetime) -> Chart:
        """Raises: NotFound: there is no such chart."""
        return await self._read((experiment_id, MOST_ROWS), now, lambda folder: chart(folder, chart_id))

    async def _read(self, which: _Which, now: datetime, read: Callable[[Path], ResultT]) -> ResultT:
        # One at a time: no folder is deleted under its reader, and no two requests write the same files.
        async with self._lock:
            folder = await self._folder(which, now)
            return await asyncio.to_thread(read, folder)

    async def _folder(self, which: _Which, now: datetime) -> Path:
        experiment_id, _ = which
        async with self._database.read() as session:
            mark, is_going_on = await listing.mark_of(session, experiment_id)

        def is_new(written: _Written | None) -> bool:
            return written is not None and written.mark == mark and (not is_going_on or now - written.at < _FRESH)

        whole: _Which = experiment_id, None
        if is_new(self._written.get(whole)):
            which = whole
        kept = self._written.pop(which, None)
        if kept is None or not is_new(kept):
            if kept is not None:
                await asyncio.to_thread(kept.folder.cleanup)
            kept = await self._write(which, mark, now)
            asyncio.get_running_loop().call_later(KEPT_SECONDS, self._drop, which, kept)
        self._written[which] = kept
        while len(self._written) > _KEPT:
            await asyncio.to_thread(self._written.pop(next(iter(self._written))).folder.cleanup)
        return Path(kept.folder.name)

    def _drop(self, which: _Which, written: _Written) -> None:
        """Delete these files, once no one reads them."""
        if self._lock.locked():
            asyncio.get_running_loop().call_later(1.0, self._drop, which, written)
        elif self._written.get(which) is written:
            del self._written[which]
            written.folder.cleanup()

    async def _write(self, which: _Which, mark: str, now: datetime) -> _Written:
        experiment_id, most = which
        # Windows does not delete a file that is being sent.
        folder = await asyncio.to_thread(TemporaryDirectory, prefix="parley-tables-", ignore_cleanup_errors=True)
        try:
            await export(self._database, experiment_id, Path(folder.name), now, formats=("csv",), most_rows=most)
        except BaseException:
            folder.cleanup()
            raise
        return _Written(folder, mark, now)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.csv") if path.is_file())


def _name(folder: Path, path: Path) -> str:
    """The path in the folder without `.csv`: files in two folders may have one name."""
    return path.relative_to(folder).as_posix().removesuffix(".csv")


def _heads(folder: Path) -> list[TableHead]:
    counts = row_counts(folder)
    return [_head(folder, one, counts.get(f"{_name(folder, one)}.csv")) for one in _files(folder)]


def _head(folder: Path, path: Path, count: int | None) -> TableHead:
    """count: how many rows it has, where that is known."""
    lines = _lines(path)
    columns = next(lines, [])
    return TableHead(_name(folder, path), columns, sum(1 for _ in lines) if count is None else count)


def _lines(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        yield from csv_reading.reader(file)


class _Table:
    """A table whose file is open: what reads on needs neither the lock nor the folder."""

    def __init__(self, folder: Path, name: str, where: Mapping[str, str]) -> None:
        """Raises: NotFound: there is no such table, or no such column in it."""
        path = next((one for one in _files(folder) if _name(folder, one) == name), None)
        if path is None:
            raise NotFound("There is no such table.")
        lines = _lines(path)
        self.columns = next(lines, [])
        missing = [column for column in where if column not in self.columns]
        if missing:
            raise NotFound(f"The table has no column {missing[0]!r}.")
        wanted = [(self.columns.index(column), value) for column, value in where.items()]
        self.rows = (line for line in lines if all(line[place] == value for place, value in wanted))
        """Those that have the values, read once."""


def _page(folder: Path, name: str, where: Mapping[str, str], after: int, most: int) -> TablePage:
    table = _Table(folder, name, where)
    count = row_counts(folder).get(f"{name}.csv")
    if not where and count is not None:
        return TablePage(table.columns, [*islice(table.rows, after, after + most)], count)
    rows: list[list[str]] = []
    found = 0
    for row in table.rows:
        if found >= after and len(rows) < most:
            rows.append(row)
        found += 1
    return TablePage(table.columns, rows, found)


async def _pieces(table: _Table, after: int) -> AsyncIterator[bytes]:
    """The file piece by piece, each made beside the event loop when it is asked for."""
    rows = chain([table.columns], islice(table.rows, after, None))
    while piece := await asyncio.to_thread(_piece, rows):
        yield piece


def _piece(rows: Iterator[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow(row)
        if text.tell() >= _PIECE_CHARACTERS:
            break
    return text.getvalue().encode()
