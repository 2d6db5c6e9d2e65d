"""A short storm; a quick one, which kills two services, is in `test_rolling_restart.py`."""

from pathlib import Path

import pytest

from parley_lab.testing.rabbitmq_node import programs
from tests.storms.lab import lab
from tests.storms.report import verdict
from tests.storms.storm import Plan, Storm

pytestmark = [pytest.mark.slow, pytest.mark.fault, pytest.mark.long]

# A worker, a gateway and a prompt-builder are killed, the broker's connections are cut, Postgres ends its own.
A_FEW_FAULTS = Plan(seed=130, messages=40, faults=5, groups={"kill", "broker", "postgres", "endpoint"}, at_once=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the suite's own servers live."""
    if programs() is None:
        pytest.skip("no rabbitmq-server is on the PATH, which the suite could kill")
    return tmp_path


@pytest.mark.timeout(600)
@pytest.mark.waits(400, reason="servers and nine processes start, and faults take their time")
async def test_nothing_is_lost_or_doubled_and_no_member_is_stuck_after_a_few_faults(folder: Path) -> None:
    async with lab(folder, A_FEW_FAULTS.seed) as running:
        outcome = await Storm(running, A_FEW_FAULTS).run()

    assert not outcome.findings, verdict(outcome)
    assert not outcome.broken
    assert outcome.messages >= A_FEW_FAULTS.messages
    assert len(outcome.struck) == A_FEW_FAULTS.faults
