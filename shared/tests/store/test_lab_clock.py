"""The clock of a lab goes by Postgres, whatever the clocks of its machines show."""

import asyncio
from datetime import UTC, datetime, timedelta
from time import monotonic

import pytest

from parley_lab.base.clock import SystemClock
from parley_lab.store import lab_clock
from parley_lab.store.databases import connect
from parley_lab.store.lab_clock import LabClock
from parley_lab.store.session import Database

HOUR = timedelta(hours=1)


class Ticks:
    """A monotonic clock that a test can move."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return monotonic() + self.ahead


@pytest.fixture(params=[1, -1], ids=["ahead", "back"])
def wrong_machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of this machine is wrong by an hour."""

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime.now(UTC) + timedelta(hours=request.param)

    monkeypatch.setattr(lab_clock, "datetime", Wrong)


@pytest.mark.usefixtures("wrong_machine")
async def test_a_wrong_clock_of_the_machine_does_not_count(shared_database: Database) -> None:
    clock = LabClock(shared_database)
    assert abs(clock.now() - SystemClock().now()) > HOUR / 2

    await clock.look()

    assert abs(clock.now() - SystemClock().now()) < HOUR / 60


async def test_the_time_until_a_connection_is_free_does_not_count(database_url: str) -> None:
    database = connect(database_url, pool_size=1)
    clock = LabClock(database)

    async with database.transaction():
        looking = asyncio.create_task(clock.look())
        await asyncio.wait([looking], timeout=2)
    await looking
    await database.close()

    assert abs(clock.now() - SystemClock().now()) < timedelta(seconds=0.5)


async def test_it_goes_on_between_two_looks(shared_database: Database) -> None:
    ticks = Ticks()
    clock = LabClock(shared_database, monotonic=ticks)
    await clock.look()

    ticks.ahead = HOUR.total_seconds()

    assert HOUR / 2 < clock.now() - SystemClock().now() < HOUR * 2


async def test_another_look_puts_right_what_was_counted_wrongly(shared_database: Database) -> None:
    ticks = Ticks()
    clock = LabClock(shared_database, monotonic=ticks)
    await clock.look()
    # As after a machine has slept, or was moved.
    ticks.ahead = HOUR.total_seconds()

    await clock.look()

    assert abs(clock.now() - SystemClock().now()) < HOUR / 60
