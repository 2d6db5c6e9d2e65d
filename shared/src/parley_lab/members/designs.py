"""Resolved designs: the experiment of an arm, read once per process and version."""

from collections.abc import Mapping
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
