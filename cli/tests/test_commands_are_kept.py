"""What commands change on a lab's database is among the deeds, as what requests change is."""

import asyncio
from pathlib import Path
from uuid import UUID

import pytest

from parley_lab.base.errors import Conflict
from parley_lab.cli import lifecycle
from parley_lab.design import load
from parley_lab.experiments import starting
from parley_lab.store import key_lists, keys
from parley_lab.store.databases import connect
from parley_lab.testing.fake_clock import FakeClock

pytestmark = pytest.mark.postgres

WAITING = """
parley: 1
name: Waiting
seed: 1
stages: [{id: talk, kind: group_chat}]
cohorts: [{count: 1, seats: [{open: true}, {open: true}]}]
"""


async def started(url: str) -> UUID:
    database, now = connect(url), FakeClock().now()
    async with database.transaction() as session:
        owner = await keys.experimenter_named(session, "Ellen", now)
        experiment_id = await starting.create(session, owner, load(WAITING, "waiting.yaml"), now)
    async with database.transaction() as session:
        await starting.start(session, experiment_id, now)
    await database.close()
    return experiment_id


async def deeds(url: str) -> list[key_lists.Deed]:
    database = connect(url)
    async with database.read() as session:
        found = await key_lists.deeds(session, None, before=None, most=10)
    await database.close()
    return found[::-1]


def test_each_command_that_changes_a_run_is_kept(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARLEY_DATABASE_URL", database_url)
    run = str(asyncio.run(started(database_url)))

    lifecycle.stop(tmp_path, run)
    lifecycle.remove(tmp_path, run, "c1/m1", "")
    with pytest.raises(Conflict):
        lifecycle.resume(tmp_path, run)
    lifecycle.discard(tmp_path, run, tmp_path)

    kept = asyncio.run(deeds(database_url))
    assert [one.deed for one in kept] == [
        f"parley stop {run}",
        f"parley remove {run} c1/m1",
        f"parley resume {run}",
        f"parley discard {run}",
    ]
    assert {(one.experimenter, one.key_id) for one in kept} == {("operator", None)}
