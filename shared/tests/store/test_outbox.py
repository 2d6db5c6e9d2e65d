"""The outbox as the publisher uses it."""

from parley_lab.contracts.hints import ORCHESTRATOR, Hint
from parley_lab.store.outbox import Outbox
from parley_lab.store.session import Database

HINTS = [Hint(ORCHESTRATOR, "cohort.unsettled", f"00000000-0000-0000-0000-00000000000{number}") for number in range(3)]


async def _announce(database: Database) -> None:
    async with database.transaction() as session:
        for hint in HINTS:
            session.announce(hint)


async def test_leftover_rows_come_oldest_first_until_they_are_deleted(database: Database) -> None:
    await _announce(database)
    outbox = Outbox(database, age_seconds=0)

    first = await outbox.leftover(2)
    await outbox.delete([row_id for row_id, _ in first])
    await outbox.delete([row_id for row_id, _ in first])
    rest = await outbox.leftover(10)

    assert [hint for _, hint in (*first, *rest)] == HINTS


async def test_fresh_rows_are_left_to_the_process_that_wrote_them(database: Database) -> None:
    await _announce(database)

    assert await Outbox(database, age_seconds=60).leftover(10) == []
