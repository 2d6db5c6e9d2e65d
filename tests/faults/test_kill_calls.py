"""A call that kills its process each time: it is tried alone, then failed, and its neighbours are answered."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from parley_lab.store.session import Database
from parley_lab.testing.fake_endpoint import FakeEndpoint, FakeReply
from tests.faults.test_kill import KILLED, run_lab, started
from tests.flows.drain import DrainLab

STUDY = """
parley: 1
name: A deadly call
seed: 0
model_mode: real
stages: [{id: q, kind: survey, questions: [{id: why, kind: text, title: Why}]}]
personas: [{id: ada, text: "You are Ada."}, {id: ben, text: "You are deadly."}, {id: cas, text: "You are Cas."}]
cohorts: [{seats: [{persona: ada}, {persona: ben}, {persona: cas}]}]
"""


@pytest.mark.fault
async def test_a_call_that_kills_its_process_is_failed_and_its_neighbours_are_answered(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    kills = 0

    async def reply(request: dict[str, Any]) -> FakeReply | dict[str, str]:
        nonlocal kills
        if "deadly" not in json.dumps(request):
            return {"why": "Because."}
        kills += 1
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        return FakeReply(drop=True)

    async with FakeEndpoint(replies=reply) as endpoint:
        environ = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": endpoint.base_url, "LLM_USE_MOCK": "false"}
        where = {"database_url": database_url, "data_dir": str(tmp_path), "environ": environ}
        ran = await asyncio.to_thread(run_lab, document=STUDY, **where)
        experiment_id = started(ran)
        while ran.returncode == KILLED and kills < 8:
            ran = await asyncio.to_thread(run_lab, experiment_id=experiment_id, **where)

    assert ran.returncode == 0, ran.stderr
    assert kills == 4
    lab = DrainLab(database)
    rows = await lab.rows("SELECT m.path, d.state FROM drafts d JOIN members m ON m.id = d.member_id ORDER BY m.path")
    assert [row.state for row in rows] == ["answered", "failed", "answered"]
    lost = await lab.rows("SELECT 1 AS one FROM model_calls WHERE status = 'lost' AND path LIKE 'c1/m2/%'")
    assert len(lost) == 4
    alerts = await lab.rows("SELECT type FROM alerts")
    assert [alert.type for alert in alerts] == ["model_failed"]
