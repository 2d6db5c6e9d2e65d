"""A RabbitMQ node of the tests' own, of the program that is installed; no command here reaches another node."""

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path
from time import monotonic, sleep
from typing import Final
from urllib.parse import urlsplit

from parley_lab.testing.network import free_port

_START_SECONDS: Final = 300.0
"""Many times what it takes on a machine with nothing else to do."""
_ANSWER_SECONDS: Final = 5.0
_OPENING: Final = b"AMQP\x00\x00\x09\x01"
# Each connection and each queue is a file to the broker; many systems allow 1,024 unless told otherwise.
_WITH_MANY_FILES: Final = 'ulimit -S -n 20000 2>/dev/null || ulimit -S -n "$(ulimit -H -n)"; exec "$0"'


class NodeDoesNotStart(Exception):
    """The message is the end of what the node has said."""


def programs() -> Path | None:
    """The folder of RabbitMQ's programs; None where the PATH does not lead to one.

    What Debian puts on the PATH is a link to a wrapper, which keeps none of the environment.
    """
    found = shutil.which("rabbitmq-server")
    folder = Path(found).resolve().parent if found else None
    return folder if folder is not None and (folder / "rabbitmq-server").exists() else None


def speaks_amqp(url: str) -> bool:
    """Whether a broker answers at this address; one that starts accepts connections earlier."""
    parts = urlsplit(url)
    try:
        with socket.create_connection(
            (parts.hostname or "", parts.port or 5672), timeout=_ANSWER_SECONDS
        ) as connection:
            connection.sendall(_OPENING)
            return bool(connection.recv(1))
    except OSError:
        return False


class RabbitNode:
    """A node whose data are in `folder`; it may be ended and started again."""

    def __init__(self, folder: Path) -> None:
        found = programs()
        if found is None:
            raise NodeDoesNotStart("no rabbitmq-server is on the PATH")
        folder.mkdir(parents=True, exist_ok=True)
        self._programs, self._folder = found, folder
        self.port = free_port()
        self._name = f"parley-tests-{self.port}@localhost"
        (folder / "rabbitmq.conf").write_text(f"listeners.tcp.1 = 127.0.0.1:{self.port}\n")
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "RABBITMQ_NODENAME": self._name,
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            # Its threads wait for work without keeping processors busy, which tests need.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+sbwt none +sbwtdcpu none +sbwtdio none",
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}/"

    def start(self) -> None:
        """Return once it takes connections.

        Raises:
            NodeDoesNotStart: it has ended, or says nothing for minutes.
        """
        with (self._folder / "out").open("ab") as out:
            # Where it crashes, it leaves the image of its memory in its working directory.
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _WITH_MANY_FILES, self._programs / "rabbitmq-server"],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        deadline = monotonic() + _START_SECONDS
        while not speaks_amqp(self.url):
            if self._process.poll() is not None or monotonic() > deadline:
                raise NodeDoesNotStart((self._folder / "out").read_text(errors="replace")[-2000:])
            sleep(0.2)

    def end(self, number: signal.Signals) -> None:
        """Send the signal to the script and to the virtual machine that it has started; returns when it has ended."""
        if self._process is not None:
            os.killpg(self._process.pid, number)
            self._process.wait()
            self._process = None

    def control(self, *arguments: str) -> None:
        """Run `rabbitmqctl` for this node."""
        command = [str(self._programs / "rabbitmqctl"), "--node", self._name, *arguments]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
