"""Child processes of a benchmark: started with an environment, watched for CPU, ended by their own handle."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Self

import httpx2

ROOT = Path(__file__).resolve().parent.parent
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PATIENCE_SECONDS = 90.0
_UTIME, _STIME = 11, 12  # after the name, which may hold blanks: see proc(5), /proc/[pid]/stat


class StartFailed(Exception):
    """A process ended, or did not get ready in time; the message holds its last words."""


class Service:
    """One process of ours, whose output goes to a file; `with` ends it by SIGTERM, or by SIGKILL after 10 s."""

    def __init__(self, name: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._output: IO[bytes] = TemporaryFile()  # noqa: SIM115 - closed with the process
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=self._where_it_speaks(),
            stderr=self._output,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
        self._output.close()

    def _where_it_speaks(self) -> IO[bytes] | int:
        return self._output

    def last_words(self) -> str:
        self._output.seek(0)
        return self._output.read().decode(errors="replace")[-3000:]

    def wait_for_http(self, url: str) -> None:
        """Return when the address answers 200. Raises: StartFailed."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            with suppress(httpx2.TransportError):
                if httpx2.get(url).status_code == 200:
                    return
            time.sleep(0.05)
        raise StartFailed(f"{self.name} did not get ready at {url}:\n{self.last_words()}")


class Tool(Service):
    """A process that one talks with, line by line."""

    def ask(self, text: bytes) -> str:
        self.write(text + b"\n")
        return self.line()

    def write(self, text: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def tell_all(self, text: bytes) -> None:
        """Write, and say that nothing more will come."""
        self.write(text)
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.stdin = None

    def line(self) -> str:
        """The next line that it says. Raises: StartFailed when it has ended."""
        assert self.process.stdout is not None
        found: bytes = self.process.stdout.readline()
        if not found:
            raise StartFailed(f"{self.name} has ended:\n{self.last_words()}")
        return found.decode().rstrip("\n")

    def _where_it_speaks(self) -> IO[bytes] | int:
        return subprocess.PIPE


def cpu_seconds(pid: int) -> float:
    """CPU time that the process has used so far, user and system; nothing when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[_UTIME]) + int(fields[_STIME])) / _TICKS_PER_SECOND


@contextmanager
def fake_model(latency_seconds: float, *, always_speaks: bool = False) -> Iterator[tuple[str, int]]:
    """The base URL and the process of a fake endpoint; with `always_speaks` its agents never decline or leave."""
    arguments = ["-m", "parley_lab.testing.fake_endpoint", "--port", "0", "--latency", str(latency_seconds)]
    talkative = ["--ready-rate", "0", "--silence-rate", "0"] if always_speaks else []
    with Tool("fake endpoint", [*arguments, *talkative]) as endpoint:
        yield endpoint.line().rpartition("=")[2], endpoint.process.pid
