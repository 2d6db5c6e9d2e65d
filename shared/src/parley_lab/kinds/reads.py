"""What a stage reads of earlier stages: the typed columns of their data, of members and of the group.

No kind depends on another: a stage names an earlier one of any kind, and reads its columns.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from parley_lab.kinds.data import Answered, Column
from parley_lab.kinds.view import Json


@dataclass(frozen=True, slots=True)
class Use:
    """One column that is read; an empty name means any column. `where`: the field of the stage that names it.

    `needs`: what it must be. `column`: a column of the members' pages. `number`: one with numbers. `rounds`: one that
    is a sum over rounds. `scored`: a question with a right answer. `group`: a column of the group's result. `member`:
    such a column whose value is a member.
    """

    column: str
    where: str
    needs: Literal["column", "number", "rounds", "scored", "group", "member"] = "column"


@dataclass(frozen=True, slots=True)
class Read:
    """An earlier stage whose data are read: the reader's own, or with `everybody` those of all members and the group's.

    A stage that reads all members' parts opens when that stage is over for all who are still there. `where` is the
    field of the stage that names it. A file with an unknown stage or column is refused before the run.
    """

    stage: str
    everybody: bool = False
    where: str = ""
    uses: tuple[Use, ...] = ()


def of_everybody(reads: Iterable[Read]) -> tuple[str, ...]:
    """The stages of which the parts of all members are read, each once."""
    return tuple(dict.fromkeys(one.stage for one in reads if one.everybody))


@dataclass(frozen=True, slots=True)
class Part:
    """The content of one member's page: the cells of its columns, and each question with its answer.

    `rounds` has the value of each round, by its number, for the columns that a reader needs by round.
    """

    cells: Mapping[str, Json]
    answered: tuple[Answered, ...] = ()
    rounds: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    def line(self, name: str) -> Answered | None:
        """The question with this name and its answer; None without an answer."""
        return next((one for one in self.answered if one.field == name), None)


@dataclass(frozen=True, slots=True)
class StageRead:
    """An earlier stage for one reader. `own` is None until the reader has a page there.

    `is_completed`: the reader has gone on from it, with or without a page. `members` holds the parts of all who have
    one, in the order of seats, and `group` the cells of the result; both are empty unless all members' parts are read.
    """

    title: str
    columns: tuple[Column, ...]
    own: Part | None = None
    is_completed: bool = False
    members: Mapping[UUID, Part] = field(default_factory=dict)
    group_columns: tuple[Column, ...] = ()
    group: Mapping[str, Json] = field(default_factory=dict)

    def label(self, column: str) -> str:
        """The label of the column, or its name."""
        found = (one.label for one in (*self.columns, *self.group_columns) if one.name == column)
        return next(found, column)
