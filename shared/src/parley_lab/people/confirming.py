"""People confirm that they are there before a group is made of them, where the file asks for it.

Each is asked by themself: a group is made once all of it have confirmed, and a person who does not is passed over until
they do. So nothing is held that would have to be given back.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.experiment import CohortPlan
from parley_lab.store.session import Session

CONFIRMED_SECONDS: Final = 60.0
"""How long a confirmation counts at least: a group may take some more time to be complete."""
MORE_SECONDS: Final = 30.0
"""How much longer it counts than the others of the group have for theirs; after that people are asked again."""

Answer = Literal["not_asked", "asked", "confirmed", "missed"]


def seconds_of(plan: CohortPlan) -> float | None:
    """How long people of this plan have to confirm that they are there; None: they are not asked."""
    return None if plan.match is None else plan.match.confirm_seconds


def _counts_for(seconds: float) -> timedelta:
    """How long a confirmation counts where people have so many seconds for theirs."""
    return timedelta(seconds=max(CONFIRMED_SECONDS, seconds) + MORE_SECONDS)


def answer_of(
    called_at: datetime | None, confirmed_at: datetime | None, seconds: float | None, now: datetime
) -> Answer:
    """How a person has answered who was asked last at `called_at`. A person who comes back confirms unasked."""
    if seconds is None:
        return "confirmed"
    if called_at is None:
        return "not_asked"
    if confirmed_at is not None and confirmed_at >= called_at:
        return "confirmed" if now < confirmed_at + _counts_for(seconds) else "not_asked"
    return "asked" if now < called_at + timedelta(seconds=seconds) else "missed"


_ASK: Final = text("UPDATE presence SET called_at = :now WHERE member_id = ANY(:member_ids) RETURNING member_id")


async def ask(session: Session, member_ids: Collection[UUID], now: datetime) -> Sequence[UUID]:
    """Ask these people to confirm that they are there. The caller holds the lock of their room."""
    if not member_ids:
        return []
    return [row.member_id for row in await session.all(_ASK, {"member_ids": sorted(member_ids), "now": now})]


_CONFIRM: Final = text("UPDATE presence SET confirmed_at = :now WHERE member_id = :member_id AND called_at IS NOT NULL")


async def confirm(session: Session, member_id: UUID, now: datetime) -> None:
    """The person is there; nothing happens where they were not asked. Idempotent."""
    await session.run(_CONFIRM, {"member_id": member_id, "now": now})
