"""The prompt builder as a process of its own."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from parley_lab.cli import forked
from parley_lab.cli.testing import line_with
from parley_lab.prompt_builder.__main__ import main
from parley_lab.testing.network import free_port

Begin = Callable[..., forked.Begun]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Start it with these variables alone."""
    begun: list[forked.Begun] = []

    def start(**variables: str) -> forked.Begun:
        begun.append(forked.begin([], folder=tmp_path, variables=variables, main=main))
        return begun[-1]

    yield start
    for process in begun:
        process.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_0_when_it_is_told_to(begin: Begin, database_url: str, number: signal.Signals) -> None:
    process = begin(PARLEY_DATABASE_URL=database_url, PROMPT_BUILDER_PORT=str(free_port()))
    line_with(process, "prompt_builder.listening")

    process.send_signal(number)
    told, _ = process.communicate()

    assert process.returncode == 0
    assert "Traceback" not in told


def test_what_is_missing_stops_the_start_and_is_named(begin: Begin) -> None:
    process = begin(PROMPT_BUILDER_PORT="many")

    told, _ = process.communicate()

    assert process.returncode == 2
    assert "PARLEY_DATABASE_URL: is not set" in told
    assert "PROMPT_BUILDER_PORT" in told


def test_tables_of_an_older_version_stop_the_start_with_what_to_do(begin: Begin, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    process = begin(PARLEY_DATABASE_URL=database_url, PROMPT_BUILDER_PORT=str(free_port()))

    told, _ = process.communicate()

    assert process.returncode == 2
    assert "revision 0001, this service needs" in told
    assert "Traceback" not in told
