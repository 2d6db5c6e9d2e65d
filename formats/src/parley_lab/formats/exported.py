"""Reads data.json cohort by cohort; the memory holds the rows of one cohort at a time."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from parley_lab.base.errors import InvalidInput

Json = Any
Row = Mapping[str, Json]

_OPENING: Final = b": ["
_CLOSING: Final = b"]"


class Exported:
    """A file of `parley_lab.formats.exports`: a first line about the experiment, then sections with one row on each
    line.

    Raises:
        InvalidInput: the file has another form.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sections: dict[str, int] = {}
        self.experiment: Row = {}
        self._look_through()

    def section(self, name: str) -> Iterator[Row]:
        """The rows of a section, read one by one.

        Raises:
            InvalidInput: a line is damaged.
        """
        with self._path.open("rb") as file:
            file.seek(self._sections[name])
            for line in file:
                if line.startswith(_CLOSING):
                    return
                yield self._read(line.rstrip().removesuffix(b","))
        raise self._unusable(f"its section {name} has no end")

    def by_cohort(self, *names: str) -> Iterator[tuple[Row, dict[str, list[Row]]]]:
        """Each cohort's row, with the cohort's rows of these sections.

        Raises:
            InvalidInput: rows are not in the order of their cohorts, or belong to no cohort.
        """
        groups = {name: _Group(self.section(name)) for name in names}
        for cohort in self.section("cohorts"):
            yield cohort, {name: group.of(cohort["cohort_path"]) for name, group in groups.items()}
        for name, group in groups.items():
            if not group.is_empty:
                raise self._unusable(f"its section {name} is not in the order of cohorts")

    def require(self, names: Sequence[str]) -> None:
        """Raises:
        InvalidInput: a section is missing.
        """
        missing = [name for name in names if name not in self._sections]
        if missing:
            raise self._unusable(f"it has no {', '.join(missing)}")

    def _look_through(self) -> None:
        """Find the beginning of each section."""
        with self._path.open("rb") as file:
            head = self._read(file.readline().rstrip().removesuffix(b",") + b"}")
            if not isinstance(head, dict) or not isinstance(head.get("experiment"), dict):
                raise self._unusable("its first line says nothing about an experiment")
            self.experiment = head["experiment"]
            while line := file.readline():
                if line.startswith(b'"') and line.rstrip().endswith(_OPENING):
                    self._sections[line.split(b'"')[1].decode()] = file.tell()

    def _read(self, line: bytes) -> Json:
        try:
            return orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise self._unusable("a line of it cannot be read") from error

    def _unusable(self, why: str) -> InvalidInput:
        return InvalidInput(f"{self._path} is no data.json as Parley writes it: {why}.")


class _Group:
    """The rows of a section, returned cohort by cohort in the order of the file."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self._next = next(rows, None)

    @property
    def is_empty(self) -> bool:
        return self._next is None

    def of(self, cohort_path: str) -> list[Row]:
        found: list[Row] = []
        while self._next is not None and self._next["cohort_path"] == cohort_path:
            found.append(self._next)
            self._next = next(self._rows, None)
        return found
