"""Draws the arm of a person who joins: permuted blocks over the arms with free places. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from parley_lab.base import seeds
from parley_lab.contracts.allocation import Allocation


@dataclass(frozen=True, slots=True)
class Block:
    """The current block: its number, the arms left in drawn order, and all draws so far."""

    number: int = 0
    left: tuple[str, ...] = ()
    draws: int = 0


@dataclass(frozen=True, slots=True)
class ArmDraw:
    """One draw. `probability`: of the arm given all earlier draws, its share of the rest of the block."""

    arm: str
    draw: int
    block: int
    probability: float


def draw_arm(block: Block, places: Sequence[str], seed: int, how: Allocation | None = None) -> tuple[ArmDraw, Block]:
    """The arm of the next person, and the rest of the block.

    A block has every arm that had a place when the block began, as often as its weight; arms that have filled since are
    skipped. With the method `simple` every draw begins a new block.

    places: the arms that have a place, at least one. The same seed, block and places give the same draw.
    """
    how = how or Allocation()
    number = block.number
    left = [arm for arm in block.left if arm in places]
    if not left:
        number += 1
        left = how.cycle(sorted(places)) * how.block_cycles
        seeds.rng(seed, f"joining/block:{number}").shuffle(left)
    draw = ArmDraw(left[0], block.draws + 1, number, left.count(left[0]) / len(left))
    rest = () if how.method == "simple" else tuple(left[1:])
    return draw, Block(number, rest, draw.draw)
