"""Pairings in experiment files: which players meet, for experiments of pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, JsonValue

from parley_lab.base.rules import as_level
from parley_lab.contracts.experiment import Document, PersonaId, Slug


class OpenSeat(Document):
    """A person who joins."""

    open: Literal[True]


Player = PersonaId | OpenSeat


class Meeting(Document):
    """Two players who play against each other."""

    id: Slug | None = None
    """Names the treatment; left out: the players' ids."""
    seats: tuple[Player, Player]
    """The id of a persona, or `{open: true}` for a person. The same persona on both sides plays against itself."""
    replicates: int | None = Field(default=None, ge=1, le=10_000)
    """How often they meet; left out: as often as the other pairs."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Fields of the stage to replace for this pair."""


@dataclass(frozen=True, slots=True)
class Level:
    """One value of a factor, and its name in ids and data."""

    id: str
    value: Any


class Pairings(Document):
    """Which players meet, how often, and which factors vary: a treatment for each pair and cell, a cohort per
    replicate."""

    stage: Slug
    """The stage whose fields `settings` and `factors` replace."""
    replicates: int = Field(default=1, ge=1, le=10_000)
    """How often each pair meets in each cell."""
    pairs: tuple[Meeting, ...] = ()
    """The pairs, one by one."""
    round_robin: tuple[Slug, ...] = Field(default=(), max_length=500)
    """Personas that all meet each other."""
    self_play: bool = False
    """Whether each persona of the round robin also meets itself."""
    factors: dict[str, tuple[JsonValue, ...] | dict[Slug, JsonValue]] = Field(default_factory=dict)
    """Fields of the stage to vary, each with its levels: a list of words and numbers, or names with values. Every pair
    plays in every combination of levels.
    """

    def levels(self) -> dict[str, Sequence[Level]]:
        """The levels of every factor, in the order of the file."""
        return {
            factor: [Level(name, value) for name, value in given.items()]
            if isinstance(given, Mapping)
            else [Level(name_of(value), value) for value in given]
            for factor, given in self.factors.items()
        }


def name_of(value: JsonValue) -> str:
    """The name of a plain value in ids; for any other value an empty text, which is no valid id."""
    named = as_level(value)
    return named.lower().replace(":", "-").replace(".", "-") if isinstance(named, str) else ""
