"""The data of a stage: columns of the wide table, tables of its kind, and reports on them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal
from uuid import UUID

from parley_lab.kinds.view import PAGE, Json, LabView, View

COLUMNS_OF_RUN: Final = ("experiment_id", "made_up", "model_mode", "endpoint", "model")
"""The first columns of every table, which say of which run it is; a column of that name replaces it."""
COLUMNS_OF_ROWS: Final = ("cohort_id", "cohort_path", "cohort", "treatment", "stage")
"""The columns that say which stage in which cohort a row of a kind's table is of."""

FILES_OF_THE_LAB: Final = frozenset(
    {"participants", "members", "answers", "messages", "model_calls", "balance", "variables", "payments", "rows"}
)
"""The CSV files that the lab itself writes, without their ending."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the wide table; `type` is one of text, integer, number, boolean, member.

    `label` says in words what the values are; `answers.csv` has it beside them. The value of a `member` column is the
    id of a member. A `derived` column adds to an answer that has a column of its own; texts cannot name it.
    """

    name: str
    label: str
    type: Literal["text", "integer", "number", "boolean", "member"]
    derived: bool = False


@dataclass(frozen=True, slots=True)
class RowAsked:
    """The row of a table that a question is about.

    `question`: the id of the question in the file, which all rows share. `place`: the place of the row among those that
    the member was asked about, from 1; None: it is not known yet. `levels`: those that were drawn for it and the
    member, by name.
    """

    id: str
    question: str
    place: int | None
    levels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answered:
    """One question with a member's answer: a line of the long table.

    `asked_as`: the key of the question when it is asked alone; PAGE where only the whole page is asked.
    """

    field: str
    label: str
    type: Literal["text", "integer", "number", "boolean", "member", "json"]
    value: Json
    text: str | None = None
    """The answer in words, where the value is not readable."""
    is_correct: bool | None = None
    is_valid: bool = True
    asked_as: str = PAGE
    row: "RowAsked | None" = None


@dataclass(frozen=True, slots=True)
class ReportTable:
    """One more table, computed from the rows of a kind's table: `<name>.csv`."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Json], ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A kind's report: tables, figures (SVG by file name), and lines for a terminal."""

    tables: tuple[ReportTable, ...]
    figures: Mapping[str, str]
    lines: tuple[str, ...]


class Reporter(ABC):
    """Reads the rows of a kind's table, one stage of one cohort after another, and reports on them."""

    @abstractmethod
    def add(self, rows: Sequence[Mapping[str, Json]]) -> None:
        """Add the rows of one stage in one cohort, which have COLUMNS_OF_ROWS, too. Called for data."""

    @abstractmethod
    def report(self) -> Report | None:
        """The report on all rows; None when it would be empty. Called for data, when all rows were added."""


@dataclass(frozen=True, slots=True)
class Table:
    """A long table of a kind in the data: `<name>.csv`, with these columns after COLUMNS_OF_ROWS.

    Its name is unique among kinds, and none of FILES_OF_THE_LAB. `rows` makes the rows of one cohort for data, from the
    state that was kept, invalid answers included. `reporter` makes a report on the table for these stages of one
    experiment; None: no report. Tables of several stages with the same name and columns are one.

    `owner` is the key of a row with the path of the participant whose row it is, in whose arm it is then; without it,
    it is the cohort's. Of a row about several, `owners` names pairs: a column with the path of a participant, and the
    column that gets their arm. A reporter has the rows in the arm of the cohort.

    Answers to a stage where each is alone go along when their author moves. `answer_key` gives the key of the answer
    of which a row is made, and the row has the cohort and the arm in which that was written; None: that of the page.
    """

    name: str
    columns: tuple[str, ...]
    rows: Callable[[LabView], list[dict[str, Json]]] = field(compare=False)
    reporter: Callable[[Sequence[str]], Reporter] | None = field(default=None, compare=False)
    owner: str = "participant"
    owners: tuple[tuple[str, str], ...] = ()
    answer_key: Callable[[Mapping[str, Json]], str] | None = field(default=None, compare=False)


class Data:
    """The data of one configured stage; this base class has none.

    What an answer comes to is wanted not only for data. It is *read* by later stages (`Parts.reads`), in their pages
    and prompts and in settling, and by *texts* with variables, whenever they are filled for a reader.
    """

    table: Table | None = None
    """A table besides pages and answers."""
    counted_by_round: tuple[str, ...] = ()
    """Columns with numbers that are sums over rounds; see `by_round`."""

    def roles(self) -> Sequence[str]:
        """The ids of the roles that the stage gives; a member's is in the column `role`. Called for files, and for
        texts."""
        return ()

    def columns(self) -> list[Column]:
        """The columns of the wide table, without the stage's id as a prefix. Called for files, where others name them,
        for what is read, for texts and for data."""
        return []

    def cells(self, page: Json) -> dict[str, Json]:
        """The values of `columns` for one member's page, by default its fields with these names; without nulls. Called
        for what is read, for texts and for data."""
        given = page if isinstance(page, Mapping) else {}
        return {one.name: given[one.name] for one in self.columns() if given.get(one.name) is not None}

    def by_round(self, column: str, view: View, member_id: UUID) -> Mapping[int, float]:
        """What each round that counts adds to a column that is `counted_by_round`, by the round's number; empty for a
        member who takes no part. Called for what is read."""
        return {}

    def scored(self) -> Sequence[str]:
        """The questions with a right answer, by the `field` of their lines. Called for files, where others name
        them."""
        return ()

    def group_columns(self) -> list[Column]:
        """Columns of the stage's result for the whole group; a cohort has one value in each. Called where `columns`
        is."""
        return []

    def group_cells(self, result: Mapping[str, Json]) -> dict[str, Json]:
        """The values of `group_columns`, by default the result's fields with these names; without nulls. Called where
        `cells` is."""
        return {one.name: result[one.name] for one in self.group_columns() if result.get(one.name) is not None}

    def answered(self, key: str, answer: Json) -> list[Answered]:
        """The questions that the answer stored under this key belongs to; empty when it belongs to none of the page.

        An entry under the key of one question gives the same line as the page will. Called for data, and for what is
        read.
        """
        cells = self.cells(answer) if key == PAGE else {}
        return [
            Answered(column.name, column.label, column.type, cells[column.name])
            for column in self.columns()
            if column.name in cells
        ]
