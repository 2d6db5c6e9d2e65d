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
    ON CONFLICT DO NOTHING
    """
)


async def raise_alert(
    session: Session,
    *,
    experiment_id: UUID,
    cohort_id: UUID,
    member_id: UUID,
    path: str,
    alert_type: str,
    text: str,
    now: datetime,
) -> None:
    """Tell the experimenter; the same `path` again changes nothing."""
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
