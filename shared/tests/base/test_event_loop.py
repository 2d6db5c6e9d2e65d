"""Signals reach the loop on systems whose loop has no handlers for them."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from parley_lab.base.event_loop import call_on_signal


@pytest.fixture
def _restored() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR1)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("_restored")
async def test_a_signal_is_heard_where_the_loop_takes_no_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(asyncio.get_running_loop(), "add_signal_handler", refuse)
    heard = asyncio.Event()
    call_on_signal(signal.SIGUSR1, heard.set)

    os.kill(os.getpid(), signal.SIGUSR1)

    await asyncio.wait_for(heard.wait(), 5)
