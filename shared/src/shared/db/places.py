"""Where a row stands in a list that is ordered by time, whether it is still there or not."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Place:
    """When the row was created, and which of those of that moment it is."""

    created_at: datetime
    id: UUID


def parameters(place: Place | None) -> dict[str, object]:
    """`at` and `id` of a statement that reads on after this place; None: from the beginning."""
    return {"at": None, "id": None} if place is None else {"at": place.created_at, "id": place.id}
