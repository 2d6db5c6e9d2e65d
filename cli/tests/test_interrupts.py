"""Signals, and readers of the output that leave, end a command in order and never its work."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from parley_lab.cli.interrupts import Interrupted, Interrupts
from parley_lab.cli.screen import Screen
from parley_lab.cli.testing import NO_SHOW, BeginParley, line_with, written
from parley_lab.testing.network import free_port


def closed_pipe() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def closed_terminal() -> int:
    terminal, writer = os.openpty()
    os.close(terminal)
    return writer


@pytest.mark.parametrize("left", [closed_pipe, closed_terminal])
def test_a_screen_without_a_reader_is_quiet(left: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> None:
    with os.fdopen(left(), "w", buffering=1) as output:
        monkeypatch.setattr(sys, "stdout", output)
        screen = Screen()

        screen.notice("Finishing what is in hand ...")
        screen.notice("The data are in results")
        monkeypatch.undo()


@pytest.mark.postgres
def test_ctrl_c_writes_the_data_when_the_reader_of_the_output_has_left(
    tmp_path: Path, begin_parley: BeginParley, data_dir: Path
) -> None:
    run = begin_parley("run", written(tmp_path, NO_SHOW), "--data-dir", data_dir, "--port", str(free_port()))
    line_with(run, "Waiting for 1 person")

    run.stdout.close()
    run.send_signal(signal.SIGINT)

    assert run.wait() == 130
    assert list(tmp_path.glob("results/a-group/*/data.json"))


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this platform has no terminals that hang up")
async def test_a_terminal_that_closes_ends_a_command_in_order_however_often_it_hangs_up() -> None:
    told: list[str] = []
    interrupts = Interrupts(on_first=lambda: told.append("first"), before_exit=lambda: told.append("at once"))

    signal.raise_signal(signal.SIGHUP)
    signal.raise_signal(signal.SIGHUP)
    with pytest.raises(Interrupted) as interrupted:
        await interrupts.unless(asyncio.Event().wait)

    assert (interrupted.value.exit_code, told) == (129, ["first"])


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this platform has no terminals that hang up")
async def test_a_command_that_was_told_to_outlive_its_terminal_does() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        Interrupts(on_first=lambda: None, before_exit=lambda: None)

        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
