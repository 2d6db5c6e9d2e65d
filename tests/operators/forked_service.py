"""A service as a process forked from one with all services loaded: its start costs a tenth of the CPU of a new one."""

import gc
import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from signal import Signals

from parley_lab.cli import forked


class ForkedService:
    """A service that runs, used as a `subprocess.Popen`; what it says is in its log."""

    def __init__(self, module: str, environment: Mapping[str, str], log: Path, first: Callable[[], None]) -> None:
        self._process = forked.context().Process(target=_become, args=(module, dict(environment), str(log), first))
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self._process.exitcode
        assert code is not None, f"process {self.pid} has not ended"
        return code


def nothing() -> None:
    """Do nothing."""


def begin(
    module: str, environment: Mapping[str, str], log: Path, *, first: Callable[[], None] = nothing
) -> ForkedService:
    """Start the service of this module with only these variables, in the folder of its log.

    `first` runs in the process before the service does; a function of a module.
    """
    return ForkedService(module, environment, log, first)


def _become(module: str, environment: Mapping[str, str], log: str, first: Callable[[], None]) -> None:
    # No service looks through the modules that were loaded before the fork.
    gc.freeze()
    out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.chdir(Path(log).parent)
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number in (1, 2):
        os.dup2(out, number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
    first()
    code: int = import_module(f"{module}.__main__").main()
    sys.stdout.flush()
    os._exit(code)


def end(service: ForkedService, number: Signals) -> None:
    """Send the signal and wait for the end."""
    service.send_signal(number)
    service.wait(30)
