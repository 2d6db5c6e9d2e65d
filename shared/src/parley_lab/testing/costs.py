"""A pytest plugin: what each test costs, the slowest at the end, and a budget for the time that a test waits.

A test takes wall time, and CPU time of its process and of those that it has started and that have ended; servers that
all tests share are not in it. What is left of the wall time it has waited, for a server, a timer or a free processor.
"""

import json
import os
import resource
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

import pytest

BUDGET_SECONDS: Final = 20.0
"""What a test may wait that has no `waits` of its own."""
_SLOW: Final = ("slow", "fault")
_BUDGET_OF_SLOW_SECONDS: Final = 120.0
"""The same for those whose marks say that they take long: they start servers, or wait until one is back."""
_MOST_SHOWN: Final = 20
_PROPERTY: Final = "costs"
_begun = pytest.StashKey["Cost"]()


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds."""

    wall: float
    cpu: float

    def since(self, before: "Cost") -> "Cost":
        return Cost(self.wall - before.wall, self.cpu - before.cpu)

    def waited(self, processes_per_processor: float) -> float:
        """How long it has waited for something else than a processor, of which each had so many processes to serve."""
        return max(0.0, self.wall / max(1.0, processes_per_processor) - self.cpu)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--costs", metavar="FILE", type=Path, help="write wall and CPU seconds of all tests to FILE, as JSON"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"waits(seconds, reason): may wait so long; without it a test may wait {BUDGET_SECONDS:.0f} seconds"
    )
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Costs(), "parley-costs")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[_begun] = _spent()
    return (yield)


# The last of the three reports: what the fixtures take before and after belongs to the test.
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "teardown":
        cost = _spent().since(item.stash[_begun])
        report.user_properties.append((_PROPERTY, (cost.wall, cost.cpu)))
        complaint = _complaint(item, cost, os.getloadavg()[0] / (os.cpu_count() or 1))
        if complaint is not None and report.passed:
            report.outcome, report.longrepr = "failed", complaint
    return report


def _complaint(item: pytest.Item, cost: Cost, load: float) -> str | None:
    budget = _budget(item)
    waited = cost.waited(load)
    if waited <= budget:
        return None
    return (
        f"The test has waited {waited:.1f} s and may wait {budget:.0f} s (it took {cost.wall:.1f} s, "
        f"{cost.cpu:.1f} s of CPU, at a load of {load:.1f} per processor). Let it wait for less, or mark it: "
        "@pytest.mark.waits(seconds, reason=...)."
    )


def _budget(item: pytest.Item) -> float:
    if marked := item.get_closest_marker("waits"):
        return float(marked.args[0])
    return _BUDGET_OF_SLOW_SECONDS if any(map(item.get_closest_marker, _SLOW)) else BUDGET_SECONDS


def _spent() -> Cost:
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Cost(perf_counter(), sum(one.ru_utime + one.ru_stime for one in used))


class Costs:
    """Collects the costs of a run, in the process that prints."""

    def __init__(self) -> None:
        self._found: dict[str, Cost] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == _PROPERTY and report.when == "teardown":
                self._found[report.nodeid] = Cost(*value)  # type: ignore[misc]  # as it was appended

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        if not self._found:
            return
        by_wall = sorted(self._found.items(), key=lambda one: one[1].wall, reverse=True)
        cpu = sum(cost.cpu for cost in self._found.values())
        terminalreporter.section(f"{len(by_wall)} tests took {cpu:.0f} s of CPU; the slowest")
        for name, cost in by_wall[:_MOST_SHOWN]:
            terminalreporter.line(f"{cost.wall:7.1f} s {cost.cpu:7.1f} s of CPU  {name}")
        if file := config.getoption("--costs"):
            found = {name: {"wall": round(cost.wall, 3), "cpu": round(cost.cpu, 3)} for name, cost in by_wall}
            Path(file).write_text(json.dumps(found, indent=1) + "\n")
