"""Orders that differ between participants: one draw for the cohort, from which each one's order follows."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from parley_lab.base import seeds
from parley_lab.kinds import Draws, Json, Member, OwnView
from parley_lab.kinds.questions.drawn_rows import CHANCE, chance_of

ORDER: Final = "_order"
"""The field of a stored page with its own order; no question or asset may have this id."""


class OrderDraws(Draws):
    def draw(self, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        return {CHANCE: drawn.get(CHANCE) or f"{rng.getrandbits(63)}"}


def own_chance(view: OwnView, what: str) -> Random:
    """The chance of the reader for one order. Only where the cohort has drawn (`CHANCE in view.draws`)."""
    seed, seat = chance_of(view)
    return seeds.rng(seed, f"{seat}/{what}")


def without_order(page: Json) -> Json:
    return {name: value for name, value in page.items() if name != ORDER} if isinstance(page, Mapping) else page
