"""Resolved designs: what a treatment makes of an experiment, read once per process and version."""

from uuid import UUID

from sqlalchemy import text

from shared.contracts.experiment import StageConfig
from shared.db.session import Session
from shared.errors import NotFound
from shared.experiment import Resolved

_CACHE_SIZE = 512
_cache: dict[tuple[UUID, int, str], Resolved] = {}

_RESOLVED = text("SELECT resolved FROM treatments WHERE experiment_id = :experiment_id AND id = :treatment_id")


async def design(session: Session, experiment_id: UUID, version: int, treatment_id: str) -> Resolved:
    """What this arm of the experiment looks like. A version's design never changes, so it is kept in the process."""
    key = (experiment_id, version, treatment_id)
    if key not in _cache:
        row = await session.first(_RESOLVED, {"experiment_id": experiment_id, "treatment_id": treatment_id})
        if row is None:
            raise NotFound("This experiment has no such treatment.")
        if len(_cache) >= _CACHE_SIZE:
            _cache.pop(next(iter(_cache)))
        _cache[key] = Resolved.model_validate(row.resolved)
    return _cache[key]


async def stage_of(
    session: Session, experiment_id: UUID, version: int, treatment_id: str, stage_id: str
) -> StageConfig:
    resolved = await design(session, experiment_id, version, treatment_id)
    return resolved.stage(stage_id)
