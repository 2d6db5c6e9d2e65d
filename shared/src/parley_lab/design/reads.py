"""Checks what stages read of others: the other stage comes before them, and has the column that they name."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import one_of, unknown
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import Data, Read, Use
from parley_lab.kinds.stages import parts_of

_WHAT: Final[Mapping[str, str]] = {
    "column": "column",
    "number": "column of numbers",
    "rounds": "column of numbers that is counted by round",
    "scored": "question with a right answer",
    "group": "result",
    "member": "result that names a member",
}


def problems(stage: StageConfig, earlier: Sequence[StageConfig]) -> Iterator[Problem]:
    """Invalid reads of this stage; `where` is relative to the stage. `earlier`: the stages before it."""
    by_id = {one.id: one for one in earlier}
    for read in parts_of(stage).reads:
        if read.stage in by_id:
            yield from _columns(read, by_id[read.stage])
        else:
            none = Problem(read.where, repr(read.stage), "a stage that comes before")
            yield unknown(read.where, read.stage, by_id, "stage before this one") if by_id else none


def _columns(read: Read, stage: StageConfig) -> Iterator[Problem]:
    data = parts_of(stage).data
    for use in read.uses:
        known, what = _known(data, use), _WHAT[use.needs]
        if not use.column and not known:
            yield Problem(use.where, repr(stage.id), f"a stage with a {what}: this one has none")
        elif use.column and use.column not in known:
            listed = one_of(use.column, known, what) if known else f"a {what}, of which this stage has none"
            yield Problem(use.where, repr(use.column), f"{listed}, of the stage {stage.id!r}")


def _known(data: Data, use: Use) -> list[str]:
    match use.needs:
        case "scored":
            return [*data.scored()]
        case "group":
            return [one.name for one in data.group_columns()]
        case "member":
            return [one.name for one in data.group_columns() if one.type == "member"]
        case "rounds":
            return [*data.counted_by_round]
        case "number":
            return [one.name for one in data.columns() if one.type in ("integer", "number")]
        case "column":
            return [one.name for one in data.columns()]
