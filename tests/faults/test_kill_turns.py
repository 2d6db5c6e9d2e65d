"""SIGKILL during turn-taking: no turn is lost or taken twice, and the data are the same."""

from pathlib import Path
from typing import Any

import pytest

from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.faults.test_kill import KILLED, data_of, run_lab, started
from tests.flows.drain import DrainLab, empty
from tests.flows.test_deliberation import the_data
from tests.flows.test_same_data import TALK, TALKS


async def undisturbed(database: Database, document: str) -> dict[str, list[Any]]:
    """What the file gives when nothing goes wrong; the database is empty again afterwards."""
    lab = DrainLab(database)
    await lab.start(document)
    await lab.drain()
    data = await the_data(lab)
    await empty(database)
    return data


@pytest.mark.fault
@pytest.mark.parametrize(
    ("talk", "failpoint", "hits"),
    quick_first(
        [
            ("select", "reply.claimed", 6),
            ("round", "reply.received", 8),
            ("topics in turns", "transaction.committed", 40),
            ("select", "draft.leased", 9),
            ("round", "reply.claiming", 5),
            ("private", "reply.claimed", 3),
        ],
        1,
    ),
)
async def test_a_talk_that_is_killed_and_started_again_comes_to_the_same_data(
    database: Database, database_url: str, tmp_path: Path, talk: str, failpoint: str, hits: int
) -> None:
    document = TALK.format(talk=TALKS[talk])
    expected = await undisturbed(database, document)
    where = {"database_url": database_url, "data_dir": str(tmp_path)}
    killed = run_lab(**where, document=document, kill_at=failpoint, hits=hits)
    assert killed.returncode == KILLED, killed.stderr

    again = run_lab(**where, experiment_id=started(killed))

    assert again.returncode == 0, again.stderr
    assert await data_of(database) == expected
    calls = await DrainLab(database).rows("SELECT path FROM model_calls")
    assert len(calls) == len({call.path for call in calls})
