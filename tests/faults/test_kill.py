"""SIGKILL at every step of a reply: after a restart the lab gives the same data and repeats only calls in flight."""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from parley_lab.cli import forked
from parley_lab.store.session import Database
from parley_lab.testing.fake_endpoint import Behaviour, FakeEndpoint
from parley_lab.testing.quick import quick_first
from tests.faults import lab_process
from tests.flows.drain import DrainLab, empty
from tests.flows.test_deliberation import DELIBERATION, the_data

ROOT = Path(__file__).parents[2]
KILLED = -9


def run_lab(**task: Any) -> subprocess.CompletedProcess[str]:
    """A lab that runs until its experiment has ended, or until it kills itself."""
    return forked.run(
        [json.dumps(task)],
        main=lab_process.command,
        folder=ROOT,
        variables={**os.environ, "ORCHESTRATOR_WATCH_SECONDS": "0.5", "ORCHESTRATOR_OVERDUE_SECONDS": "0.5"},
        seconds=100,
    )


def started(process: subprocess.CompletedProcess[str]) -> str:
    return process.stdout.split()[1]


async def data_of(database: Database) -> dict[str, list[Any]]:
    return await the_data(DrainLab(database))


@pytest.mark.fault
@pytest.mark.parametrize(
    ("failpoint", "hits"),
    quick_first(
        [
            ("reply.received", 12),
            ("reply.claiming", 4),
            ("transaction.committed", 3),
            ("transaction.committed", 40),
            ("draft.leased", 9),
            ("reply.saved", 3),
            ("reply.claimed", 5),
            ("outbox.confirmed", 6),
        ],
        2,
    ),
)
async def test_a_lab_that_is_killed_and_started_again_comes_to_the_same_data(
    database: Database,
    database_url: str,
    tmp_path: Path,
    failpoint: str,
    hits: int,
    expected_data: dict[str, list[Any]],
) -> None:
    where = {"database_url": database_url, "data_dir": str(tmp_path)}
    killed = run_lab(**where, document=DELIBERATION, kill_at=failpoint, hits=hits)
    assert killed.returncode == KILLED, killed.stderr

    again = run_lab(**where, experiment_id=started(killed))

    assert again.returncode == 0, again.stderr
    assert await data_of(database) == expected_data
    calls = await DrainLab(database).rows("SELECT draft_id FROM model_calls")
    assert len(calls) == len({call.draft_id for call in calls})


@pytest.fixture(scope="module")
def _kept() -> dict[str, dict[str, list[Any]]]:
    return {}


@pytest.fixture
async def expected_data(_kept: dict[str, dict[str, list[Any]]], shared_database: Database) -> dict[str, list[Any]]:
    """What the deliberation gives when nothing goes wrong."""
    if not _kept:
        await empty(shared_database)
        lab = DrainLab(shared_database)
        await lab.start(DELIBERATION)
        await lab.drain()
        _kept["data"] = await the_data(lab)
    return _kept["data"]


TYPING = """
parley: 1
name: Typing
seed: 0
model_mode: real
pace: live
personas: [{id: ada, chat: {words_per_minute: 200, max_responses: 1}}, {id: bob, chat: {max_responses: 0}}]
stages: [{id: talk, kind: group_chat}]
cohorts: [{seats: [{persona: ada}, {persona: bob}]}]
"""


@pytest.mark.fault
async def test_a_worker_killed_while_an_agent_types_loses_nothing_and_asks_the_model_once(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    behaviour = Behaviour(silence_rate=0, ready_rate=0)
    async with FakeEndpoint(behaviour) as endpoint:
        environ = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": endpoint.base_url, "LLM_USE_MOCK": "false"}
        where = {"database_url": database_url, "data_dir": str(tmp_path), "environ": environ}
        killed = await in_thread(document=TYPING, kill_at="reply.saved", hits=1, **where)
        assert killed.returncode == KILLED, killed.stderr

        again = await in_thread(experiment_id=started(killed), **where)

        assert again.returncode == 0, again.stderr
        assert len(endpoint.calls) == 1
    spoken = await DrainLab(database).rows("SELECT seq FROM messages WHERE author_kind = 'agent'")
    assert len(spoken) == 1


WRITING = """
parley: 1
name: Writing
seed: 0
pace: live
personas: [{id: ada, pages: {reading_words_per_minute: 600, writing_words_per_minute: 200}}]
stages: [{id: page, kind: survey, questions: [{id: why, kind: text, title: "Why?"}]}]
cohorts: [{seats: [{persona: ada}]}]
"""


@pytest.mark.fault
async def test_a_worker_killed_while_an_agent_writes_loses_nothing_and_asks_the_model_once(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    where = {"database_url": database_url, "data_dir": str(tmp_path)}
    killed = await in_thread(document=WRITING, kill_at="reply.published", hits=1, **where)
    assert killed.returncode == KILLED, killed.stderr
    lab = DrainLab(database)
    assert [row.state for row in await lab.rows("SELECT state FROM drafts")] == ["ready"]

    again = await in_thread(experiment_id=started(killed), **where)

    assert again.returncode == 0, again.stderr
    assert len(await lab.rows("SELECT 1 AS one FROM model_calls")) == 1
    assert len(await lab.rows("SELECT 1 AS one FROM answers WHERE value ->> 'why' <> ''")) == 1


async def in_thread(**task: Any) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(run_lab, **task)
