"""What is costly to make and only read is made once for all processes that run tests side by side."""

import fcntl
import os
import pickle
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[], T]) -> T:
    """What `make` returns: the process that asks first for this name makes it, the others wait and unpickle it."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return make()
    path = factory.getbasetemp().parent / f"{name}.pickle"
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            made = make()
            path.write_bytes(pickle.dumps(made))
            return made
    found: T = pickle.loads(path.read_bytes())
    return found
