"""A pytest plugin: a run ends with the number of tests that were left out, by reason."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import pytest

from parley_lab.testing.no_skips import reason_of

_MARKS: Final = ("crewai", "docker", "network", "kubectl", "history", "real_model", "grid", "long")
"""By which `make test` leaves tests out; what a person leaves out with `-k` or `-m` is not counted."""
_deselected = pytest.StashKey[Counter[str]]()
_skipped = pytest.StashKey[Counter[str]]()


def pytest_configure(config: pytest.Config) -> None:
    for key in (_deselected, _skipped):
        config.stash[key] = Counter[str]()
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Watch(config), "parley-left-out")


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if mark := next(filter(item.get_closest_marker, _MARKS), None):
            item.config.stash[_deselected][f"marked {mark}"] += 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        found = session.config.stash[_deselected]
        session.config.workeroutput["parley_deselected"] = dict(found)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Every process of xdist has left out the same tests."""
    told = getattr(node, "workeroutput", {}).get("parley_deselected", {})
    config: pytest.Config = node.config  # type: ignore[attr-defined]  # xdist need not be installed
    config.stash[_deselected].update(Counter(told) - config.stash[_deselected])


class _Watch:
    """In the process that prints: under xdist every other one reports to it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped:
            self._config.stash[_skipped][reason_of(report)] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        found = self._config.stash[_deselected] + self._config.stash[_skipped]
        if found:
            terminalreporter.section(f"{found.total()} tests were left out")
            for reason, count in found.most_common():
                terminalreporter.line(f"{count:5} {reason}")
