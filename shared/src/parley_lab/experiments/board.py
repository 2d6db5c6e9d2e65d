"""What an experimenter sees of a whole experiment at one moment: every group and member in a short row.

All statements of `read_board` see the same snapshot, and so do its positions: what happens later is in the stream.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.lives import TAKING_PART, in_sql
from parley_lab.experiments import listing
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import Row
from parley_lab.talk import streams

SNAPSHOT: Final = text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
_DESIGN: Final = text(
    """
    SELECT e.join_code, e.version,
        (SELECT jsonb_agg(jsonb_build_object('id', s ->> 'id', 'kind', s ->> 'kind', 'name', s ->> 'name',
            'progress', s -> 'progress')) FROM jsonb_array_elements(e.document -> 'stages') s) AS stages,
        (SELECT l.most FROM call_limits l WHERE l.experiment_id = e.id) AS max_calls,
        (SELECT l.taken FROM call_limits l WHERE l.experiment_id = e.id) AS calls_taken
    FROM experiments e WHERE e.id = :id
    """
)
_COHORTS: Final = text(
    """
    SELECT c.id, c.path, c.name, nullif(c.treatment_id, '') AS treatment_id, c.status, c.locked, c.alone, c.join_code,
        c.created_at, c.ended_at, s.last,
        ARRAY(SELECT u.stage_id FROM cohort_stages u WHERE u.cohort_id = c.id) AS unlocked,
        (SELECT jsonb_agg(jsonb_build_array(w.stage_id, w.over_at, w.outcome)) FROM waits w WHERE w.cohort_id = c.id)
            AS waits
    FROM cohorts c JOIN streams s ON s.cohort_id = c.id
    WHERE c.experiment_id = :id ORDER BY c.created_at, length(c.path), c.path COLLATE "C"
    """
)
_MEMBERS: Final = text(
    f"""
    SELECT m.id, m.path, m.cohort_id, m.kind, m.player, m.profile ->> 'name' AS name, m.profile ->> 'avatar' AS avatar,
        m.agent_config ->> 'persona_id' AS persona, nullif(m.treatment_id, '') AS treatment_id, m.status, m.stage_ids,
        m.position, m.arrived_at, m.paused_at,
        CASE WHEN m.player = 'person' AND m.status IN {in_sql(TAKING_PART)} THEN p.gone_at END AS gone_at,
        k.ask, d.state AS draft
    FROM members m LEFT JOIN presence p ON p.member_id = m.id
        LEFT JOIN (
            SELECT a.member_id, min(a.key) AS ask FROM asks a JOIN members o ON o.id = a.member_id
            WHERE o.experiment_id = :id AND a.state = 'open' GROUP BY a.member_id
        ) k ON k.member_id = m.id
        LEFT JOIN (
            SELECT x.member_id, max(x.state) AS state FROM drafts x JOIN members o ON o.id = x.member_id
            WHERE o.experiment_id = :id AND x.state IN ('wanted', 'thinking', 'ready') GROUP BY x.member_id
        ) d ON d.member_id = m.id
    WHERE m.experiment_id = :id ORDER BY length(m.path), m.path COLLATE "C"
    """  # noqa: S608 - put together from constants
)


@dataclass(frozen=True, slots=True)
class Board:
    """The rows of an experiment, of its cohorts in their order, and of its members."""

    item: Row
    design: Row
    cohorts: Sequence[Row]
    members: Sequence[Row]
    positions: Mapping[UUID, int]
    """The number of the last event of each cohort."""
    seq: int
    """All events of the experiment up to this number of the lab are in the board."""


async def read_board(session: Session, experiment_id: UUID, before: datetime) -> Board:
    """The board; the transaction has done nothing before. `before`: as in `streams.safe_seq`."""
    await session.run(SNAPSHOT)
    (item,) = await listing.some(session, [experiment_id])
    design = await session.one(_DESIGN, {"id": experiment_id})
    cohorts = await session.all(_COHORTS, {"id": experiment_id})
    members = await session.all(_MEMBERS, {"id": experiment_id})
    positions = {row.id: row.last for row in cohorts}
    return Board(item, design, cohorts, members, positions, await streams.safe_seq(session, positions, before))


@dataclass(frozen=True, slots=True)
class Hints:
    """What no event says: the state of the experiment, its open alerts, and the drafts that are open."""

    state: Mapping[str, Any]
    alerts: frozenset[UUID]
    drafts: Mapping[UUID, str]
    """The state of a member's open draft; of several the one that comes last in the alphabet."""


_HINTS: Final = text(
    """
    SELECT e.status, e.pause_reason, e.paused_at, e.started_at, e.ended_at, e.model_mode, e.name, e.study,
        ARRAY(SELECT a.id FROM alerts a WHERE a.experiment_id = e.id AND a.resolved_at IS NULL) AS alerts,
        (SELECT jsonb_object_agg(d.member_id, d.state) FROM (
            SELECT x.member_id, max(x.state) AS state FROM drafts x JOIN members m ON m.id = x.member_id
            WHERE x.state IN ('wanted', 'thinking', 'ready') AND m.experiment_id = :id GROUP BY x.member_id
        ) d) AS drafts
    FROM experiments e WHERE e.id = :id
    """
)


async def hints(session: ReadSession, experiment_id: UUID) -> Hints | None:
    """The hints of this moment; None once the experiment is deleted."""
    row = await session.first(_HINTS, {"id": experiment_id})
    if row is None:
        return None
    fields = row._asdict()
    alerts, drafts = fields.pop("alerts"), fields.pop("drafts") or {}
    return Hints(fields, frozenset(alerts), {UUID(member): state for member, state in drafts.items()})
