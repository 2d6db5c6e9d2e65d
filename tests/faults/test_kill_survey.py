"""SIGKILL in the middle of many calls: no answer is missing in the end, and only calls in flight are paid twice."""

import json
from pathlib import Path
from typing import Any

import pytest

from parley_lab.store.session import Database
from parley_lab.testing.fake_endpoint import Behaviour, FakeEndpoint
from parley_lab.testing.quick import quick_first
from tests.faults.test_kill import KILLED, in_thread, started
from tests.flows.drain import DrainLab

AGENTS, QUESTIONS, IN_FLIGHT = 6, 8, 10

SURVEY: dict[str, Any] = {
    "parley": 1,
    "name": "Many calls",
    "seed": 3,
    "model_mode": "real",
    "personas": [{"id": "ada"}],
    "cohorts": [{"count": AGENTS, "seats": [{"persona": "ada"}]}],
}


def survey(ask: str) -> str:
    questions = [
        {"id": f"q{number}", "kind": "scale", "title": f"Sentence {number}", "upper": 10} for number in range(QUESTIONS)
    ]
    return json.dumps({**SURVEY, "stages": [{"id": "page", "kind": "survey", "ask": ask, "questions": questions}]})


@pytest.mark.fault
@pytest.mark.parametrize(
    ("ask", "failpoint", "hits"),
    quick_first(
        [
            ("sequential", "reply.received", 17),
            ("independent", "reply.published", 20),
            ("sequential", "draft.leased", 25),
            ("independent", "reply.received", 17),
            ("sequential", "reply.published", 20),
            ("independent", "draft.leased", 25),
        ],
        1,
    ),
)
async def test_a_survey_that_is_killed_pays_at_most_the_calls_in_flight_twice(
    database: Database,
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ask: str,
    failpoint: str,
    hits: int,
) -> None:
    monkeypatch.setenv("AGENT_WORKER_PREFETCH", str(IN_FLIGHT))
    async with FakeEndpoint(Behaviour(latency_seconds=0.02)) as endpoint:
        environ = {
            "OPENAI_API_KEY": "test",
            "OPENAI_BASE_URL": endpoint.base_url,
            "LLM_USE_MOCK": "false",
        }
        where: dict[str, Any] = {"database_url": database_url, "data_dir": str(tmp_path), "environ": environ}
        killed = await in_thread(document=survey(ask), kill_at=failpoint, hits=hits, **where)
        assert killed.returncode == KILLED, killed.stderr

        again = await in_thread(experiment_id=started(killed), **where)

        assert again.returncode == 0, again.stderr
        assert AGENTS * QUESTIONS <= len(endpoint.calls) <= AGENTS * QUESTIONS + IN_FLIGHT
    lab = DrainLab(database)
    assert len(await lab.rows("SELECT 1 FROM answers WHERE key LIKE 'question:%'")) == AGENTS * QUESTIONS
    pages = await lab.rows("SELECT value FROM answers WHERE key = ''")
    assert [len(row.value) for row in pages] == [QUESTIONS] * AGENTS
    lost = await lab.rows("SELECT 1 FROM model_calls WHERE status = 'lost'")
    assert len(lost) <= IN_FLIGHT
    calls = await lab.rows("SELECT draft_id FROM model_calls WHERE status <> 'lost'")
    assert len(calls) == len({call.draft_id for call in calls}) == AGENTS * QUESTIONS
