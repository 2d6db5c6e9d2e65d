"""Orders that differ between participants: one draw for the cohort, from which each one's order follows."""

from collections.abc import Mapping, Sequence
from random import Random

from parley_lab.base import seeds
from parley_lab.kinds import Draws, Json, Member, OwnView
from parley_lab.kinds.questions.drawn_rows import CHANCE, chance_of


class OrderDraws(Draws):
    def draw(self, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        return {CHANCE: drawn.get(CHANCE) or f"{rng.getrandbits(63)}"}


def own_chance(view: OwnView, what: str) -> Random:
    """The chance of the reader for one order. Only where the cohort has drawn (`CHANCE in view.draws`)."""
    seed, seat = chance_of(view)
    return seeds.rng(seed, f"{seat}/{what}")
