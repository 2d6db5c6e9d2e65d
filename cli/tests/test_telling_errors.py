"""An error of the lab is told on the terminal once, with the line of a kind of others that it arose in."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import structlog
from rich.console import Console

from parley_lab.cli import running
from parley_lab.cli.lab_logs import logging_to
from parley_lab.cli.running import errors_to
from parley_lab.cli.screen import Screen
from parley_lab.kinds.stages import kinds


def told_of(act: Callable[[], Any], log: Path) -> str:
    """What the terminal shows when this fails twice."""
    output = io.StringIO()
    screen = Screen(Console(file=output, force_terminal=False, highlight=False, soft_wrap=True))
    with logging_to(log, errors_to(screen, log)):
        for _ in range(2):
            try:
                act()
            except AttributeError:
                structlog.get_logger().exception("bus.handler.failed")
    return output.getvalue()


def page_of_nothing() -> None:
    stage: Any = None
    kinds()["info"].page(stage, stage)


def test_an_error_of_a_kind_of_others_is_told_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "brought", lambda: ["info"])

    told = told_of(page_of_nothing, tmp_path / "log")

    assert "The lab had an error (bus.handler.failed) in the kind 'info': AttributeError: " in told
    assert "/stages/info/rules.py, line " in told
    assert told.count("The lab had") == 1


def test_other_errors_are_told_by_their_event(tmp_path: Path) -> None:
    told = told_of(page_of_nothing, tmp_path / "log")

    assert told == f"The lab had an error (bus.handler.failed). Details are in {tmp_path / 'log'}.\n"
