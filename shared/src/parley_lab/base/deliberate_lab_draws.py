"""The random generator of Deliberate Lab, for orders that must come out as they do there.

A linear congruential generator (modulus 2^32, multiplier 1664525, increment 1013904223) that starts from the first four
bytes of the MD5 of a text. Everything else is drawn with `parley_lab.base.seeds`.
"""

from collections.abc import Iterator, Sequence
from hashlib import md5
from typing import TypeVar

ItemT = TypeVar("ItemT")


def uniform_numbers(seed_text: str) -> Iterator[float]:
    """Numbers from 0 up to 1, the same for the same text."""
    state = int.from_bytes(md5(seed_text.encode(), usedforsecurity=False).digest()[:4], "big")
    while True:
        state = (1664525 * state + 1013904223) % 2**32
        yield state / 2**32


def drawn(items: Sequence[ItemT], count: int, seed_text: str) -> list[ItemT]:
    """So many of the items, each at most once, in the order of the draw."""
    left, numbers = list(items), uniform_numbers(seed_text)
    return [left.pop(int(next(numbers) * len(left))) for _ in range(min(count, len(items)))]


def shuffled(items: Sequence[ItemT], seed_text: str) -> list[ItemT]:
    """All items in a drawn order."""
    return drawn(items, len(items), seed_text)
