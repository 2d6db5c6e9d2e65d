"""What an experiment file says about variables whose values differ: from cohort to cohort, or between participants."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from parley_lab.base.rules import is_none
from parley_lab.contracts.experiment import Document, PersonaId, Slug
from parley_lab.contracts.weights import ValueWeights, cycle_counts


def _is_drawn(value: object) -> bool:
    return value == "drawn"


VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")]


class _Assigned(Document):
    id: VariableName
    """The name in texts: `{{id}}`."""

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that have a value by it."""
        return (self.id,)


class ByCohort(_Assigned):
    """The value of each cohort, as the file says it."""

    kind: Literal["by_cohort"] = "by_cohort"
    value: JsonValue = None
    """The value of cohorts that are not named."""
    cohorts: dict[Slug, JsonValue] = Field(default_factory=dict)
    """The values of others, by the id of the cohort; of several cohorts of one plan all have it."""


class Permutation(_Assigned):
    """Values in an order, or some of them: `{{id_1}}`, `{{id_2}}`, ...."""

    kind: Literal["permutation"] = "permutation"
    order: Literal["drawn", "latin"] = Field(default="drawn", exclude_if=_is_drawn)
    """`drawn`: by chance. `latin`: those of a balanced Latin square, one participant after another in the order of
    arrival: each value comes equally often in each place, and equally often right after each other one."""
    block: Slug | None = Field(default=None, exclude_if=is_none)
    """The block whose stages come in this order for each participant; `values` are then the ids of its stages."""
    scope: Literal["experiment", "cohort", "participant"] = "participant"
    """Who has the same order."""
    values: tuple[JsonValue, ...] = Field(min_length=1, max_length=1000)
    take: int | None = Field(default=None, ge=1)
    """How many of the values are taken; left out: all."""
    split: bool = True
    """Whether each place of the order is a variable of its own; false: `{{id}}` is the list."""
    seed_text: str = ""
    """What decides the order instead of the experiment's seed and the place. Orders are shuffled as in Deliberate Lab:
    the same text gives the same order there."""

    @property
    def across(self) -> str:
        """Over whom a Latin square counts."""
        return "experiment"

    @property
    def taken(self) -> int:
        return min(self.take or len(self.values), len(self.values))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.id}_{place}" for place in range(1, self.taken + 1)) if self.split else (self.id,)


class Balanced(_Assigned):
    """One of the values for each participant, so that each is had as often as its weight says."""

    kind: Literal["balanced"] = "balanced"
    values: tuple[JsonValue, ...] = Field(min_length=1, max_length=1000)
    weights: ValueWeights = ()
    """How often each value comes, one weight a value, as whole numbers or as shares; left out: all alike."""
    order: Literal["round_robin", "random"] = "round_robin"
    """`round_robin`: in the order of arrival, each value as often as its weight in every cycle. `random`: drawn for
    each participant, as likely as its weight."""
    across: Literal["experiment", "cohort"] = "experiment"
    """Over whom `round_robin` counts."""

    @property
    def cycle(self) -> tuple[JsonValue, ...]:
        """The values in their order, each as often as its weight."""
        counts = cycle_counts(self.weights or (1,) * len(self.values))
        return tuple(value for value, count in zip(self.values, counts, strict=True) for _ in range(count))


class ByPersona(_Assigned):
    """The value of each agent by its persona: such as a cell of the table of personas. For stages on which each is
    alone."""

    kind: Literal["by_persona"] = "by_persona"
    personas: dict[PersonaId, JsonValue] = Field(min_length=1)
    """The values, by the id of the persona."""


Assigned = Annotated[ByCohort | Permutation | Balanced | ByPersona, Field(discriminator="kind")]
