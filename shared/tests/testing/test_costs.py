"""What tests cost, and in which order they run."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.testing.costs import Cost
from parley_lab.testing.slow_first import slow_first

WAITING = """
import time
import pytest

@pytest.mark.waits(60, reason="it may be without a processor for long")
def test_computes():
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass

def test_waits():
    time.sleep(0.6)

@pytest.mark.waits(60, reason="that it may")
def test_may_wait():
    time.sleep(0.6)
"""


@pytest.mark.parametrize("processes", [[], ["-n", "2"]])
def test_costs_are_told_and_a_test_that_waits_too_long_fails(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, processes: list[str]
) -> None:
    pytester.makepyprojecttoml('[tool.pytest]\nasyncio_default_fixture_loop_scope = "function"\n')
    pytester.makepyfile(WAITING)
    # However busy this machine is.
    pytester.makeconftest(
        "import os\nfrom parley_lab.testing import costs\ncosts.BUDGET_SECONDS = 0.5\n"
        "os.getloadavg = lambda: (0.0, 0.0, 0.0)\n"
    )

    result = pytester.runpytest_subprocess(
        *processes, "-p", "parley_lab.testing.costs", "-p", "no:cacheprovider", "--costs", "costs.json"
    )

    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*The test has waited*may wait 0 s (*", "*3 tests took * of CPU; the slowest*"])
    told = json.loads((pytester.path / "costs.json").read_text())
    costs = {name.rpartition("::")[2]: Cost(**cost) for name, cost in told.items()}
    assert set(costs) == {"test_computes", "test_waits", "test_may_wait"}
    assert costs["test_computes"].cpu >= 0.3
    assert costs["test_waits"].cpu < 0.3 < 0.6 <= costs["test_waits"].wall


def test_time_without_a_processor_is_no_waiting() -> None:
    assert Cost(wall=30, cpu=10).waited(3) == 0
    assert Cost(wall=30, cpu=10).waited(0.5) == 20
    assert Cost(wall=60, cpu=10).waited(2) == 20


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 6))
def test_every_worker_begins_with_its_share_of_the_slow_tests(slow: list[bool], workers: int) -> None:
    items = [*enumerate(slow)]

    order = slow_first(items, lambda item: item[1], workers)

    assert sorted(order) == items
    others = [item for item in order if not item[1]]
    assert others == sorted(others)
    begins, shares = 0, []
    for number in range(workers):
        size = (len(items) - begins) // (workers - number)
        part = order[begins : begins + size]
        begins += size
        assert part == sorted(part, key=lambda item: not item[1])
        shares.append(sum(is_slow for _, is_slow in part))
    assert max(shares) - min(shares) <= max(1, len(items) % workers)
