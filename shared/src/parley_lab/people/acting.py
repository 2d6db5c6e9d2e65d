"""Whom an act on many members is about."""

from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.lives import STILL_IN, in_sql
from parley_lab.store.session import ReadSession, Session

_PEOPLE: Final = text(
    f"""
    SELECT id FROM members WHERE experiment_id = :experiment_id AND player = 'person' AND status IN {in_sql(STILL_IN)}
    ORDER BY length(path), path COLLATE "C"
    """  # noqa: S608 - put together from constants
)
_AMONG: Final = text("SELECT id FROM members WHERE experiment_id = :experiment_id AND id = ANY(:ids)")
_OF_COHORT: Final = text(
    "SELECT id FROM members WHERE cohort_id = :cohort_id AND (:with_mediators OR kind = 'participant') ORDER BY id"
)
_STATUS: Final = text("SELECT status FROM members WHERE id = :member_id")
_RENAME: Final = text("UPDATE cohorts SET name = :name WHERE id = :cohort_id")


async def people_of(session: ReadSession, experiment_id: UUID) -> Sequence[UUID]:
    """All people of an experiment who have joined and have not come to an end."""
    return [row.id for row in await session.all(_PEOPLE, {"experiment_id": experiment_id})]


async def among(session: ReadSession, experiment_id: UUID, ids: Collection[UUID]) -> frozenset[UUID]:
    """Those of the ids that are members of this experiment."""
    rows = await session.all(_AMONG, {"experiment_id": experiment_id, "ids": list(ids)})
    return frozenset(row.id for row in rows)


async def members_of(session: ReadSession, cohort_id: UUID, *, with_mediators: bool) -> Sequence[UUID]:
    """The members of a cohort in the order in which their locks are taken."""
    rows = await session.all(_OF_COHORT, {"cohort_id": cohort_id, "with_mediators": with_mediators})
    return [row.id for row in rows]


async def status_of(session: ReadSession, member_id: UUID) -> str | None:
    row = await session.first(_STATUS, {"member_id": member_id})
    return None if row is None else row.status


async def rename(session: Session, cohort_id: UUID, name: str) -> None:
    await session.run(_RENAME, {"cohort_id": cohort_id, "name": name})
