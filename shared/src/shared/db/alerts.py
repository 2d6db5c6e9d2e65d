"""Alerts: what an experimenter should look at, once per cause."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from shared import seeds
from shared.db.session import Session

_RAISE = text(
    """
    INSERT INTO alerts (id, path, experiment_id, cohort_id, member_id, type, text, created_at)
    VALUES (:id, :path, :experiment_id, :cohort_id, :member_id, :type, :text, :now)
    ON CONFLICT (id) DO UPDATE SET text = excluded.text, created_at = excluded.created_at, resolved_at = NULL
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
) -> None:
    """Tell the experimenter; the same `path` again changes nothing, until what it tells of was over."""
    await session.run(
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


_RESOLVE = text("UPDATE alerts SET resolved_at = :now WHERE type = :type AND path = :path AND resolved_at IS NULL")


async def resolve_alerts(session: Session, alert_type: str, path: str, now: datetime) -> None:
    """What these alerts told of is over, in every experiment in which they were raised."""
    await session.run(_RESOLVE, {"type": alert_type, "path": path, "now": now})
