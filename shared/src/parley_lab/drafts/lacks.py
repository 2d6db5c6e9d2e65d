"""Stores the lacks of the server of a model at an address: a row for each, shared by all workers."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import text

from parley_lab.contracts.models import Lack
from parley_lab.store.session import ReadSession, Session

_LASTS: Final = timedelta(days=7)
"""A server may be replaced by one that can do more: what was learned longer ago is asked for again."""

_ALL = text("SELECT name, lack FROM lacks WHERE learned_at > :since ORDER BY name, lack")
_LEARN = text(
    """
    INSERT INTO lacks (name, lack, learned_at) VALUES (:name, :lack, :now)
    ON CONFLICT (name, lack) DO UPDATE SET learned_at = excluded.learned_at
    """
)
_FORGET = text("DELETE FROM lacks WHERE name NOT LIKE '% at %'")


async def read_lacks(session: ReadSession, now: datetime) -> Mapping[str, frozenset[Lack]]:
    """The known lacks of each model at its address (`key_rules.gate_names`)."""
    found: defaultdict[str, set[Lack]] = defaultdict(set)
    for row in await session.all(_ALL, {"since": now - _LASTS}):
        found[row.name].add(row.lack)
    return {name: frozenset(known) for name, known in found.items()}


async def learn_lack(session: Session, name: str, lack: Lack, now: datetime) -> None:
    """Store what a server has refused; idempotent."""
    await session.run(_LEARN, {"name": name, "lack": lack, "now": now})


async def forget_usual_lacks(session: Session) -> None:
    """Know nothing of addresses that the environment gives: only for a lab that is alone on its database and starts."""
    await session.run(_FORGET)
