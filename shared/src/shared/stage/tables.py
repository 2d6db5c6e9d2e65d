"""What the data have of a stage: columns of the wide table, tables of a kind's own, and reports of them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from shared.stage.view import PAGE, Json


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the wide table; `type` is one of text, integer, number, boolean.

    A `derived` column says more of an answer that has a column of its own; no text can name it.
    """

    name: str
    label: str
    type: Literal["text", "integer", "number", "boolean"]
    derived: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """One question and what a member answered to it: a line of the long table.

    `asked_as` is the key under which the question is asked by itself; PAGE where only the whole page is asked.
    """

    field: str
    label: str
    type: Literal["text", "integer", "number", "boolean", "json"]
    value: Json
    text: str | None = None
    """The answer in words, where the value is none."""
    is_correct: bool | None = None
    is_valid: bool = True
    asked_as: str = PAGE


@dataclass(frozen=True, slots=True)
class Table:
    """A long table of a kind's own in the data: `<name>.csv`, with these columns after those that say where."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """What the rows of a kind's table come to, as one more table: `<name>.csv`."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Json], ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What the data of a kind say together: tables, figures (SVG by file name), and lines for a terminal."""

    tables: tuple[ReportTable, ...]
    figures: Mapping[str, str]
    lines: tuple[str, ...]


class Reporter(ABC):
    """Reads the rows of a kind's table, one stage of one cohort after another, and says what they come to."""

    @abstractmethod
    def add(self, rows: Sequence[Mapping[str, Json]]) -> None:
        """The rows of one stage in one cohort, with the columns that say where."""

    @abstractmethod
    def report(self) -> Report | None:
        """What all of them come to; None when there is nothing to say."""
