"""The stream of one experiment: its cursor over all cohorts, and what the stream of a board says beside events."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from parley_lab.base.errors import Unavailable
from parley_lab.experiments import board, listing
from parley_lab.experiments.board import Hints
from parley_lab.gateway import cursors
from parley_lab.gateway.context import Context
from parley_lab.gateway.events import alert_hint, hint
from parley_lab.members import alerts
from parley_lab.store.session import ReadSession
from parley_lab.talk import streams

IN_FLIGHT: Final = timedelta(seconds=60)
"""No transaction takes so long between the numbers of its events and its commit."""
_MOST_EXACT: Final = 60
_LONGEST: Final = 200
_PROGRESS_EVERY_SECONDS: Final = 10.0


@dataclass(slots=True)
class Followed:
    """How far a stream has sent the events of each cohort of an experiment."""

    sent: dict[UUID, int]
    seq: int = 0
    """All events up to this number of the lab are sent."""

    @property
    def cursor(self) -> str:
        """At most 200 characters: the position in each cohort, or where there are many a number of the lab."""
        if len(self.sent) <= _MOST_EXACT:
            exact = cursors.experiment_cursor_text(self.sent.values())
            if len(exact) <= _LONGEST:
                return exact
        return cursors.lab_cursor_text(self.seq)

    def mark(self) -> bytes:
        return f"id: {self.cursor}\n".encode()

    async def note(self, session: ReadSession, context: Context) -> None:
        """Look how far everything was sent."""
        if len(self.sent) > _MOST_EXACT:
            before = context.clock.now() - IN_FLIGHT
            self.seq = max(self.seq, await streams.safe_seq(session, dict(self.sent), before))


async def followed_from(session: ReadSession, ids: Iterable[UUID], cursor: str | None, context: Context) -> Followed:
    """Where a stream begins: after this cursor, or now.

    Raises:
        InvalidInput: it is no cursor of this experiment.
    """
    ids = list(ids)
    seq = None if cursor is None else cursors.lab_cursor(cursor)
    if seq is not None:
        return Followed(await streams.positions_at(session, ids, seq), seq)
    newest = await streams.last_of(session, ids)
    positions = cursors.experiment_cursor(cursor, len(ids)) if cursor else [newest[one] for one in ids]
    followed = Followed(dict(zip(ids, positions, strict=True)))
    await followed.note(session, context)
    return followed


@dataclass(slots=True)
class BoardTicks:
    """What a board is told about every second beside events: nothing, as long as nothing has changed."""

    context: Context
    experiment_id: UUID
    before: Hints | None
    _progress: dict[str, Any] = field(default_factory=dict)
    _counted_at: float = field(default_factory=lambda: asyncio.get_running_loop().time())

    async def tell(self) -> bytes:
        """The changes since the last time. A read that fails loses none: the next one gives them."""
        before = self.before
        if before is None:
            return b""
        is_to_be_counted = asyncio.get_running_loop().time() >= self._counted_at + _PROGRESS_EVERY_SECONDS
        with suppress(Unavailable):
            async with self.context.database.read() as session:
                now = await board.hints(session, self.experiment_id)
                changed = () if now is None else now.alerts ^ before.alerts
                changed_alerts = await alerts.some(session, changed) if changed else ()
                rows = await listing.some(session, [self.experiment_id]) if is_to_be_counted else None
            self.before = now
            if now is None:
                return hint("experiment.deleted", {"id": str(self.experiment_id)})
            progress = [] if rows is None else self._note_progress(rows)
            return b"".join([*_hints_of(before, now, changed_alerts), *progress])
        return b""

    def _note_progress(self, rows: Sequence[Any]) -> list[bytes]:
        self._counted_at = asyncio.get_running_loop().time()
        found = {} if not rows else progress_of(rows[0])
        if found == self._progress:
            return []
        self._progress = found
        return [hint("progress.changed", found)]


def _hints_of(before: Hints, now: Hints, changed_alerts: Iterable[alerts.Alert]) -> list[bytes]:
    told = []
    if now.state != before.state:
        told.append(hint("experiment.changed", dict(now.state)))
    if now.drafts != before.drafts:
        told.append(hint("drafts.changed", {"members": _changed(before.drafts, now.drafts)}))
    return told + [alert_hint(alert) for alert in changed_alerts]


def progress_of(row: Any) -> dict[str, Any]:
    """The counts of a row of `listing` that only grow."""
    return {
        "messages": int(row.messages),
        "model_calls": row.model_calls,
        "unpriced_calls": row.unpriced_calls,
        "cost": None if row.cost is None else float(row.cost),
    }


def _changed(before: Mapping[UUID, str], now: Mapping[UUID, str]) -> dict[str, str | None]:
    return {str(one): now.get(one) for one in before.keys() | now.keys() if before.get(one) != now.get(one)}
