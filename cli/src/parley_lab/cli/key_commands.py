"""The commands about API keys, on the database of a lab, running or not."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID

from parley_lab.base.errors import InvalidInput
from parley_lab.base.event_loop import new_event_loop
from parley_lab.cli.environment import read_servers
from parley_lab.cli.lab_database import LabAtHand
from parley_lab.cli.safe_text import one_line
from parley_lab.store import key_lists, keys, sign_ins
from parley_lab.store.keys import Scope
from parley_lab.store.session import Session

ResultT = TypeVar("ResultT")
_USUAL_ADDRESS: Final = "http://127.0.0.1:8000"


def create(data_dir: Path, name: str, *, scopes: Sequence[Scope], days: int | None, label: str) -> str:
    """A new key for this experimenter, valid for so many days, or until it is revoked."""

    async def work(lab: LabAtHand, session: Session) -> str:
        now = lab.clock.now()
        ends = None if days is None else now + timedelta(days=days)
        return await keys.create_key(session, name, now, scopes=scopes, expires_at=ends, label=label)

    # Programs may be given their key before the lab has run once.
    return _in(data_dir, work, may_make=True)


def console(data_dir: Path, name: str, url: str | None) -> str:
    """The address of the console, with a code that signs in as this experimenter once within ten minutes."""

    async def work(lab: LabAtHand, session: Session) -> str:
        served = url or lab.address() or _USUAL_ADDRESS
        return console_address(served, await sign_ins.make_code(session, name, lab.clock.now()))

    return _in(data_dir, work)


def console_address(url: str, code: str) -> str:
    """The code is behind the #, which browsers send to no server."""
    return f"{url.rstrip('/')}/console#code={code}"


def lines(data_dir: Path) -> list[str]:
    """The keys of everybody, a line for each: id, beginning, experimenter, scopes, state, label."""

    async def work(lab: LabAtHand, session: Session) -> list[str]:
        now = lab.clock.now()
        return [
            _line(one, is_over=one.expires_at is not None and one.expires_at <= now)
            for one in await key_lists.keys_of(session, None)
        ]

    return _in(data_dir, work) or ["This lab has no API keys."]


def _line(key: key_lists.StoredKey, *, is_over: bool) -> str:
    state = "valid until it is revoked"
    if key.revoked_at is not None:
        state = f"revoked {key.revoked_at:%Y-%m-%d}"
    elif key.expires_at is not None:
        state = f"{'expired' if is_over else 'expires'} {key.expires_at:%Y-%m-%d}"
    used = "never used" if key.last_used_at is None else f"used {key.last_used_at:%Y-%m-%d}"
    who, what = one_line(key.experimenter), one_line(key.label)
    parts = (key.id.hex[:8], f"{key.prefix}...", who, "+".join(key.scopes), state, used, what)
    return "  ".join(part for part in parts if part)


def revoke(data_dir: Path, key_id: str) -> str:
    """End the key whose id begins so."""

    async def work(lab: LabAtHand, session: Session) -> str:
        found = [one for one in await key_lists.keys_of(session, None) if one.id.hex.startswith(_hex(key_id))]
        if len(found) != 1:
            which = "No key has" if not found else f"{len(found)} keys have"
            raise InvalidInput(f"{which} an id that begins with {key_id!r}; parley keys list shows them.")
        await key_lists.revoke(session, found[0].id, None, lab.clock.now())
        return f"The key {found[0].prefix}... of {found[0].experimenter} is refused from now on."

    return _in(data_dir, work)


def _hex(key_id: str) -> str:
    try:
        return UUID(key_id).hex
    except ValueError:
        return key_id.strip().lower() or "none"


def _in(data_dir: Path, work: Callable[[LabAtHand, Session], Awaitable[ResultT]], *, may_make: bool = False) -> ResultT:
    async def decided() -> ResultT:
        async with (
            LabAtHand(data_dir, servers=read_servers(), may_make=may_make) as lab,
            lab.database.transaction() as session,
        ):
            return await work(lab, session)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(decided())
