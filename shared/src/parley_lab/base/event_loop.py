"""The event loop of every process, and signals in it, on systems with and without uvloop."""

import asyncio
import signal
from collections.abc import Callable


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A loop of uvloop where it is installed, else the selector loop: psycopg needs it, and Windows has another."""
    try:
        import uvloop
    except ImportError:
        return asyncio.SelectorEventLoop()
    return uvloop.new_event_loop()


def call_on_signal(number: signal.Signals, call: Callable[[], object]) -> None:
    """Let the running loop call this at each such signal; only the main thread may."""
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(number, call)
    except NotImplementedError:
        # Windows: the handler of the process itself, which runs between two steps of the loop.
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(call))
