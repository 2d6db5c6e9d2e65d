"""Randomness and ids from (seed, path), independent of the order of execution."""

import hashlib
import random
import secrets
from typing import Final
from uuid import UUID, uuid5

_FRESH: Final = 2**31
"""The limit of generated seeds: people copy them into files, and every program can represent them."""


def fresh() -> int:
    """A new random seed."""
    return secrets.randbelow(_FRESH)


def rng(seed: int, path: str) -> random.Random:
    """A separate random stream for every path: other paths do not change it."""
    digest = hashlib.sha256(f"{seed}\x00{path}".encode()).digest()
    return random.Random(int.from_bytes(digest[:16], "big"))


def tag(seed: int, path: str) -> bytes:
    """Replaces `path` where its position must not be seen: an order by tags is random."""
    return hashlib.sha256(f"{seed}\x00{path}/tag".encode()).digest()


def row_id(experiment_id: UUID, path: str) -> UUID:
    """The id of the row at `path`; deterministic."""
    return uuid5(experiment_id, path)
