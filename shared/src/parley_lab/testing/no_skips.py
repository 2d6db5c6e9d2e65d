"""A pytest plugin for CI: with `PARLEY_FORBID_SKIPS=1` a run in which anything was skipped or xfailed fails."""

import os
from collections.abc import Generator
from dataclasses import dataclass, field

import pytest

FORBID_SKIPS_VARIABLE = "PARLEY_FORBID_SKIPS"


def pytest_configure(config: pytest.Config) -> None:
    """Watch the run when the environment asks for it."""
    if os.environ.get(FORBID_SKIPS_VARIABLE) == "1":
        config.pluginmanager.register(SkipWatch(), "parley-no-skips")


# By identity, since pytest keeps its plugins in sets.
@dataclass(eq=False)
class SkipWatch:
    """Collects skipped tests, whole modules included, and fails the run at its end."""

    left_out: dict[str, str] = field(default_factory=dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        # Under xdist only the controller sees every test, and its exit status counts.
        if self.left_out and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(wrapper=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> Generator[None]:
        yield
        if not self.left_out:
            return
        terminalreporter.section(f"skips are forbidden ({FORBID_SKIPS_VARIABLE}=1)", red=True)
        for name, reason in self.left_out.items():
            terminalreporter.line(f"{name}: {reason}")

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped:
            self.left_out[report.nodeid] = reason_of(report)


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why it was skipped or was expected to fail."""
    expected_failure = getattr(report, "wasxfail", None)
    if expected_failure is not None:
        return f"xfailed: {expected_failure}"
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    return str(report.longrepr)
