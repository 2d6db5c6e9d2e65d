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
from parley_lab.design.document import Experiment
from parley_lab.experiments import starting
from parley_lab.formats.testing.workbooks import base_values, workbook_of
from parley_lab.formats.workbook import compile_workbook
from parley_lab.testing.fake_endpoint import FakeEndpoint
from tests.flows.rooms import eventually

SESSIONS: Final = 4
_COUNTED: Final = 3
KEPT_KILOBYTES: Final = 15.0
"""For each session that is over, at most: connections grow a little by chance. Kept designs alone would be 70."""

pytestmark = pytest.mark.postgres


async def test_sessions_that_are_over_leave_nothing_behind(database_url: str, tmp_path: Path) -> None:
    (experiment,) = compile_workbook(workbook_of(base_values()))
    real = experiment.model_copy(update={"model_mode": "real"})
    async with FakeEndpoint() as endpoint:
        environ = {"OPENAI_API_KEY": "any text", "OPENAI_BASE_URL": endpoint.base_url}
        servers = ServerSettings(database_url=database_url)
        async with EmbeddedLab(tmp_path, servers=servers, environ=environ, port=None) as lab:
            tracemalloc.start()
            try:
                await _run(lab, real, times=2)
                before = _live_kilobytes(endpoint)
                await _run(lab, real, times=_COUNTED)
                grown = _live_kilobytes(endpoint) - before
            finally:
                tracemalloc.stop()

    assert grown / (_COUNTED * SESSIONS) < KEPT_KILOBYTES


def _live_kilobytes(endpoint: FakeEndpoint) -> float:
    endpoint.reset()
    gc.collect()
    return tracemalloc.get_traced_memory()[0] / 1024


async def _run(lab: EmbeddedLab, experiment: Experiment, *, times: int) -> None:
    """The experiment so often, one run after another, each to its end."""
    for _ in range(times):
        async with lab.database.transaction() as session:
            experiment_id = await starting.create(session, lab.operator_id, experiment, lab.clock.now())
            await starting.start(session, experiment_id, lab.clock.now())
        await _ended(lab, experiment_id)


async def _ended(lab: EmbeddedLab, experiment_id: UUID) -> None:
    async def is_over() -> bool:
        async with lab.database.transaction() as session:
            row = await session.one(text("SELECT status FROM experiments WHERE id = :id"), {"id": experiment_id})
        return bool(row.status == "ended")

    await eventually(is_over)
