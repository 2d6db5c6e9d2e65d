"""Treatments by participant: the arm of a member who comes while the experiment runs, drawn under a lock."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.allocation import Allocation
from parley_lab.design import Block, Resolved, draw_arm
from parley_lab.members.designs import design
from parley_lab.store.session import Session
from parley_lab.store.statements import as_json

# Held until the commit: the next draw sees this one, and the seat that it took.
_LOCK_BLOCK: Final = text(
    "SELECT block, arms_left, draws FROM joining WHERE experiment_id = :experiment_id FOR NO KEY UPDATE"
)
_KEEP_BLOCK: Final = text(
    """
    UPDATE joining SET block = :block, arms_left = CAST(:arms_left AS text[]), draws = :draws
    WHERE experiment_id = :experiment_id
    """
)
_EXPERIMENT: Final = text(
    """
    SELECT seed, version, document -> 'allocation' AS allocation,
        jsonb_path_query_array(document, '$.treatments[*].id') AS arms
    FROM experiments WHERE id = :experiment_id
    """
)
_HAS_OWN: Final = text("SELECT treatment_id FROM members WHERE id = :member_id")
_GIVE: Final = text(
    """
    UPDATE members SET treatment_id = :arm, allocated = CAST(:how AS jsonb), stage_ids = CAST(:stage_ids AS text[])
    WHERE id = :member_id
    """
)


@dataclass(frozen=True, slots=True)
class OwnArm:
    """The arm of one participant, its design, and how the participant came by it."""

    id: str
    design: Resolved
    how: Mapping[str, Any]


async def lock_draws(session: Session, experiment_id: UUID) -> Block:
    """The draws of the experiment so far, under their lock until the transaction ends.

    To be taken before the lock of a member: a join holds it while it looks for a seat.
    """
    row = await session.one(_LOCK_BLOCK, {"experiment_id": experiment_id})
    return Block(row.block, tuple(row.arms_left), row.draws)


async def keep_draws(session: Session, experiment_id: UUID, block: Block) -> None:
    kept = {"block": block.number, "arms_left": list(block.left), "draws": block.draws}
    await session.run(_KEEP_BLOCK, {"experiment_id": experiment_id, **kept})


async def draw_own_arm(session: Session, experiment_id: UUID) -> OwnArm | None:
    """The arm of the next participant who comes; None where treatments are not allocated by participant.

    Exact under concurrency: the draws of an experiment come one after another (`tests/races/test_own_arms_race.py`).
    """
    row = await session.one(_EXPERIMENT, {"experiment_id": experiment_id})
    allocation = Allocation.model_validate(row.allocation or {})
    if allocation.by != "participant":
        return None
    draw, rest = draw_arm(await lock_draws(session, experiment_id), row.arms, row.seed, allocation)
    await keep_draws(session, experiment_id, rest)
    block = {} if allocation.method == "simple" else {"block": draw.block}
    how = {"rule": "drawn", "draw": draw.draw, **block, "probability": draw.probability}
    return OwnArm(draw.arm, await design(session, experiment_id, row.version, draw.arm), how)


async def give_own_arm(session: Session, experiment_id: UUID, member_id: UUID) -> None:
    """Draw the arm of a participant who takes a seat, unless the file names that of the seat, or there is none to draw.

    The caller holds the lock of draws.
    """
    if (await session.one(_HAS_OWN, {"member_id": member_id})).treatment_id is not None:
        return
    own = await draw_own_arm(session, experiment_id)
    if own is not None:
        stage_ids = list(own.design.stage_ids)
        await session.run(
            _GIVE, {"member_id": member_id, "arm": own.id, "how": as_json(dict(own.how)), "stage_ids": stage_ids}
        )
