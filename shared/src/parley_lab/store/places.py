"""The place of a row in a list ordered by time, which stays valid after the row is deleted."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Place:
    """The row's creation time and, to break ties, its id."""

    created_at: datetime
    id: UUID


def parameters(place: Place | None) -> dict[str, object]:
    """The parameters `at` and `id` of a statement that continues after this place; None: from the beginning."""
    return {"at": None, "id": None} if place is None else {"at": place.created_at, "id": place.id}
