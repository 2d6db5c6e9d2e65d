"""The commands of the persona library: the one of the operator, in the database of the lab in `data_dir`."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID

from parley_lab.base.clock import SystemClock
from parley_lab.base.errors import InvalidInput
from parley_lab.base.event_loop import new_event_loop
from parley_lab.cli.environment import read_servers
from parley_lab.cli.experiment_file import content_of
from parley_lab.cli.lab_database import LabAtHand
from parley_lab.cli.safe_text import one_line
from parley_lab.contracts.experiment import Persona
from parley_lab.design import read_personas, write_personas
from parley_lab.design.personas import Format
from parley_lab.experiments import personas
from parley_lab.experiments.personas import StoredPersona
from parley_lab.formats.arena import first_agents, read_agent, write_agent
from parley_lab.store.session import Session

ResultT = TypeVar("ResultT")
_LONGEST_TEXT: Final = 60


def look_up(data_dir: Path, ids: Iterable[str]) -> dict[str, Persona]:
    """The named personas that are in the library, by id.

    Raises:
        InvalidInput: there is no lab in this directory, and the environment names none.
    """
    wanted = sorted(ids)
    if read_servers().database_url is None and not data_dir.is_dir():
        names = ", ".join(wanted)
        raise InvalidInput(
            f"There is no lab in {data_dir}, so no library that could have: {names}. Name the directory of a lab with "
            f"--data-dir, or put the personas there first: parley personas import FILE --data-dir {data_dir}"
        )
    return _in_library(data_dir, lambda session, owner_id: personas.find_some(session, owner_id, wanted))


def lines(data_dir: Path) -> list[str]:
    """The library as text, a line for each persona."""
    stored = _all(data_dir)
    width = max((len(one.persona.id) for one in stored), default=0)
    return [_line(one.persona, width) for one in stored] or ["The persona library is empty."]


def take_in(data_dir: Path, file: Path) -> str:
    """Import a persona file; returns a message about its personas.

    Raises:
        TooLarge: the file is too large.
        InvalidInput: with all problems; nothing is stored.
    """
    return _put(data_dir, read_personas(content_of(file), str(file)), str(file))


def begin_arena(data_dir: Path) -> str:
    """Put the agents of a new arena into the library; returns a message about them."""
    return _put(data_dir, first_agents(), "The first agents of an arena")


def take_in_agent(data_dir: Path, file: Path, persona_id: str) -> str:
    """Import one agent file as a persona with this id.

    Raises:
        TooLarge: the file is too large.
        InvalidInput: with all problems.
    """
    return _put(data_dir, [read_agent(content_of(file), str(file), persona_id)], str(file))


def give_away_agent(data_dir: Path, persona_id: str) -> str:
    """One persona of the library as an agent file.

    Raises:
        NotFound: the library has no such persona.
        InvalidInput: an agent file cannot express it.
    """
    stored = _in_library(data_dir, lambda session, owner_id: personas.find(session, owner_id, persona_id))
    return write_agent(stored.persona)


def _put(data_dir: Path, imported: Sequence[Persona], source: str) -> str:
    now = SystemClock().now()
    outcomes = _in_library(data_dir, lambda session, owner_id: personas.put(session, owner_id, imported, now))
    counts = (f"{list(outcomes.values()).count(word)} {word}" for word in ("created", "replaced", "unchanged"))
    return f"{source}: {', '.join(counts)}."


def give_away(data_dir: Path, form: Format) -> str:
    """The library as a persona file."""
    return write_personas([one.persona for one in _all(data_dir)], form)


def write(path: Path, content: str) -> None:
    """Raises:
    InvalidInput: the file cannot be written.
    """
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror or error}.") from error


def _all(data_dir: Path) -> Sequence[StoredPersona]:
    return _in_library(data_dir, personas.list_of)


def _in_library(data_dir: Path, work: Callable[[Session, UUID], Awaitable[ResultT]]) -> ResultT:
    async def in_lab() -> ResultT:
        # The library may be filled before the lab has run once.
        lab = LabAtHand(data_dir, servers=read_servers(), may_make=True)
        async with lab, lab.database.transaction() as session:
            return await work(session, lab.operator_id)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(in_lab())


def _line(persona: Persona, width: int) -> str:
    text = one_line(persona.text or persona.backstory)
    shown = text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."
    parts = (persona.id.ljust(width), one_line(persona.profile.name), persona.model.model, shown)
    return "  ".join(part for part in parts if part).rstrip()
