"""Statements that serve several callers: each gets what it would get alone, and none waits for another's trouble."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import TextClause, text

from parley_lab.base.errors import Unavailable
from parley_lab.base.logs import correlation
from parley_lab.base.urgency import Urgency, urgency
from parley_lab.store import tables
from parley_lab.store.batches import Batches, items_with, read_for_many
from parley_lab.store.databases import connect
from parley_lab.store.session import Database
from parley_lab.testing.gathered import Gathered
from parley_lab.testing.tcp_proxy import before_postgres, through

pytestmark = pytest.mark.postgres

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
ONE: Final = text("SELECT 1 AS one")
TENTH: Final = read_for_many("SELECT 10 / CAST(:number AS int) AS tenth WHERE :number <> '-1'", number="text")
PIDS: Final = read_for_many("SELECT pg_backend_pid() AS pid, pg_sleep(CAST(:seconds AS float))", seconds="float")
NAMED: Final = text(
    f"""
    WITH item AS ({items_with(id="uuid", name="text", now="timestamptz")}), added AS (
        INSERT INTO experimenters (id, name, created_at) SELECT id, name, now FROM item RETURNING id
    )
    SELECT item.place, item.name FROM item JOIN added USING (id)
    """  # noqa: S608 - a constant
)


async def tenth(database: Database, number: str) -> Any:
    async with database.read() as session:
        row = await session.first_for_many(TENTH, {"number": number})
    return row and row.tenth


async def all_tenths(database: Database, *numbers: str) -> list[Any]:
    """Of the first one alone, and then of the others at once."""
    first = asyncio.create_task(tenth(database, "10"))
    await asyncio.sleep(0)
    return (await asyncio.gather(first, *(tenth(database, one) for one in numbers), return_exceptions=True))[1:]


async def test_each_gets_its_own_row_or_none(database: Database) -> None:
    assert await all_tenths(database, "5", "-1", "2", "5") == [2, None, 5, 2]


@pytest.mark.parametrize("bad", ["0", "ten", "a\0b", "99999999999", "\ud800"])
async def test_what_postgres_or_the_driver_refuses_is_refused_alone(
    database: Database, bad: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gathered = Gathered(monkeypatch, 4)

    good, refused, other, none = await asyncio.gather(
        *(tenth(database, number) for number in ("5", bad, "2", "-1")), return_exceptions=True
    )

    assert (good, other, none) == (2, 5, None)
    assert isinstance(refused, Exception)
    assert not isinstance(refused, Unavailable)
    assert gathered.sizes == [4, 1, 1, 1, 1]


async def test_who_waits_for_a_batch_keeps_no_connection_that_it_needs(database_url: str) -> None:
    database = connect(database_url, pool_size=1, patience_seconds=1)

    async with database.read() as session:
        before = await session.one(ONE)
        row = await session.first_for_many(TENTH, {"number": "5"})
        after = await session.one(ONE)
    await database.close()

    assert (before.one, row and row.tenth, after.one) == (1, 2, 1)


async def test_of_two_who_change_the_same_the_first_does(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    gathered = Gathered(monkeypatch, 3)

    async def add(name: str, key: str) -> Any:
        async with database.autocommit() as session:
            row = await session.write_for_many(NAMED, key, {"id": uuid4(), "name": name, "now": NOW})
        return row and row.name

    assert [*await asyncio.gather(add("Ada", "a"), add("Bo", "b"), add("Cy", "a"))] == ["Ada", "Bo", None]
    assert gathered.sizes == [3]


async def test_nothing_of_a_batch_is_stored_twice_when_one_is_refused(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    Gathered(monkeypatch, 4)

    async def add(name: str) -> None:
        async with database.autocommit() as session:
            await session.write_for_many(NAMED, name, {"id": uuid4(), "name": name, "now": NOW})

    await add_without_a_batch(database, "Bo")
    results = await asyncio.gather(*(add(name) for name in ("Ada", "Bo", "Cy", "Di")), return_exceptions=True)

    assert [type(result) for result in results] == [type(None), psycopg.errors.UniqueViolation, *[type(None)] * 2]
    async with database.read() as session:
        names = [row.name for row in await session.all(text("SELECT name FROM experimenters ORDER BY name"))]
    assert names == ["Ada", "Bo", "Cy", "Di"]


async def add_without_a_batch(database: Database, name: str) -> None:
    async with database.transaction() as session:
        await session.insert(tables.experimenters, [{"id": uuid4(), "name": name, "created_at": NOW}])


async def test_a_batch_in_which_the_connection_dies_is_refused_and_the_next_one_is_not(database: Database) -> None:
    async def pid(seconds: float) -> Any:
        async with database.read() as session:
            return await session.first_for_many(PIDS, {"seconds": seconds})

    running = [asyncio.create_task(pid(60)) for _ in range(3)]
    async with asyncio.timeout(5), database.read() as session:
        kill = text(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND state = 'active'"
            " AND pid <> pg_backend_pid() AND datname = current_database()"
        )
        while not await session.all(kill):  # noqa: ASYNC110 - the server sends no word of it
            await asyncio.sleep(0.01)
    refused = await asyncio.gather(*running, return_exceptions=True)

    assert [type(one) for one in refused] == [Unavailable] * 3
    assert (await pid(0)).pid


async def test_while_the_database_is_silent_none_waits_for_the_sum_of_all_batches(database_url: str) -> None:
    async with before_postgres(database_url) as proxy:
        database = connect(through(proxy, database_url), patience_seconds=0.5, statement_seconds=0.4)
        assert await tenth(database, "5") == 2
        proxy.freeze()
        async with asyncio.timeout(8):
            results = await asyncio.gather(*(tenth(database, "5") for _ in range(200)), return_exceptions=True)
        await proxy.restore()

        assert {type(one) for one in results} == {Unavailable}
        assert await tenth(database, "5") == 2
        await database.close()


async def test_a_batch_is_of_no_single_request(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its task was begun by one of them, and may go on for as long as others come."""
    found: list[tuple[str, Urgency]] = []
    work = Batches._work

    async def looking(batches: Batches, statement: TextClause, asked: Sequence[Any]) -> Sequence[Any]:
        rows = await work(batches, statement, asked)
        found.append((correlation.get(), urgency.get()))
        return rows

    monkeypatch.setattr(Batches, "_work", looking)
    correlation.set("of one")
    urgency.set(Urgency.BACKGROUND)

    await tenth(database, "5")

    assert found == [("", Urgency.PERSON)]
    assert (correlation.get(), urgency.get()) == ("of one", Urgency.BACKGROUND)


async def test_what_is_to_be_done_later_borrows_a_connection_too(database: Database) -> None:
    async with database.autocommit() as session:
        session.later(text("SET application_name = 'later'"), {})
        row = await session.one(text("SELECT current_setting('application_name') AS name"))

    assert row.name == "later"
