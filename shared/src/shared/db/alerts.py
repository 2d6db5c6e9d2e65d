"""Alerts: what an experimenter should look at, once per cause."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from shared import seeds
from shared.db.places import Place, parameters
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


_RESOLVE = text(
    """
    UPDATE alerts SET resolved_at = :now
    WHERE type = :type AND (CAST(:path AS text) IS NULL OR path = :path) AND resolved_at IS NULL
    """
)


async def resolve_alerts(session: Session, alert_type: str, now: datetime, *, path: str | None = None) -> None:
    """What these alerts told of is over, in every experiment in which they were raised; those of one path, or all."""
    await session.run(_RESOLVE, {"type": alert_type, "path": path, "now": now})


@dataclass(frozen=True, slots=True)
class Alert:
    """`cohort` and `member` are paths; an alert that has neither is about the experiment."""

    id: UUID
    type: str
    text: str
    cohort: str | None
    member: str | None
    created_at: datetime
    resolved_at: datetime | None

    @property
    def is_over(self) -> bool:
        """Whether what it tells of is over by now."""
        return self.resolved_at is not None


_OF = text(
    """
    SELECT a.id, a.type, a.text, c.path AS cohort, m.path AS member, a.created_at, a.resolved_at
    FROM alerts a LEFT JOIN cohorts c ON c.id = a.cohort_id LEFT JOIN members m ON m.id = a.member_id
    WHERE a.experiment_id = :experiment_id
        AND (CAST(:at AS timestamptz) IS NULL OR (a.created_at, a.id) > (:at, CAST(:id AS uuid)))
    ORDER BY a.created_at, a.id LIMIT CAST(:most AS bigint)
    """
)


async def alerts_of(
    session: Session, experiment_id: UUID, *, after: Place | None = None, most: int | None = None
) -> Sequence[Alert]:
    """What an experimenter should look at, the oldest first; what is raised again counts as new."""
    found = await session.all(_OF, {"experiment_id": experiment_id, "most": most, **parameters(after)})
    return [Alert(**row._asdict()) for row in found]
