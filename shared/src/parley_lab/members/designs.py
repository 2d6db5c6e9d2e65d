"""Resolved designs: the experiment of an arm, read once per process and version."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.errors import NotFound
from parley_lab.contracts.experiment import StageConfig
from parley_lab.design import Resolved, values_of
from parley_lab.kinds import Json
from parley_lab.kinds.stages import require_kinds
from parley_lab.store.session import ReadSession

_CACHE_SIZE = 512
_cache: dict[tuple[UUID, int, str], Resolved] = {}

_RESOLVED = text(
    """
    SELECT resolved, ARRAY(SELECT id FROM experiments WHERE id = ANY(:kept) AND status = 'ended') AS ended
    FROM treatments WHERE experiment_id = :experiment_id AND id = :treatment_id
    """
)


async def design(session: ReadSession, experiment_id: UUID, version: int, treatment_id: str) -> Resolved:
    """What this arm of the experiment looks like. A version's design never changes, so it is kept in the process.

    Raises:
        NotFound: it has no such arm.
        Conflict: it has stages of kinds that this process lacks.
    """
    key = (experiment_id, version, treatment_id)
    found = _cache.get(key)
    if found is None:
        kept = list({experiment_id for experiment_id, _, _ in _cache})
        row = await session.first(
            _RESOLVED, {"experiment_id": experiment_id, "treatment_id": treatment_id, "kept": kept}
        )
        if row is None:
            raise NotFound("This experiment has no such treatment.")
        require_kinds(row.resolved["stages"])
        found = Resolved.model_validate(row.resolved)
        _make_room(set(row.ended))
        _cache[key] = found
    return found


def _make_room(ended: set[UUID]) -> None:
    """Drop the cache of experiments that have ended."""
    for key in [key for key in _cache if key[0] in ended]:
        del _cache[key]
    while len(_cache) >= _CACHE_SIZE:
        del _cache[next(iter(_cache))]


_OWN: Final = text(
    """
    SELECT e.id, e.version, coalesce(m.treatment_id, c.treatment_id) AS treatment_id
    FROM members m JOIN cohorts c ON c.id = m.cohort_id JOIN experiments e ON e.id = m.experiment_id
    WHERE m.id = :member_id
    """
)


async def design_of(session: ReadSession, member_id: UUID) -> Resolved:
    """The design of this member's arm; its texts have no values of the member's own. The member must be there."""
    row = await session.one(_OWN, {"member_id": member_id})
    return await design(session, row.id, row.version, row.treatment_id)


async def stage_of(
    session: ReadSession, experiment_id: UUID, version: int, treatment_id: str, stage_id: str
) -> StageConfig:
    resolved = await design(session, experiment_id, version, treatment_id)
    return resolved.stage(stage_id)


async def cohorts_design(
    session: ReadSession, experiment_id: UUID, version: int, treatment_id: str, assigned: Mapping[str, dict[str, Json]]
) -> Resolved:
    """The design with the values that were assigned to a cohort, as the lab says its texts to all members."""
    resolved = await design(session, experiment_id, version, treatment_id)
    return resolved.for_cohort(values_of(assigned))
