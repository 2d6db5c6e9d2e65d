"""What a lab keeps in memory of sessions that are over: next to nothing, however many there were."""

import gc
import tracemalloc
from pathlib import Path
from typing import Final
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.formats.testing.workbooks import base_values, workbook_of
from parley_lab.formats.workbook import compile_workbook
from parley_lab.testing.fake_endpoint import FakeEndpoint
from tests.faults.lab_tools import start
from tests.flows.rooms import eventually

SESSIONS: Final = 4
_COUNTED: Final = 3
KEPT_KILOBYTES: Final = 15.0
"""For each session that is over, at most: connections grow a little by chance. Kept designs alone would be 70."""

pytestmark = pytest.mark.postgres


async def test_sessions_that_are_over_leave_nothing_behind(database_url: str, tmp_path: Path) -> None:
    (experiment,) = compile_workbook(workbook_of(base_values()))
    document = experiment.model_copy(update={"model_mode": "real"}).model_dump_json()
    async with FakeEndpoint() as endpoint:
        environ = {"OPENAI_API_KEY": "any text", "OPENAI_BASE_URL": endpoint.base_url}
        servers = ServerSettings(database_url=database_url)
        async with EmbeddedLab(tmp_path, servers=servers, environ=environ, port=None) as lab:
            tracemalloc.start()
            try:
                await _run(lab, document, times=2)
                before = _live_kilobytes(endpoint)
                await _run(lab, document, times=_COUNTED)
                grown = _live_kilobytes(endpoint) - before
            finally:
                tracemalloc.stop()

    assert grown / (_COUNTED * SESSIONS) < KEPT_KILOBYTES


def _live_kilobytes(endpoint: FakeEndpoint) -> float:
    endpoint.reset()
    gc.collect()
    return tracemalloc.get_traced_memory()[0] / 1024


async def _run(lab: EmbeddedLab, document: str, *, times: int) -> None:
    """One experiment after another, each to its end."""
    for _ in range(times):
        await _ended(lab, await start(lab, document))


async def _ended(lab: EmbeddedLab, experiment_id: UUID) -> None:
    async def is_over() -> bool:
        async with lab.database.transaction() as session:
            row = await session.one(text("SELECT status FROM experiments WHERE id = :id"), {"id": experiment_id})
        return bool(row.status == "ended")

    await eventually(is_over)
