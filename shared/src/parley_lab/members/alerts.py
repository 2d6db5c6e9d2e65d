"""Alerts for experimenters, once per cause."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base import seeds
from parley_lab.base.errors import NotFound
from parley_lab.members.standing import Standing
from parley_lab.store.places import Place, parameters
from parley_lab.store.session import ReadSession, Session

_RAISE = text(
    """
    INSERT INTO alerts (id, path, experiment_id, cohort_id, member_id, type, text, created_at)
    VALUES (:id, :path, :experiment_id, :cohort_id, :member_id, :type, :text, :now)
    ON CONFLICT (id) DO UPDATE SET text = excluded.text, created_at = excluded.created_at, resolved_at = NULL,
            resolved_by = NULL
        WHERE alerts.resolved_at IS NOT NULL
    """
)


async def raise_alert(
    session: Session,
    *,
    experiment_id: UUID,
    path: str,
    alert_type: str,
    text: str,
    now: datetime,
    cohort_id: UUID | None = None,
    member_id: UUID | None = None,
) -> bool:
    """Raise an alert; False where it is raised already: it is one per `path` until it is resolved."""
    raised = await session.run(
        _RAISE,
        {
            "id": seeds.row_id(experiment_id, path),
            "path": path,
            "experiment_id": experiment_id,
            "cohort_id": cohort_id,
            "member_id": member_id,
            "type": alert_type,
            "text": text,
            "now": now,
        },
    )
    return bool(raised)


async def raise_alert_about(
    session: Session, standing: Standing, place: str, alert_type: str, words: str, now: datetime
) -> bool:
    """Raise an alert about a member; False where it is raised already: it is one per `place` until it is resolved."""
    return await raise_alert(
        session,
        experiment_id=standing.experiment_id,
        cohort_id=standing.cohort_id,
        member_id=standing.member.id,
        path=f"{standing.member.path}/{place}",
        alert_type=alert_type,
        text=words,
        now=now,
    )


_RESOLVE = text(
    """
    UPDATE alerts SET resolved_at = :now
    WHERE type = :type AND (CAST(:path AS text) IS NULL OR path = :path) AND resolved_at IS NULL
    """
)


async def resolve_alerts(session: Session, alert_type: str, now: datetime, *, path: str | None = None) -> None:
    """Resolve these alerts in every experiment that has them: those of one path, or all."""
    await session.run(_RESOLVE, {"type": alert_type, "path": path, "now": now})


@dataclass(frozen=True, slots=True)
class Alert:
    """`cohort` and `member` are paths; an alert without either is about the experiment. `stage_id`: where the member is
    now."""

    id: UUID
    type: str
    text: str
    cohort_id: UUID | None
    cohort: str | None
    member_id: UUID | None
    member: str | None
    stage_id: str | None
    created_at: datetime
    resolved_at: datetime | None
    resolved_by: str | None = None
    """The experimenter who has seen to it; None where the lab found that it was over."""

    @property
    def is_over(self) -> bool:
        """Whether the cause of the alert is over."""
        return self.resolved_at is not None


_ALERT = """
    SELECT a.id, a.type, a.text, a.cohort_id, c.path AS cohort, a.member_id, m.path AS member,
        m.stage_ids[m.position + 1] AS stage_id, a.created_at, a.resolved_at, a.resolved_by
    FROM alerts a LEFT JOIN cohorts c ON c.id = a.cohort_id LEFT JOIN members m ON m.id = a.member_id
"""
_OF = text(
    f"""
    {_ALERT}
    WHERE a.experiment_id = :experiment_id
        AND (CAST(:is_open AS bool) IS NULL OR (a.resolved_at IS NULL) = :is_open)
        AND (CAST(:at AS timestamptz) IS NULL OR (a.created_at, a.id) > (:at, CAST(:id AS uuid)))
    ORDER BY a.created_at, a.id LIMIT CAST(:most AS bigint)
    """
)
_SOME = text(f"{_ALERT} WHERE a.id = ANY(:ids) ORDER BY a.created_at, a.id")


async def alerts_of(
    session: ReadSession,
    experiment_id: UUID,
    *,
    after: Place | None = None,
    most: int | None = None,
    is_open: bool | None = None,
) -> Sequence[Alert]:
    """The alerts of an experiment, the oldest first; a repeated alert counts as new. `is_open`: only such ones."""
    given = {"experiment_id": experiment_id, "most": most, "is_open": is_open}
    return [Alert(**row._asdict()) for row in await session.all(_OF, {**given, **parameters(after)})]


async def some(session: ReadSession, ids: Collection[UUID]) -> Sequence[Alert]:
    """These alerts, the oldest first."""
    return [Alert(**row._asdict()) for row in await session.all(_SOME, {"ids": list(ids)})]


_OWNED: Final = text(
    """
    SELECT a.experiment_id FROM alerts a JOIN experiments e ON e.id = a.experiment_id
    WHERE a.id = :id AND e.owner_id = :owner_id
    """
)
_ONE: Final = text(f"{_ALERT} WHERE a.id = :id")


async def check_owned_alert(session: ReadSession, alert_id: UUID, owner_id: UUID) -> UUID:
    """The experiment of an alert; that of another owner's experiment is treated as missing.

    Raises:
        NotFound: there is no such alert, or not for this owner.
    """
    row = await session.first(_OWNED, {"id": alert_id, "owner_id": owner_id})
    if row is None:
        raise NotFound("There is no such alert.")
    experiment_id: UUID = row.experiment_id
    return experiment_id


async def alert(session: ReadSession, alert_id: UUID) -> Alert:
    """One alert, which must be there."""
    return Alert(**(await session.one(_ONE, {"id": alert_id}))._asdict())
