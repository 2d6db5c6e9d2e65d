"""What is costly to make and only read is made once for all processes that run tests side by side."""

import os
import pickle
from collections.abc import Callable
from typing import TypeVar

import pytest
from filelock import FileLock

T = TypeVar("T")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[], T]) -> T:
    """What `make` returns: the process that asks first for this name makes it, the others wait and unpickle it."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return make()
    path = factory.getbasetemp().parent / f"{name}.pickle"
    with FileLock(path.with_suffix(".lock")):
        if not path.exists():
            made = make()
            path.write_bytes(pickle.dumps(made))
            return made
    found: T = pickle.loads(path.read_bytes())
    return found
