"""Draws the arm of a person who joins, or of a group: permuted blocks over the arms with free places. Pure.

While all arms have places, no arm is more than one person ahead of another. By order of arrival the time of day would
decide the arm.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from parley_lab.base import seeds
from parley_lab.contracts.allocation import Allocation
from parley_lab.design.allocation import LONGEST_PIECE, pieces_of


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


def draw_arm(
    block: Block, places: Sequence[str], seed: int, how: Allocation | None = None, *, path: str = "joining"
) -> tuple[ArmDraw, Block]:
    """The arm of the next person or group, and the rest of the block.

    A block has every arm that had a place when the block began, as often as its weight; arms that have filled since are
    skipped. Weights whose cycle is longer than 20 make blocks of 20, which come close to them. With the method `simple`
    every draw begins a new block.

    places: the arms that have a place, at least one. The same seed, path, block and places give the same draw.
    """
    how = how or Allocation()
    number = block.number
    left = [arm for arm in block.left if arm in places]
    if not left:
        number += 1
        left = _piece(how, sorted(places), seed, path, number)
    draw = ArmDraw(left[0], block.draws + 1, number, left.count(left[0]) / len(left))
    rest = () if how.method == "simple" else tuple(left[1:])
    return draw, Block(number, rest, draw.draw)


def _piece(how: Allocation, places: Sequence[str], seed: int, path: str, number: int) -> list[str]:
    """The block with this number, or the piece of 20 where one block of weights is longer."""
    cycle = how.cycle(places)
    if not how.weights or len(cycle) <= LONGEST_PIECE:
        return pieces_of(how, cycle, seeds.rng(seed, f"{path}/block:{number}"))[0]
    blocks, of_block = divmod(number - 1, -(-len(cycle) * how.block_cycles // LONGEST_PIECE))
    return pieces_of(how, cycle, seeds.rng(seed, f"{path}/weights:{blocks}"))[of_block]


def give_back(block: Block, arm: str, seed: int, *, path: str) -> Block:
    """The block with an arm that was drawn in vain, at a place that is drawn.

    `path` has a number of its own for each arm that is given back.
    """
    left = list(block.left)
    left.insert(seeds.rng(seed, f"{path}/given_back").randint(0, len(left)), arm)
    return Block(block.number, tuple(left), block.draws)
