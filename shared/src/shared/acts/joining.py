"""People who join: each draws an arm, where there are several, and takes a seat of it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from secrets import token_urlsafe
from typing import Any
from uuid import UUID

from sqlalchemy import text

from shared.acts.advancing import record_member
from shared.contracts.experiment import Profile
from shared.db import tables
from shared.db.session import Row, Session, as_json
from shared.db.standings import hash_token
from shared.errors import Conflict, NotFound, Paused
from shared.experiment import Block, CohortAssignment, Experiment, draw_arm


async def prepare(
    session: Session, experiment_id: UUID, experiment: Experiment, plan: Sequence[CohortAssignment]
) -> None:
    """Store by which rule people will join; nothing where every seat is taken from the beginning."""
    arms = {cohort.treatment_id for cohort in plan if any(seat.persona_id is None for seat in cohort.seats)}
    if not arms:
        return
    rule = "one_arm" if experiment.joining == "drawn" and len(arms) == 1 else experiment.joining
    await session.insert(tables.joining, [{"experiment_id": experiment_id, "rule": rule}])


# The first seat in the order of the file; c10 comes after c2.
_TAKE_SEAT = text(
    """
    WITH open AS MATERIALIZED (
        SELECT c.id, c.path, CAST(:in_order AS boolean) OR EXISTS (
            SELECT FROM members o WHERE o.cohort_id = c.id AND o.player = 'person' AND o.status <> 'expected'
        ) AS has_begun
        FROM cohorts c
        WHERE c.experiment_id = :experiment_id AND NOT c.locked AND c.status = 'running'
            AND (CAST(:cohort_id AS uuid) IS NULL OR c.id = :cohort_id)
            AND (CAST(:arm AS text) IS NULL OR c.treatment_id = :arm)
            AND EXISTS (SELECT FROM members o WHERE o.cohort_id = c.id AND o.status = 'expected')
    )
    UPDATE members SET status = 'in_progress', token_hash = :token_hash, joined_at = :now, arrived_at = :now,
        version = version + 1, profile = profile || CAST(:profile AS jsonb), joining = CAST(:joining AS jsonb)
    WHERE id = (
        SELECT m.id FROM members m JOIN open ON open.id = m.cohort_id
        WHERE m.experiment_id = :experiment_id AND m.status = 'expected'
        ORDER BY NOT open.has_begun, length(open.path), open.path COLLATE "C", length(m.path), m.path COLLATE "C"
        LIMIT 1
        FOR NO KEY UPDATE OF m SKIP LOCKED
    )
    RETURNING id, cohort_id, path
    """
)
_EXPERIMENT = text(
    """
    SELECT e.status, e.seed, j.rule FROM experiments e LEFT JOIN joining j ON j.experiment_id = e.id
    WHERE e.id = :experiment_id
    """
)
# Held until the commit: whoever draws next knows this draw, and the seat that it took.
_LOCK_BLOCK = text("SELECT block, arms_left, draws FROM joining WHERE experiment_id = :experiment_id FOR NO KEY UPDATE")
_PLACES = text(
    """
    SELECT DISTINCT c.treatment_id AS arm FROM members m JOIN cohorts c ON c.id = m.cohort_id
    WHERE m.experiment_id = :experiment_id AND m.status = 'expected' AND NOT c.locked AND c.status = 'running'
    """
)
_KEEP_BLOCK = text(
    """
    UPDATE joining SET block = :block, arms_left = CAST(:arms_left AS text[]), draws = :draws
    WHERE experiment_id = :experiment_id
    """
)


async def join(
    session: Session, experiment_id: UUID, now: datetime, *, cohort_id: UUID | None, profile: Profile | None
) -> tuple[UUID, str]:
    """Take an open seat, in the cohort that is named or by the rule of the experiment; the member's id, and the token,
    which is shown this once.

    Exact under concurrent joins: a seat is one row, taken by one conditional update, and draws of one experiment come
    one after another (`tests/races/test_joining_race.py`).

    Raises:
        NotFound: there is no such experiment.
        Conflict: it is not running, it is paused, or no seat is open.
    """
    row = await session.first(_EXPERIMENT, {"experiment_id": experiment_id})
    if row is None:
        raise NotFound("There is no such experiment.")
    _require_running(row.status)
    token = token_urlsafe(32)
    chosen = {} if profile is None else profile.model_dump(exclude_defaults=True)
    joiner = {
        "experiment_id": experiment_id,
        "token_hash": hash_token(token),
        "profile": as_json(chosen),
        "now": now,
        "in_order": row.rule == "by_arrival",
    }
    if cohort_id is not None:
        seat, how = await _seat(session, joiner, {"rule": "named"}, cohort_id=cohort_id)
    elif row.rule == "drawn":
        seat, how = await _drawn_seat(session, joiner, row.seed)
    else:
        seat, how = await _seat(session, joiner, {"rule": row.rule})
    # Once more now that the seat is locked: whoever pauses the experiment locks all of them before.
    _require_running((await session.one(_EXPERIMENT, {"experiment_id": experiment_id})).status)
    if seat is None:
        raise Conflict("No seat is open.", reason="full")
    record_member(
        session,
        experiment_id,
        seat.cohort_id,
        seat.id,
        seat.path,
        "member.joined",
        {"joining": how},
        now,
        cause="request",
    )
    return seat.id, token


def _require_running(status: str) -> None:
    if status == "paused":
        raise Paused
    if status != "running":
        raise Conflict("This experiment is not running.", reason="not_running")


async def _drawn_seat(session: Session, joiner: Mapping[str, Any], seed: int) -> tuple[Row | None, Mapping[str, Any]]:
    experiment = {"experiment_id": joiner["experiment_id"]}
    stored = await session.one(_LOCK_BLOCK, experiment)
    block = Block(stored.block, tuple(stored.arms_left), stored.draws)
    places = {row.arm for row in await session.all(_PLACES, experiment)}
    while places:
        draw, rest = draw_arm(block, sorted(places), seed)
        how = {"rule": "drawn", "draw": draw.draw, "block": draw.block, "probability": draw.probability}
        seat, _ = await _seat(session, joiner, how, arm=draw.arm)
        if seat is not None:
            kept = {"block": rest.number, "arms_left": list(rest.left), "draws": rest.draws}
            await session.run(_KEEP_BLOCK, {**experiment, **kept})
            return seat, how
        # The last seat went meanwhile to somebody who named the cohort.
        places.remove(draw.arm)
    return None, {}


async def _seat(
    session: Session,
    joiner: Mapping[str, Any],
    how: Mapping[str, Any],
    *,
    arm: str | None = None,
    cohort_id: UUID | None = None,
) -> tuple[Row | None, Mapping[str, Any]]:
    """The seat that was taken, None when there is none, and how it was come by."""
    wanted = {"cohort_id": cohort_id, "arm": arm, "joining": as_json(dict(how))}
    return await session.first(_TAKE_SEAT, {**joiner, **wanted}), how
