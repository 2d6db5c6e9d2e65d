"""SIGKILL in the middle of a workbook: nothing that was answered is asked again but what was in flight."""

from pathlib import Path
from typing import Any

import pytest

from parley_lab.formats.testing.workbooks import base_values, task_row, with_setting, workbook_of
from parley_lab.formats.workbook import compile_designs, estimates
from parley_lab.store.session import Database
from parley_lab.testing.fake_endpoint import Behaviour, FakeEndpoint
from parley_lab.testing.quick import quick_first
from tests.faults.test_kill import KILLED, in_thread, started
from tests.flows.drain import DrainLab

IN_FLIGHT = 5


def workbook() -> tuple[str, int]:
    """Four sessions with a task of every type that asks, and how many calls they take."""
    values = with_setting(base_values(), max_conversation_length=100)
    values["agent_roles"].append(["Summarizer", "You sum up."])
    values["interview_prompts"][2:] = [
        task_row("talk", type="discussion", task_order=1, llm_text="Let us talk."),
        task_row("open", type="public_question", task_order=2, llm_text="How many?", response_options="(0, 9)"),
        task_row("closed", task_order=3, llm_text="{'A': 'a?', 'B': 'b?', 'C': 'c?', 'Summarizer': 'sum?'}"),
    ]
    (compiled,) = compile_designs(workbook_of(values))
    real = compiled.experiment.model_copy(update={"model_mode": "real"})
    return real.model_dump_json(), sum(session.calls for session in estimates(compiled))


@pytest.mark.fault
@pytest.mark.parametrize(
    ("failpoint", "hits"),
    quick_first(
        [("reply.received", 13), ("reply.published", 17), ("draft.leased", 30), ("transaction.committed", 150)], 1
    ),
)
async def test_a_workbook_that_is_killed_pays_at_most_the_calls_in_flight_twice(
    database: Database,
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failpoint: str,
    hits: int,
) -> None:
    monkeypatch.setenv("AGENT_WORKER_PREFETCH", str(IN_FLIGHT))
    document, calls = workbook()
    async with FakeEndpoint(Behaviour(latency_seconds=0.02)) as endpoint:
        environ = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": endpoint.base_url, "LLM_USE_MOCK": "false"}
        where: dict[str, Any] = {"database_url": database_url, "data_dir": str(tmp_path), "environ": environ}
        killed = await in_thread(document=document, kill_at=failpoint, hits=hits, **where)
        assert killed.returncode == KILLED, killed.stderr

        again = await in_thread(experiment_id=started(killed), **where)

        assert again.returncode == 0, again.stderr
        assert calls <= len(endpoint.calls) <= calls + IN_FLIGHT
    lab = DrainLab(database)
    assert len(await lab.rows("SELECT 1 FROM answers WHERE key LIKE 'task:%'")) == calls
    drafts = await lab.rows("SELECT draft_id FROM model_calls WHERE status = 'ok'")
    assert len(drafts) == len({call.draft_id for call in drafts}) == calls
    await check_minutes(lab, calls)


async def check_minutes(lab: DrainLab, replies: int) -> None:
    """Every reply is in the minutes once, and no line twice."""
    said = await lab.rows(
        """
        SELECT g.id FROM messages g JOIN answers a ON a.member_id = g.member_id AND a.key = 'task:' || g.topic
        WHERE a.value ->> 'response' = g.text
        """
    )
    assert len(said) == len({row.id for row in said}) == replies
    assert len(await lab.rows("SELECT 1 FROM messages WHERE member_id IS NOT NULL")) == replies
    assert not await lab.rows(
        """
        SELECT 1 FROM messages GROUP BY thread_id
        HAVING count(*) <> max(seq) OR count(*) <> count(DISTINCT client_key)
        """
    )
    ends = await lab.rows("SELECT end_reason FROM threads")
    assert [row.end_reason for row in ends] == ["finished"] * 4
