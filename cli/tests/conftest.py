"""The command line as a user starts it: in a process of its own, in an empty folder, with a clean environment."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from parley_lab.cli import forked
from parley_lab.cli.testing import COMMAND, BeginFreshParley, BeginParley, Parley, environment


@pytest.fixture
def of_all() -> dict[str, str]:
    """Variables that all commands of this test have."""
    return {}


@pytest.fixture
def parley(tmp_path: Path, of_all: dict[str, str]) -> Parley:
    """Run one command to its end in an empty folder; `stdin` is what is typed."""

    def run(*arguments: str | Path, stdin: str = "", **variables: str) -> "subprocess.CompletedProcess[str]":
        words = list(map(str, arguments))
        return forked.run(words, folder=tmp_path, variables=environment({**of_all, **variables}), stdin=stdin)

    return run


@pytest.fixture
def fresh_parley(tmp_path: Path, of_all: dict[str, str]) -> Parley:
    """The same in a process that loads everything itself: for what is decided while that happens, such as the kinds."""

    def run(*arguments: str | Path, stdin: str = "", **variables: str) -> "subprocess.CompletedProcess[str]":
        command = [*COMMAND, *map(str, arguments)]
        known = environment({**of_all, **variables})
        return subprocess.run(
            command, cwd=tmp_path, env=known, input=stdin, capture_output=True, text=True, check=False
        )

    return run


@pytest.fixture
def begin_parley(tmp_path: Path, of_all: dict[str, str]) -> Iterator[BeginParley]:
    """Start a command and read along; what still runs at the end of the test is killed."""
    begun: list[forked.Begun] = []

    def begin(*arguments: str | Path, **variables: str) -> forked.Begun:
        words = list(map(str, arguments))
        begun.append(forked.begin(words, folder=tmp_path, variables=environment({**of_all, **variables})))
        return begun[-1]

    yield begin
    for process in begun:
        process.close()


@pytest.fixture
def begin_fresh_parley(tmp_path: Path, of_all: dict[str, str]) -> Iterator[BeginFreshParley]:
    """The same in a process that loads everything itself: for signals that come while it starts."""
    begun: list[subprocess.Popen[str]] = []

    def begin(*arguments: str | Path, **variables: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            cwd=tmp_path,
            env=environment({**of_all, **variables}),
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
def _made_dir() -> Iterator[Path]:
    """A data directory whose database is made, for copies: to make one takes longer than most commands.

    Not below pytest's own folder: another pytest closes that to the user whom root's PostgreSQL runs as.
    """
    with _folder() as folder:
        words = ["personas", "list", "--data-dir", str(folder / ".parley")]
        made = forked.run(words, folder=folder, variables=environment({}))
        assert made.returncode == 0, made.stderr
        yield folder / ".parley"


@pytest.fixture
def data_dir(tmp_path: Path, database_url: str, of_all: dict[str, str]) -> Path:
    """A data directory in which nothing was run before, of a lab on the server of all tests.

    A command that starts and stops a PostgreSQL of its own, as in `embedded_dir`, takes twice as long.
    """
    of_all["PARLEY_DATABASE_URL"] = database_url
    return tmp_path / ".lab"


@pytest.fixture
def embedded_dir(_made_dir: Path) -> Iterator[Path]:
    """A data directory in which nothing was run before, with a database of its own."""
    with _copy(_made_dir) as copy:
        yield copy


@pytest.fixture
def no_dir() -> Iterator[Path]:
    """Where a data directory may be made."""
    with _folder() as folder:
        yield folder / ".parley"


@contextmanager
def _copy(made: Path) -> Iterator[Path]:
    with _folder() as folder:
        # It keeps the owner, whom Python's own copies forget.
        subprocess.run(["cp", "-a", str(made), str(folder)], check=True)
        yield folder / made.name


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="parley-lab-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
