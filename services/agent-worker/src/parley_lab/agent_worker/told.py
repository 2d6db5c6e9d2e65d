"""The alerts that a process has raised, so that it asks Postgres once for each."""

from typing import Final
from uuid import UUID

_MOST: Final = 1_000


class Told:
    """Alerts by experiment and path, the newest `most`; raising an older one again changes nothing while it is open."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._alerts: dict[tuple[UUID, str], None] = {}

    def __contains__(self, alert: tuple[UUID, str]) -> bool:
        return alert in self._alerts

    def add(self, experiment_id: UUID, path: str) -> None:
        self._alerts[experiment_id, path] = None
        while len(self._alerts) > self._most:
            del self._alerts[next(iter(self._alerts))]
