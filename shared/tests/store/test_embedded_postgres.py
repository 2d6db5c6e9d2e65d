"""PostgreSQL from the wheel: it keeps what was committed and never runs twice on one directory."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from parley_lab.base.errors import SettingsInvalid
from parley_lab.store import embedded_postgres

pytestmark = [pytest.mark.postgres]


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """Not `tmp_path`, whose name is too long for a socket."""
    with TemporaryDirectory(prefix="parley-") as folder:
        yield Path(folder) / "lab" / "postgres"


@pytest.fixture(scope="module")
def _made() -> Iterator[Path]:
    with TemporaryDirectory(prefix="parley-") as folder:
        path = Path(folder) / "postgres"
        embedded_postgres.start(path, fast=True).stop()
        yield path


@pytest.fixture
def made_dir(_made: Path, data_dir: Path) -> Path:
    """A directory in which a server has run: to make one takes longer than most tests."""
    data_dir.parent.mkdir()
    # It keeps the owner, whom Python's own copies forget.
    subprocess.run(["cp", "-a", str(_made), str(data_dir)], check=True)
    return data_dir


def _rows(url: str) -> list[int]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute("SELECT n FROM kept ORDER BY n")]


def _keep(url: str, number: int) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (n int)")
        connection.execute("INSERT INTO kept VALUES (%s)", (number,))


def _server_pid(data_dir: Path) -> int:
    return int((data_dir / "postmaster.pid").read_text().split()[0])


def test_what_was_committed_is_there_after_a_new_start(data_dir: Path) -> None:
    first = embedded_postgres.start(data_dir, fast=True)
    _keep(first.url, 1)
    first.stop()
    first.stop()

    second = embedded_postgres.start(data_dir, fast=True)
    rows = _rows(second.url)
    second.stop()

    assert rows == [1]
    assert not (data_dir / "postmaster.pid").exists()


def test_directory_in_use_is_refused_with_the_process_that_uses_it(made_dir: Path) -> None:
    server = embedded_postgres.start(made_dir, fast=True)

    with pytest.raises(SettingsInvalid, match=f"process {os.getpid()}, is using"):
        embedded_postgres.start(made_dir, fast=True)

    server.stop()


def test_directory_of_another_major_is_refused(data_dir: Path) -> None:
    data_dir.mkdir(parents=True)
    (data_dir / "PG_VERSION").write_text("16\n")

    with pytest.raises(SettingsInvalid, match="was made by PostgreSQL 16"):
        embedded_postgres.start(data_dir)


def test_directory_with_other_files_is_left_alone(data_dir: Path) -> None:
    data_dir.mkdir(parents=True)
    (data_dir / "thesis.txt").write_text("mine")

    with pytest.raises(SettingsInvalid, match="is not empty"):
        embedded_postgres.start(data_dir)

    assert [path.name for path in data_dir.iterdir()] == ["thesis.txt"]


def test_path_too_long_for_a_socket_works(data_dir: Path) -> None:
    server = embedded_postgres.start(data_dir / ("long " * 30), fast=True)
    _keep(server.url, 1)
    rows = _rows(server.url)
    server.stop()

    assert rows == [1]


_LAB_THAT_IS_KILLED = """
import sys, signal, os
from pathlib import Path
from parley_lab.store import embedded_postgres
server = embedded_postgres.start(Path(sys.argv[1]), fast=True)
print(server.url, flush=True)
sys.stdin.read()
"""


def _killed_lab(data_dir: Path) -> str:
    """Starts a process with an embedded server, kills it, and returns the URL of the server that stays up."""
    with subprocess.Popen(
        [sys.executable, "-c", _LAB_THAT_IS_KILLED, str(data_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        process.send_signal(signal.SIGKILL)
        process.wait()
    return url


@pytest.mark.fault
def test_server_left_behind_by_a_kill_is_taken_over_and_stopped(made_dir: Path) -> None:
    url = _killed_lab(made_dir)
    _keep(url, 1)
    left_behind = _server_pid(made_dir)
    with psycopg.connect(url) as forgotten:
        forgotten.execute("SELECT 1")

        server = embedded_postgres.start(made_dir)

        with pytest.raises(psycopg.OperationalError):
            forgotten.execute("SELECT 1")
    taken_over = _server_pid(made_dir)
    rows = _rows(server.url)
    server.stop()

    assert taken_over == left_behind
    assert rows == [1]
    assert not (made_dir / "postmaster.pid").exists()


@pytest.mark.fault
def test_server_that_was_killed_itself_comes_back_with_its_data(made_dir: Path) -> None:
    first = embedded_postgres.start(made_dir)
    _keep(first.url, 1)
    os.kill(_server_pid(made_dir), signal.SIGKILL)
    first.stop()

    second = embedded_postgres.start(made_dir)
    rows = _rows(second.url)
    second.stop()

    assert rows == [1]


@pytest.mark.fault
def test_server_of_which_a_part_hangs_is_made_to_end_and_keeps_its_data(
    made_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded_postgres, "_STOP_SECONDS", 1)
    first = embedded_postgres.start(made_dir)
    _keep(first.url, 1)
    with psycopg.connect(first.url) as connection:
        pids = connection.execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
        os.kill(pids.fetchall()[0][0], signal.SIGSTOP)

    first.stop()

    second = embedded_postgres.start(made_dir)
    rows = _rows(second.url)
    second.stop()

    assert rows == [1]


@pytest.mark.fault
def test_server_whose_way_another_program_has_closed_is_stopped(made_dir: Path) -> None:
    server = embedded_postgres.start(made_dir, fast=True)
    made_dir.parent.chmod(0o700)

    server.stop()

    assert not (made_dir / "postmaster.pid").exists()


def test_number_of_another_program_in_the_pid_file_is_not_taken_for_a_server(made_dir: Path) -> None:
    server = embedded_postgres.start(made_dir, fast=True)
    server.stop()
    (made_dir / "postmaster.pid").write_text(f"{os.getpid()}\n{made_dir}\n0\n5432\n\n\n0\nready\n")

    server = embedded_postgres.start(made_dir, fast=True)

    assert _server_pid(made_dir) != os.getpid()
    server.stop()
