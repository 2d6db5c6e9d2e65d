"""The configuration of a stage that reveals earlier results."""

from collections.abc import Iterator
from typing import Final, Literal

from pydantic import Field

from parley_lab.base.errors import Problem
from parley_lab.base.rules import Rule, is_none
from parley_lab.contracts.experiment import Document, Slug, StageConfig
from parley_lab.kinds.reads import Read, Use

_NEEDS: Final[dict[str, Literal["column", "scored", "group"]]] = {
    "answers": "column",
    "scored": "scored",
    "result": "group",
}


class Revealed(Document):
    """Something from an earlier stage."""

    stage: Slug
    """The stage, of any kind; its columns in the data can be shown."""
    show: Literal["answers", "scored", "result"] = "answers"
    """`answers`: what was answered. `scored`: the questions with a right answer, and whether it was given. `result`:
    what the whole group came to, such as the winner of a ranking."""
    columns: tuple[str, ...] = ()
    """Which columns or questions are shown, as they are called in the data; left out: all."""
    audience: Literal["own", "all"] = "own"
    """Whose answers a participant is shown: their `own`, or those of `all`. For `all`, and for a result, the stage
    opens when the stage that is shown is over for all who are still there."""

    show_if: Rule | None = Field(default=None, exclude_if=is_none)
    """It is shown to those of whom this is true; left out: to all."""

    @property
    def needs_everybody(self) -> bool:
        return self.audience == "all" or self.show == "result"


class RevealStage(StageConfig):
    """A page that shows what earlier stages have found."""

    kind: Literal["reveal"] = "reveal"
    items: tuple[Revealed, ...] = Field(min_length=1)
    """What is shown, in this order."""


def reads(stage: RevealStage) -> tuple[Read, ...]:
    return tuple(
        Read(item.stage, everybody=item.needs_everybody, where=f"items[{index}].stage", uses=_uses(item, index))
        for index, item in enumerate(stage.items)
    )


def _uses(item: Revealed, index: int) -> tuple[Use, ...]:
    needs = _NEEDS[item.show]
    named = (Use(column, f"items[{index}].columns[{at}]", needs) for at, column in enumerate(item.columns))
    return (*named,) if item.columns else (Use("", f"items[{index}].stage", needs),)


def problems(stage: RevealStage) -> Iterator[Problem]:
    for index, item in enumerate(stage.items):
        if item.show == "result" and item.audience == "all":
            expected = "no audience: a result is the same for all"
            yield Problem(f"items[{index}].audience", "'all'", expected)
