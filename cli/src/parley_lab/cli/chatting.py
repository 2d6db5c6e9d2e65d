"""`parley chat`: a test chat with a persona in the terminal, in an embedded lab."""

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Final, TypeVar
from uuid import uuid4

from parley_lab.base.errors import InvalidInput, NotFound
from parley_lab.base.event_loop import new_event_loop
from parley_lab.base.meant_names import unknown
from parley_lab.base.settings import ServerSettings
from parley_lab.base.storable import is_storable_text
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.cli.environment import read_servers
from parley_lab.cli.experiment_file import Models, content_of, problems_of, read_file, refuse
from parley_lab.cli.interrupts import Interrupted, Interrupts
from parley_lab.cli.lab_logs import logging_to
from parley_lab.cli.running import errors_to, while_ours
from parley_lab.cli.screen import Screen
from parley_lab.contracts.experiment import Persona
from parley_lab.design import read_personas
from parley_lab.design.persona_chat import chat_with, why_no_reply
from parley_lab.experiments import persona_chats, personas
from parley_lab.experiments.persona_chats import Chat, Line
from parley_lab.store.session import Session

ResultT = TypeVar("ResultT")

FINISHED: Final = 0
UNANSWERED: Final = 1
"""A message has no reply because the model failed."""

_LOOK_SECONDS: Final = 0.1
_LONGEST_MESSAGE: Final = 10_000
_CHUNK_BYTES: Final = 65536
_COMMANDS: Final = "/history shows what was said, /clear begins anew, /quit ends."


class TypedLines:
    """The lines from a file descriptor, each once; belongs to a running loop.

    A daemon thread reads them, so the end of the process need not wait for a line.
    """

    def __init__(self, descriptor: int) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        Thread(target=self._read, args=(descriptor,), daemon=True).start()

    async def next(self) -> str | None:
        """The next line without its end; None when there are no more."""
        line = await self._lines.get()
        if line is None:
            self._lines.put_nowait(None)
        return line

    def _read(self, descriptor: int) -> None:
        rest = b""
        # The loop may be closed before the user has typed the line.
        with suppress(RuntimeError):
            while chunk := _chunk(descriptor):
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    self._tell(line)
            if rest:
                self._tell(rest)
            self._loop.call_soon_threadsafe(self._lines.put_nowait, None)

    def _tell(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").removesuffix("\r")
        self._loop.call_soon_threadsafe(self._lines.put_nowait, text)


def _chunk(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK_BYTES)
    except OSError:
        return b""


@dataclass(frozen=True, slots=True)
class ChatOrder:
    """What the user asked for. `file` None: the persona is in the library."""

    persona_id: str
    file: Path | None
    models: Models
    data_dir: Path

    @property
    def name(self) -> str:
        """The name under which the chat is stored."""
        return self.persona_id if self.file is None else f"{self.file.resolve()}#{self.persona_id}"


def execute(order: ChatOrder) -> int:
    """Chat until the user ends it, and return the exit code.

    Raises:
        ParleyError: the lab refused the chat.
    """
    servers = read_servers()
    persona = None if order.file is None else _let_through(order, persona_in(order.file, order.persona_id))
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_execute(order, persona, servers))


def persona_in(file: Path, persona_id: str) -> Persona:
    """The persona with this id in an experiment file or a persona file.

    Raises:
        InvalidInput: the file has problems, or lacks the persona.
    """
    experiment_file = read_file(file)
    is_experiment = isinstance(experiment_file.values, Mapping) and "stages" in experiment_file.values
    if is_experiment:
        named = set(experiment_file.named)
        found = [one for one in experiment_file.sketch().personas if one.id not in named]
    else:
        found = list(read_personas(content_of(file), str(file)))
    by_id = {one.id: one for one in found}
    if persona_id not in by_id:
        problem = unknown("PERSONA", persona_id, by_id, "persona")
        raise InvalidInput(f"{file} does not define this persona.", [problem])
    return by_id[persona_id]


def _let_through(order: ChatOrder, persona: Persona) -> Persona:
    """The persona, if its model may be called.

    Raises:
        InvalidInput: its model may not be called.
    """
    chat = chat_with(persona, order.models)
    refuse(problems_of(order.models, chat, os.environ, requested_real=order.models == "real"))
    return persona


async def _execute(order: ChatOrder, persona: Persona | None, servers: ServerSettings) -> int:
    lab = EmbeddedLab(order.data_dir, servers=servers, environ=os.environ, port=None, mock_only=order.models == "mock")
    lab.directory.make()
    with Screen() as screen, logging_to(lab.directory.log, errors_to(screen, lab.directory.log)):
        interrupts = Interrupts(on_first=lambda: screen.notice(""), before_exit=lab.stop_postgres)
        screen.notice("Starting the lab ...", style="dim")
        async with lab:
            conversation = _Conversation(order, lab, screen, persona)
            try:
                return await interrupts.unless(lambda: while_ours(lab, conversation.to_its_end()))
            except Interrupted as interrupted:
                return interrupted.exit_code


class _Conversation:
    """One person at a terminal and one persona."""

    def __init__(self, order: ChatOrder, lab: EmbeddedLab, screen: Screen, persona: Persona | None) -> None:
        self._order = order
        self._lab = lab
        self._screen = screen
        self._persona = persona
        self._exit_code = FINISHED

    async def to_its_end(self) -> int:
        persona = self._persona or _let_through(self._order, await self._from_library())
        self._name = persona.profile.name or persona.id
        await self._lab.database.transact(self._go_on)
        await self._greet()
        lines = TypedLines(sys.stdin.fileno())
        while (line := await self._typed(lines)) is not None and line != "/quit":
            await self._obey(persona, line)
        return self._exit_code

    async def _from_library(self) -> Persona:
        async def work(session: Session) -> Persona:
            return (await personas.find(session, self._lab.operator_id, self._order.persona_id)).persona

        try:
            return await self._lab.database.transact(work)
        except NotFound as error:
            raise NotFound(f"{error.message} A persona of a file is found with --file.") from error

    async def _greet(self) -> None:
        chat = await self._answered()
        said = len(chat.lines) if chat else 0
        so_far = f" You have exchanged {said} messages so far." if said else ""
        self._screen.notice(
            f"You talk with {self._name}, with {self._order.models} models.{so_far} {_COMMANDS}", style="bold"
        )

    async def _typed(self, lines: TypedLines) -> str | None:
        """The next line that is not blank; piped input is echoed like typed input."""
        is_typed = sys.stdin.isatty()
        while True:
            if is_typed:
                self._screen.prompt("You: ")
            line = await lines.next()
            if line is None:
                return None
            if line.strip():
                break
        if not is_typed:
            self._screen.spoke("You", line)
        return line.strip()

    async def _obey(self, persona: Persona, line: str) -> None:
        if line == "/history":
            await self._show_history()
        elif line == "/clear":
            await self._lab.database.transact(self._clear)
            self._screen.notice("What was said is forgotten.")
        elif line.startswith("/"):
            self._screen.problem(f"There is no such command. {_COMMANDS}")
        elif len(line) > _LONGEST_MESSAGE or not is_storable_text(line):
            self._screen.problem(f"A message has at most {_LONGEST_MESSAGE} characters, and no NUL among them.")
        else:
            await self._say(persona, line)

    async def _show_history(self) -> None:
        chat = await self._answered()
        for line in chat.lines if chat else ():
            self._show(line)
        if not chat or not chat.lines:
            self._screen.notice("Nothing was said yet.")

    async def _go_on(self, session: Session) -> None:
        """Wait for a reply that is still awaited from last time."""
        await persona_chats.go_on(session, self._lab.operator_id, self._order.name, self._lab.clock.now())

    async def _clear(self, session: Session) -> None:
        await persona_chats.clear(session, self._lab.operator_id, self._order.name, self._lab.clock.now())

    async def _say(self, persona: Persona, text: str) -> None:
        key = uuid4().hex

        async def work(session: Session) -> Line:
            return await persona_chats.say(
                session,
                self._lab.operator_id,
                self._order.name,
                persona,
                text,
                self._lab.clock.now(),
                client_key=key,
                mode=self._order.models,
            )

        said = await self._lab.database.transact(work)
        chat = await self._answered(after_seq=said.seq - 1)
        for line in chat.lines if chat else ():
            if line.failure is not None:
                self._exit_code = UNANSWERED
            if line.failure is not None or line.is_persona:
                self._show(line, with_own=False)

    def _show(self, line: Line, *, with_own: bool = True) -> None:
        if line.is_persona or with_own:
            self._screen.spoke(self._name if line.is_persona else "You", line.text)
        if line.failure is not None:
            self._screen.problem(why_no_reply(line.failure))

    async def _answered(self, *, after_seq: int = 0) -> Chat | None:
        """The chat, once it awaits no reply."""

        async def work(session: Session) -> Chat | None:
            return await persona_chats.find(session, self._lab.operator_id, self._order.name, after_seq=after_seq)

        while True:
            chat = await self._lab.database.transact(work)
            if chat is None or not chat.is_awaiting_reply:
                return chat
            await asyncio.sleep(_LOOK_SECONDS)
