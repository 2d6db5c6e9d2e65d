"""Randomness and identity from (seed, path), never from the order in which things happened to run."""

import hashlib
import random
import secrets
from typing import Final
from uuid import UUID, uuid5

_FRESH: Final = 2**31
"""Seeds that are made up stay below: people copy them into files, and every program can hold them."""


def fresh() -> int:
    """A seed for what has none; another one every time."""
    return secrets.randbelow(_FRESH)


def rng(seed: int, path: str) -> random.Random:
    """A stream of its own for every path: adding or reordering others does not move it."""
    digest = hashlib.sha256(f"{seed}\x00{path}".encode()).digest()
    return random.Random(int.from_bytes(digest[:16], "big"))


def row_id(experiment_id: UUID, path: str) -> UUID:
    """The id of the row at `path`; making it twice gives the same id."""
    return uuid5(experiment_id, path)
