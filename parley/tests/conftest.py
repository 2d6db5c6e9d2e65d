"""The command line as a user starts it: in a process of its own, in an empty folder, with a clean environment."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.testing import COMMAND, BeginParley, Parley, environment


@pytest.fixture
def parley(tmp_path: Path) -> Parley:
    """Run one command to its end in an empty folder; `stdin` is what is typed."""

    def run(*arguments: str | Path, stdin: str = "", **variables: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*COMMAND, *map(str, arguments)],
            cwd=tmp_path,
            env=environment(variables),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture
def begin_parley(tmp_path: Path) -> Iterator[BeginParley]:
    """Start a command and read along; what still runs at the end of the test is killed."""
    begun: list[subprocess.Popen[str]] = []

    def begin(*arguments: str | Path, **variables: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            cwd=tmp_path,
            env=environment(variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        begun.append(process)
        return process

    yield begin
    for process in begun:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


@pytest.fixture(scope="session")
def data_dir() -> Iterator[Path]:
    """A data directory that tests use one after another, since the first start of a lab takes longest.

    Not below pytest's own folder: another pytest closes that to the user whom root's PostgreSQL runs as.
    """
    with tempfile.TemporaryDirectory(prefix="parley-lab-", ignore_cleanup_errors=True) as folder:
        yield Path(folder) / ".parley"


@pytest.fixture
def own_dir() -> Iterator[Path]:
    """A data directory in which nothing was run before."""
    with tempfile.TemporaryDirectory(prefix="parley-lab-", ignore_cleanup_errors=True) as folder:
        yield Path(folder) / ".parley"
