"""Commands for tests, in processes forked from one with all modules loaded.

Loading takes three seconds of CPU, more than most commands. `fresh_parley` and `begin_fresh_parley`, and commands at a
terminal, start new processes as users do.
"""

import atexit
import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from signal import Signals
from typing import Final

from parley_lab.cli import main as cli

_LOADED: Final = [
    "parley_lab.cli.chatting",
    "parley_lab.cli.dry_run",
    "parley_lab.cli.library",
    "parley_lab.cli.lifecycle",
    "parley_lab.cli.prompting",
    "parley_lab.cli.running",
    "openai",
    "alembic.command",
    "parley_lab.gateway.app",
    "parley_lab.gateway.server",
]
_STREAMS: Final = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))

Main = Callable[[], int | None]
"""What a command does, with what is in `sys.argv`, and its exit code; a function that its module has by its name."""


@dataclass(frozen=True, slots=True)
class _Work:
    main: Main
    arguments: tuple[str, ...]
    folder: Path
    variables: dict[str, str]


class Begun:
    """A command that runs, used as a `subprocess.Popen`; what it says and warns of comes through `stdout`."""

    def __init__(self, process: BaseProcess, told: Connection) -> None:
        self._process = process
        self.stdout = os.fdopen(os.dup(told.fileno()), encoding="utf-8")
        told.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: Signals) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int:
        self._process.join()
        assert self.returncode is not None
        return self.returncode

    def communicate(self) -> tuple[str, None]:
        """The rest of what it says, once it has ended."""
        rest = self.stdout.read()
        self.wait()
        return rest, None

    def close(self) -> None:
        """Kill it, unless it has ended."""
        self.kill()
        self.wait()
        self.stdout.close()
        self._process.close()


def begin(arguments: Sequence[str], *, folder: Path, variables: Mapping[str, str], main: Main = cli.main) -> Begun:
    """Start one command, in this folder and with only these variables."""
    told, telling = get_context("forkserver").Pipe(duplex=False)
    with telling:
        work = _Work(main, tuple(arguments), folder, dict(variables))
        return Begun(_started(_run_telling, work, telling), told)


def run(
    arguments: Sequence[str],
    *,
    folder: Path,
    variables: Mapping[str, str],
    stdin: str = "",
    main: Main = cli.main,
    seconds: float | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run one command to its end, in this folder and with only these variables.

    Raises:
        subprocess.TimeoutExpired: it took longer than `seconds`, and was killed.
    """
    with tempfile.TemporaryDirectory(prefix="parley-command-") as streams:
        told, said, warned = (Path(streams) / name for name, _ in _STREAMS)
        told.write_text(stdin, encoding="utf-8")
        work = _Work(main, tuple(arguments), folder, dict(variables))
        code = _ended(_started(_run_with_files, work, streams), seconds)
        output, errors = said.read_text(encoding="utf-8"), warned.read_text(encoding="utf-8")
    if code is None:
        raise subprocess.TimeoutExpired(list(arguments), seconds or 0, output, errors)
    return subprocess.CompletedProcess(arguments, code, output, errors)


def context() -> ForkServerContext:
    """Its processes are forked from the one that has all modules loaded."""
    found = get_context("forkserver")
    found.set_forkserver_preload([__name__, *_LOADED])
    return found


def _started(target: Callable[..., None], *arguments: object) -> BaseProcess:
    process = context().Process(target=target, args=arguments)
    process.start()
    return process


def _ended(process: BaseProcess, seconds: float | None) -> int | None:
    """The exit code; None if the process had to be killed."""
    try:
        process.join(seconds)
        return process.exitcode
    finally:
        process.kill()
        process.join()
        process.close()


def _run_with_files(work: _Work, streams: str) -> None:
    for number, (name, mode) in enumerate(_STREAMS):
        with (Path(streams) / name).open(mode) as file:
            os.dup2(file.fileno(), number)
    _run(work)


def _run_telling(work: _Work, telling: Connection) -> None:
    with open(os.devnull, encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 0)
    for number in (1, 2):
        os.dup2(telling.fileno(), number)
    telling.close()
    _run(work)


def _run(work: _Work) -> None:
    # What was loaded before the fork is not looked through again by each command.
    gc.freeze()
    os.chdir(work.folder)
    os.environ.clear()
    os.environ.update(work.variables)
    for number, (name, mode) in enumerate(_STREAMS):
        setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    sys.argv = [str(cli.__file__), *work.arguments]
    try:
        sys.exit(work.main())
    finally:
        # multiprocessing leaves this out at the end of a process.
        atexit._run_exitfuncs()
