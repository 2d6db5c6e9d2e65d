"""Uploaded files, read in processes of their own: a file that needs too much time or memory blocks no other request."""

import asyncio
import atexit
import importlib.util
import json
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import orjson
import structlog

from parley_lab.base.errors import Conflict, InvalidInput, Problem, TooLarge
from parley_lab.contracts.experiment import Persona
from parley_lab.design import Draft, FileBeside
from parley_lab.design.editing import Change, Edited
from parley_lab.formats.importing import Choice

log = structlog.get_logger(__name__)

PATIENCE_SECONDS: Final = 60.0
_COMMAND: Final = (sys.executable, "-I", "-m", "parley_lab.formats")
_NOTHING_CAME: Final = "The file needs more memory or time to read than such a file should."

Library = Callable[[Collection[str]], Awaitable[Mapping[str, Persona]]]
"""The personas of a library with these ids; an id that it does not have is left out."""


class Reader:
    """The process from which a fork is made for each file; it starts with the first file and ends with this process.

    `at_once` bounds how many files are read at a time.
    """

    def __init__(self, *, at_once: int, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._patience_seconds = patience_seconds

    async def imported(self, content: bytes, media_type: str, choice: Choice) -> tuple[list[Draft], list[str]]:
        """The experiments in a file of another format, and what was forgiven in it.

        Raises:
            InvalidInput: with everything that is wrong in it.
            TooLarge: it is too large, or takes more time or memory than such a file should.
        """
        outcome = await self._read("import", content, {"media_type": media_type, "choice": asdict(choice)})
        return _drafts(outcome), outcome["warnings"]

    async def experiment(
        self, content: bytes, name: str, find_personas: Library, beside: Mapping[str, FileBeside] | None = None
    ) -> Draft:
        """The experiment in a file; `find_personas` is asked for those that it takes from the library, if any.

        `beside`: the tables, pictures and words that it names.

        Raises:
            InvalidInput, TooLarge: as `imported`.
        """
        files = beside or {}
        # A picture is known by its digest: no one reads it.
        stored = {one: kept for one, held in files.items() if (kept := held.stored_as(one)) is not None}
        read = {one: held.content or b"" for one, held in files.items() if one not in stored}
        options = {"name": name, "stored": stored, "beside": [(one, len(held)) for one, held in read.items()]}
        content = b"".join((content, *read.values()))
        outcome = await self._read("experiment", content, {**options, "library": None})
        if "named" in outcome:
            found = await find_personas(outcome["named"])
            library = {persona_id: persona.model_dump(mode="json") for persona_id, persona in found.items()}
            outcome = await self._read("experiment", content, {**options, "library": library})
        return _drafts(outcome)[0]

    async def personas(self, content: bytes, name: str) -> list[Persona]:
        """Raises: InvalidInput, TooLarge: as `imported`."""
        return await self._personas("personas", content, {"name": name})

    async def persona(self, content: bytes, name: str, persona_id: str) -> Persona:
        """Raises: InvalidInput, TooLarge: as `imported`."""
        return (await self._personas("persona", content, {"name": name, "id": persona_id}))[0]

    async def agent(self, content: bytes, name: str, persona_id: str) -> Persona:
        """The persona that an agent file of PD Arena describes.

        Raises:
            InvalidInput, TooLarge: as `imported`.
        """
        return (await self._personas("agent", content, {"name": name, "id": persona_id}))[0]

    async def edit(self, text: str, name: str, changes: Sequence[Change]) -> Edited:
        """The text of an experiment with these changes.

        Raises:
            InvalidInput: it cannot be read, or not be changed so.
            TooLarge: as `imported`.
        """
        given = json.dumps([(change.path, change.value) for change in changes])
        outcome = await self._read("edit", text.encode(), {"name": name, "changes": given})
        return Edited(outcome["text"], await asyncio.to_thread(json.loads, outcome["value"]))

    async def _personas(self, task: str, content: bytes, options: Mapping[str, str]) -> list[Persona]:
        outcome = await self._read(task, content, options)
        return await asyncio.to_thread(lambda: [Persona.model_validate(one) for one in outcome["personas"]])

    async def _read(self, task: str, content: bytes, options: Mapping[str, Any]) -> dict[str, Any]:
        _require_limits()
        order = orjson.dumps({"task": task, "seconds": self._patience_seconds, "options": options})
        try:
            async with self._slots, asyncio.timeout(self._patience_seconds):
                answer = await _asked(order + b"\n" + content)
        except TimeoutError as error:
            raise TooLarge("The file takes too long to read.") from error
        if not answer:
            log.warning("reading.given_up", task=task)
            raise TooLarge(_NOTHING_CAME)
        outcome: dict[str, Any] = await asyncio.to_thread(orjson.loads, answer)
        if "invalid" in outcome:
            raise InvalidInput(outcome["invalid"], [Problem(**problem) for problem in outcome["problems"]])
        if "too_large" in outcome:
            raise TooLarge(outcome["too_large"])
        if "failed" in outcome:
            raise RuntimeError(f"the reader failed: {outcome['failed']}")
        return outcome


def _drafts(outcome: Mapping[str, Any]) -> list[Draft]:
    # Not read again: a large one would hold up everybody else.
    return [Draft(**fields) for fields in outcome["drafts"]]


def _require_limits() -> None:
    """Raises: Conflict: this system, such as Windows, cannot bound what a process uses."""
    if importlib.util.find_spec("resource") is None:
        raise Conflict(
            "This system cannot limit the memory and time of a file that is sent. Run the file with 'parley run', or "
            "install and run Parley in WSL.",
            reason="no_limits",
        )


async def _asked(order: bytes) -> bytes:
    """What a fork of the reader answers; nothing, if it was ended."""
    own, given = socket.socketpair()
    try:
        with given:
            _parent().send(given)
        own.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=own)
    except BaseException:
        own.close()
        raise
    try:
        writer.write(order)
        writer.write_eof()
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


class _Parent:
    """The process that forks, and the socket by which it is told to."""

    def __init__(self) -> None:
        self._control, given = socket.socketpair()
        with given:
            # No part of our environment goes with it: it needs none, and there are keys in it.
            self._process = subprocess.Popen(_COMMAND, stdin=given.fileno(), stdout=subprocess.DEVNULL, env={})

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def send(self, line: socket.socket) -> None:
        socket.send_fds(self._control, [b"."], [line.fileno()])

    def stop(self) -> None:
        self._control.close()
        self._process.wait()


_started: list[_Parent] = []
"""The one of this process, once it was needed; gateways of one process share it."""


def _parent() -> _Parent:
    if _started and not _started[0].is_running:
        _started.pop().stop()
    if not _started:
        _started.append(_Parent())
        atexit.register(_stop)
    return _started[0]


def _stop() -> None:
    while _started:
        _started.pop().stop()
