"""The servers of one run of tests: the first test that needs one has it started, and all processes use it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from multiprocessing.connection import Client, Listener
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Final, Protocol

from parley_lab.testing import services
from parley_lab.testing.services import NoServer, Server

_KEY: Final = b"a run of tests"
"""The socket is in a folder that only its owner may enter."""
_WAYS: Final[Mapping[str, Callable[[], AbstractContextManager[Server]]]] = {
    "PostgreSQL": services.migrated_postgres,
    "RabbitMQ": services.rabbitmq_of_a_run,
}


class RunServers(Protocol):
    """Where a process of the run gets its servers."""

    def get(self, name: str) -> Server:
        """The server of this name, started if it is the first time.

        Raises:
            NoServer: there is none here.
        """
        ...


class Keeper:
    """Starts servers in the process in which the run began, and stops them with `close`."""

    def __init__(self) -> None:
        self._running = ExitStack()
        self._found: dict[str, Server | NoServer] = {}
        self._listener: Listener | None = None

    def get(self, name: str) -> Server:
        found = self._find(name)
        if isinstance(found, NoServer):
            raise found
        return found

    def _find(self, name: str) -> Server | NoServer:
        if name not in self._found:
            try:
                self._found[name] = self._running.enter_context(_WAYS[name]())
            except NoServer as error:
                self._found[name] = error
        return self._found[name]

    def address(self) -> str:
        """Where other processes of the run ask (`Asking`); from the first call on a thread answers them."""
        if self._listener is None:
            folder = self._running.enter_context(TemporaryDirectory(prefix="parley-run-"))
            self._listener = Listener(str(Path(folder) / "socket"), "AF_UNIX", authkey=_KEY)
            answering = Thread(target=self._answer, args=(self._listener,), name="servers of the run", daemon=True)
            answering.start()
            self._running.callback(self._stop_answering, self._listener, answering)
        return str(self._listener.address)

    def _answer(self, listener: Listener) -> None:
        while True:
            with listener.accept() as asking:
                name = asking.recv()
                if name is None:
                    return
                try:
                    asking.send(self._find(name))
                except Exception as error:  # noqa: BLE001 - told to the test that asked
                    asking.send(error)

    def _stop_answering(self, listener: Listener, answering: Thread) -> None:
        with Client(str(listener.address), "AF_UNIX", authkey=_KEY) as asking:
            asking.send(None)
        answering.join()
        listener.close()

    def close(self) -> None:
        self._running.close()


class Asking:
    """Asks the `Keeper` of the run, which is in another process."""

    def __init__(self, address: str) -> None:
        self._address = address

    def get(self, name: str) -> Server:
        with Client(self._address, "AF_UNIX", authkey=_KEY) as asking:
            asking.send(name)
            found = asking.recv()
        if isinstance(found, Exception):
            raise found
        assert isinstance(found, Server)
        return found
