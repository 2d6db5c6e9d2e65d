"""The guest list of an experiment: the external ids that may join. Without a list everybody may, with an empty one no
one may."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.errors import Conflict, InvalidInput, Problem
from parley_lab.members.person_ids import comparable, without_margins
from parley_lab.people.link_values import is_placeholder
from parley_lab.store import tables
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import Row

# A server of an earlier version stores guests without the mark.
_LIST: Final = text(
    """
    SELECT e.has_guest_list OR EXISTS (SELECT FROM guests g WHERE g.experiment_id = e.id) AS has_list,
        (SELECT count(*) FROM guests g WHERE g.experiment_id = e.id AND g.external_id = '') AS forgotten
    FROM experiments e WHERE e.id = :experiment_id
    """
)
_FIND: Final = text("SELECT external_id FROM guests WHERE experiment_id = :experiment_id AND compared = :compared")


async def has_guest_list(session: ReadSession, experiment_id: UUID) -> bool:
    found: bool = (await session.one(_LIST, {"experiment_id": experiment_id})).has_list
    return found


async def person_of(session: ReadSession, experiment_id: UUID, external_id: str | None) -> str | None:
    """Who comes with this id: as the guest list has it, else without its margins; None when nothing is left of it."""
    own = None if external_id is None else without_margins(external_id)
    if not own:
        return None
    guest = await session.first(_FIND, {"experiment_id": experiment_id, "compared": comparable(own)})
    return own if guest is None else str(guest.external_id)


async def require_guest(session: ReadSession, experiment_id: UUID, external_id: str | None) -> None:
    """Raises:
    Conflict: the experiment has a guest list, and this id is not on it.
    """
    if not await has_guest_list(session, experiment_id):
        return
    known = {"experiment_id": experiment_id, "compared": comparable(external_id or "")}
    if await session.first(_FIND, known) is None:
        raise Conflict(
            "This study is for people who were invited, and your id is not among theirs. Open the link that you got.",
            reason="not_invited",
        )


_LOCK: Final = text("SELECT status FROM experiments WHERE id = :experiment_id FOR NO KEY UPDATE")
_MARK: Final = text("UPDATE experiments SET has_guest_list = :has_list WHERE id = :experiment_id")
_CLEAR: Final = text("DELETE FROM guests WHERE experiment_id = :experiment_id")


async def replace_guests(session: Session, experiment_id: UUID, external_ids: Sequence[str], now: datetime) -> None:
    """Let these people join and no others; an empty list lets no one. A person who has joined keeps their place.

    Ids that differ only in spaces and characters that no one sees are one guest, as the first of them is written.

    Raises:
        InvalidInput: one of the ids is blank, or a placeholder.
        Conflict: the experiment has ended.
    """
    _require_ids(external_ids)
    await _clear(session, experiment_id, has_list=True)
    guests: dict[str, str] = {}
    for one in external_ids:
        guests.setdefault(comparable(one), without_margins(one))
    rows = [
        {"experiment_id": experiment_id, "compared": key, "place": place, "external_id": guest, "added_at": now}
        for place, (key, guest) in enumerate(guests.items())
    ]
    await session.insert(tables.guests, rows)


async def let_everybody(session: Session, experiment_id: UUID) -> None:
    """Take the list away: everybody may join. Idempotent.

    Raises:
        Conflict: the experiment has ended.
    """
    await _clear(session, experiment_id, has_list=False)


async def _clear(session: Session, experiment_id: UUID, *, has_list: bool) -> None:
    whose = {"experiment_id": experiment_id}
    if (await session.one(_LOCK, whose)).status == "ended":
        raise Conflict("This experiment has ended: nobody can join it any more.", reason="not_running")
    await session.run(_MARK, {**whose, "has_list": has_list})
    await session.run(_CLEAR, whose)


def _require_ids(external_ids: Sequence[str]) -> None:
    problems = [
        Problem(f"guests[{place}]", repr(one), "the id of a person")
        for place, one in enumerate(external_ids)
        if not comparable(one) or is_placeholder(one)
    ]
    if problems:
        raise InvalidInput("The guest list has entries that are no ids.", problems)


_GUESTS: Final = text(
    """
    SELECT g.external_id, m.id AS member_id, m.path, m.status, m.joined_at
    FROM guests g LEFT JOIN LATERAL (
        SELECT o.* FROM (
            SELECT m.id, m.path, m.status, m.joined_at FROM members m
            WHERE m.experiment_id = g.experiment_id AND m.compared_id = g.compared AND m.external_id IS NOT NULL
            UNION ALL SELECT m.id, m.path, m.status, m.joined_at FROM members m
            WHERE m.experiment_id = g.experiment_id AND m.external_id = g.external_id AND m.compared_id IS NULL
        ) o ORDER BY o.joined_at LIMIT 1
    ) m ON true
    WHERE g.experiment_id = :experiment_id AND g.external_id <> '' ORDER BY g.place
    """
)


async def guests_of(session: ReadSession, experiment_id: UUID) -> Sequence[Row]:
    """The guests in the order of the list, each with the member who came.

    Guests of whom nothing is kept have no id any more, and are not among them (`forgotten_guests`).
    """
    return await session.all(_GUESTS, {"experiment_id": experiment_id})


async def forgotten_guests(session: ReadSession, experiment_id: UUID) -> int:
    """How many guests are on the list of whom nothing is kept."""
    found: int = (await session.one(_LIST, {"experiment_id": experiment_id})).forgotten
    return found
