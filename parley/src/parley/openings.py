"""When the opening of a stage is told: in the order in which a cohort comes to its stages."""

from uuid import UUID

Where = tuple[UUID, str]
"""A cohort and one of its stages."""


class Openings:
    """Remembers which stages are open, who has arrived at them, and which openings were told."""

    def __init__(self) -> None:
        self._open: set[Where] = set()
        self._told: set[Where] = set()
        self._begun: set[UUID] = set()
        self._arrived: dict[Where, set[str]] = {}

    def skip(self, where: Where) -> None:
        """This stage was open before; nothing is told of it."""
        self._open.add(where)
        self._told.add(where)
        self._begun.add(where[0])

    def opened(self, where: Where, *, participants: int) -> str | None:
        """The line about it, unless nobody is there yet. The first stage of a cohort has everybody from the start."""
        self._open.add(where)
        if where[0] in self._begun and where not in self._arrived:
            return None
        return self._line(where, participants)

    def arrived(self, where: Where, member_path: str, *, participants: int) -> str | None:
        """The line about the stage to which somebody comes as the first, if it is open already."""
        self._arrived.setdefault(where, set()).add(member_path)
        return self._line(where, participants) if where in self._open else None

    def _line(self, where: Where, participants: int) -> str | None:
        """`talk is open: 3 of 3 have arrived`, once; without the count where nobody has waited for others."""
        if where in self._told:
            return None
        self._told.add(where)
        self._begun.add(where[0])
        arrived = len(self._arrived.get(where, ()))
        return f"{where[1]} is open" + (f": {arrived} of {participants} have arrived" if arrived > 1 else "")
