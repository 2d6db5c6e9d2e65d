"""Which arm a person draws who joins: permuted blocks over the arms that still have a place. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from shared import seeds


@dataclass(frozen=True, slots=True)
class Block:
    """The block that is drawn from: its number, what is left of it in the drawn order, and all draws up to now."""

    number: int = 0
    left: tuple[str, ...] = ()
    draws: int = 0


@dataclass(frozen=True, slots=True)
class ArmDraw:
    """One draw. `probability` is that of the arm given all draws before: 1 / arms that were left of the block."""

    arm: str
    draw: int
    block: int
    probability: float


def draw_arm(block: Block, places: Sequence[str], seed: int) -> tuple[ArmDraw, Block]:
    """The arm of the next person, and what is left of the block then.

    A block has every arm once that had a place when it began; an arm that has none any more is passed over.

    places: the arms that have a place, at least one. The same seed, block and places give the same draw.
    """
    number = block.number
    left = [arm for arm in block.left if arm in places]
    if not left:
        number += 1
        left = sorted(places)
        seeds.rng(seed, f"joining/block:{number}").shuffle(left)
    draw = ArmDraw(left[0], block.draws + 1, number, 1 / len(left))
    return draw, Block(number, tuple(left[1:]), draw.draw)
