"""What an experiment file says about who gets which treatment, and about factors that are crossed to treatments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, JsonValue

from parley_lab.base.rules import is_empty
from parley_lab.contracts.experiment import Document, PersonaId, Slug
from parley_lab.contracts.weights import ArmWeights, cycle_counts

Method = Literal["complete", "blocked", "simple"]


class Allocation(Document):
    """How the arms are given to cohorts that name none, and to people who draw one when they join."""

    by: Literal["cohort", "participant"] = "cohort"
    """Who has an arm. `cohort`: all members of a cohort have the same. `participant`: each participant has an own one,
    agents from the start and people when they join; stages on which members wait or meet are the same in all arms."""
    method: Method = "complete"
    """Over cohorts, or over the agents of all seats: `complete`: each arm as often as its weight, to one cycle of
    weights; `blocked`: so in every block, in the order of the file; `simple`: each for itself. Of people who join
    `complete` is `blocked`, because their number is not known."""
    weights: ArmWeights = Field(default_factory=dict)
    """How often each treatment comes, as whole numbers or as shares such as 0.25 and 0.75; left out: 1."""
    block_cycles: int = Field(default=1, ge=1, le=100)
    """How many cycles of weights a block has: two arms of weight 1 and 2 cycles make blocks of four."""

    def cycle(self, arms: Sequence[str]) -> list[str]:
        """These arms, each as often as its weight."""
        counts = cycle_counts([self.weights.get(arm, 1) for arm in arms])
        return [arm for arm, count in zip(arms, counts, strict=True) for _ in range(count)]


class FactorLevel(Document):
    """What a level changes, in words of a treatment."""

    name: str = ""
    variables: dict[str, Any] = Field(default_factory=dict)
    stages: dict[Slug, dict[str, Any]] = Field(default_factory=dict)
    personas: dict[PersonaId, dict[str, Any]] = Field(default_factory=dict)
    model: dict[str, Any] = Field(default_factory=dict)
    leave_out: tuple[Slug, ...] = ()
    keep: tuple[Slug, ...] = Field(default=(), exclude_if=is_empty)
    order: dict[Slug, tuple[Slug, ...]] = Field(default_factory=dict)


class TextsFile(Document):
    """A table of cells in a file of its own, beside the experiment file."""

    file: str = Field(min_length=1)
    """A table with a header, in the folder of the experiment file or below: CSV, .xlsx or .ods. Its columns are the
    factors, with levels in the cells, and texts."""
    sheet: str | None = None
    """The sheet of a spreadsheet; left out: the first one."""
    encoding: str | None = None
    """The encoding of a CSV file, such as `windows-1251`; left out: UTF-8, UTF-16 or Windows-1252."""


Texts = dict[str, dict[Slug, JsonValue]] | tuple[dict[str, JsonValue], ...]
"""Values of variables by arm: by name and the id of the treatment; or a table of cells, whose rows have levels of
factors and the values for those who have them."""

Factor = tuple[JsonValue, ...] | dict[Slug, FactorLevel]
"""Words and numbers, which the variable of the factor's name stands for; or levels with what each changes."""


@dataclass(frozen=True, slots=True)
class NamedLevel:
    """One level of a factor: its name in ids and data, the value of the factor's variable, and what it changes."""

    id: str
    value: Any
    changes: Mapping[str, Any]
