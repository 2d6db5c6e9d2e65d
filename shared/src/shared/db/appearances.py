"""How the pages of an experiment look, read once by each page: a logo is larger than all the rest."""

from typing import Final
from uuid import UUID

from sqlalchemy import text

from shared.contracts.appearance import Appearance
from shared.db.session import ReadSession

_APPEARANCE: Final = text("SELECT document -> 'appearance' AS appearance FROM experiments WHERE id = :id")


async def appearance_of(session: ReadSession, experiment_id: UUID) -> Appearance:
    """What the file of the experiment says."""
    row = await session.one(_APPEARANCE, {"id": experiment_id})
    return Appearance.model_validate(row.appearance or {})
