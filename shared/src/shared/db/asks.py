"""Asks: what the lab demands of one member, final once given; and the drafts of the agents who are to answer them."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from shared import seeds
from shared.contracts.hints import Hint, provider_queue
from shared.db.members import Standing
from shared.db.session import Session, as_json
from shared.stage import AskRequest

_OPEN = text(
    """
    WITH given AS (
        SELECT * FROM jsonb_to_recordset(CAST(:asks AS jsonb)) AS g(
            id uuid, path text, member_id uuid, key text, purpose text, draft_id uuid, provider text)
    ), opened AS (
        INSERT INTO asks (id, path, cohort_id, stage_id, member_id, key, generation, purpose, opened_at)
        SELECT g.id, g.path, :cohort_id, :stage_id, g.member_id, g.key, 1, g.purpose, :now FROM given g
        ON CONFLICT DO NOTHING
        RETURNING id
    )
    INSERT INTO drafts (id, path, cohort_id, stage_id, member_id, ask_id, purpose, provider, not_before, created_at)
    SELECT g.draft_id, g.path || '/draft', :cohort_id, :stage_id, g.member_id, g.id, g.purpose, g.provider, :now, :now
    FROM given g JOIN opened USING (id)
    RETURNING id, provider
    """
)


async def open_asks(session: Session, standing: Standing, requests: Sequence[AskRequest], now: datetime) -> int:
    """Open these asks of one agent on its stage, each with the draft of its answer; returns how many are new."""
    assert standing.stage is not None
    assert standing.provider is not None
    rows = []
    for request in requests:
        path = f"{standing.member.path}/{standing.stage.id}/{request.key or 'page'}"
        rows.append(
            {
                "id": seeds.row_id(standing.experiment_id, path),
                "path": path,
                "member_id": request.member_id,
                "key": request.key,
                "purpose": request.purpose,
                "draft_id": seeds.row_id(standing.experiment_id, f"{path}/draft"),
                "provider": standing.provider,
            }
        )
    opened = await session.all(
        _OPEN,
        {
            "asks": as_json(rows),
            "cohort_id": standing.cohort_id,
            "stage_id": standing.stage.id,
            "now": now,
        },
    )
    for row in opened:
        session.announce(Hint(provider_queue(row.provider), "draft.wanted", str(row.id)))
    return len(opened)


_CLOSE = text(
    """
    UPDATE asks SET state = :state, reason = :reason, closed_at = :now WHERE id = :ask_id AND state = 'open'
    """
)


async def close_ask(session: Session, ask_id: UUID, state: str, reason: str | None, now: datetime) -> bool:
    """Answer, fail or expire an open ask; False when it was closed before."""
    return bool(await session.run(_CLOSE, {"ask_id": ask_id, "state": state, "reason": reason, "now": now}))
