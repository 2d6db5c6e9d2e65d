"""Following a run from the database: what was said and what happened, how far it is, whether it is over or stuck."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final
from uuid import UUID

import orjson

from parley.screen import Screen
from shared.db.experiments import Progress, progress
from shared.db.following import CohortProgress, alerts_of, cohort_progress
from shared.db.session import Database
from shared.db.streams import cohorts_of, events_after, last_of
from shared.db.watch import Stuck, find_stuck
from shared.errors import Unavailable

LOOK_SECONDS: Final = 0.25
"""How often new events are looked for."""
PROGRESS_SECONDS: Final = 0.5
PLAIN_PROGRESS_SECONDS: Final = 5.0
"""How often the state is shown, where it moves and where every time is one more line."""
MOST_OF_THE_TIME: Final = 10
"""Following a large run takes at most about one part in so many of the time."""
STUCK_LOOK_SECONDS: Final = 1.0
STUCK_LOOKS: Final = 3
"""A run in which nothing happens is stuck when that many looks in a row, so far apart, find the same."""

_LAB: Final = "lab"

ShowProgress = Callable[[UUID, Progress, Sequence[CohortProgress]], None]
"""Shows how far an experiment and its cohorts are."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How following ended: the run has ended, or these members will never get any further."""

    progress: Progress
    stuck: Sequence[Stuck] = ()


class Follower:
    """Shows one run on the screen until it is over. It only reads: stopping it changes nothing."""

    def __init__(
        self,
        database: Database,
        experiment_id: UUID,
        screen: Screen,
        *,
        show_progress: ShowProgress,
        label: str = "",
    ) -> None:
        self._database = database
        self._experiment_id = experiment_id
        self._screen = screen
        self._show_progress_of_run = show_progress
        self._label = f"{label} " if label else ""
        self._seen: dict[UUID, int] = {}
        self._alerts_seen: set[UUID] = set()
        self._cohort_ids: list[UUID] = []
        self._progress: Progress | None = None
        self._cohorts: Sequence[CohortProgress] = ()
        self._progress_due_at = 0.0
        self._progress_shown_at = 0.0
        self._stuck_looked_at = monotonic()
        self._stuck: Sequence[Stuck] = ()
        self._times_stuck = 0

    async def skip_what_was(self) -> None:
        """Show only what happens from now on."""
        async with self._database.transaction() as session:
            self._seen = await last_of(session, await cohorts_of(session, self._experiment_id))
            self._alerts_seen = {alert.id for alert in await alerts_of(session, self._experiment_id)}

    async def until_over(self) -> Ending:
        """Show what happens until the run has ended or is stuck; waits while Postgres is away."""
        while True:
            began = monotonic()
            try:
                ending = await self._look()
            except Unavailable as error:
                self._screen.problem(error.message)
                await asyncio.sleep(PLAIN_PROGRESS_SECONDS)
                continue
            if ending is not None:
                return ending
            await asyncio.sleep(max(LOOK_SECONDS, MOST_OF_THE_TIME * (monotonic() - began)))

    async def _look(self) -> Ending | None:
        """The state is read before the events: those of an ended run are then all there."""
        now = await self._current_progress()
        has_news = await self._show_events()
        await self._show_alerts()
        if now.status == "ended":
            return Ending(now)
        self._show_progress(now)
        return Ending(now, self._stuck) if await self._is_stuck(has_news) else None

    async def _current_progress(self) -> Progress:
        """Counting takes a while in large runs, so it is not done at every look."""
        began = monotonic()
        if self._progress is None or began >= self._progress_due_at:
            async with self._database.transaction() as session:
                self._progress = await progress(session, self._experiment_id)
                self._cohorts = await cohort_progress(session, self._experiment_id)
            took = monotonic() - began
            self._progress_due_at = began + max(PROGRESS_SECONDS, MOST_OF_THE_TIME * took)
        return self._progress

    async def _show_events(self) -> bool:
        async with self._database.transaction() as session:
            self._cohort_ids = self._cohort_ids or await cohorts_of(session, self._experiment_id)
            last = await last_of(session, self._cohort_ids)
        changed = [cohort_id for cohort_id, newest in last.items() if newest > self._seen.get(cohort_id, 0)]
        for cohort_id in changed:
            await self._show_cohort(cohort_id, last[cohort_id])
        return bool(changed)

    async def _show_cohort(self, cohort_id: UUID, until: int) -> None:
        while self._seen.get(cohort_id, 0) < until:
            async with self._database.transaction() as session:
                events = await events_after(session, cohort_id, self._seen.get(cohort_id, 0), until=until)
            if not events:
                return
            for event in events:
                self._show(event.type, event.subject, orjson.loads(event.payload or "{}"))
            self._seen[cohort_id] = events[-1].stream_seq

    def _show(self, event_type: str, subject: str, payload: dict[str, Any]) -> None:
        cohort = self._label + subject.split("/", 1)[0]
        match event_type:
            case "message.created" if payload["author"] is None:
                self._screen.happened(cohort, f"{payload['stage_id']}  {payload['text']}")
            case "message.created":
                author = payload["author"]["profile"].get("name") or _LAB
                self._screen.said(cohort, payload["stage_id"], author, payload["text"])
            case "ask.answered":
                self._screen.happened(cohort, f"{subject} has answered {payload['key']}")
            case "stage.unlocked":
                self._screen.happened(cohort, f"{payload['stage_id']} is open")
            case "member.joined":
                self._screen.happened(cohort, f"{subject} has joined")
            case "member.left" | "member.removed" | "member.failed":
                word = event_type.removeprefix("member.")
                self._screen.happened(cohort, f"{subject} {word}: {payload.get('reason', '')}")
            case "cohort.ended":
                self._screen.happened(cohort, "has ended")
            case _:
                pass

    async def _show_alerts(self) -> None:
        async with self._database.transaction() as session:
            alerts = await alerts_of(session, self._experiment_id)
        for alert in alerts:
            if alert.id not in self._alerts_seen:
                self._alerts_seen.add(alert.id)
                self._screen.alert(self._label + (alert.cohort_path or _LAB), alert.text)

    def _show_progress(self, now: Progress) -> None:
        every = PROGRESS_SECONDS if self._screen.is_terminal else PLAIN_PROGRESS_SECONDS
        if monotonic() - self._progress_shown_at >= every:
            self._progress_shown_at = monotonic()
            self._show_progress_of_run(self._experiment_id, now, self._cohorts)

    async def _is_stuck(self, has_news: bool) -> bool:
        if has_news:
            self._times_stuck = 0
        if monotonic() - self._stuck_looked_at < STUCK_LOOK_SECONDS:
            return False
        self._stuck_looked_at = monotonic()
        async with self._database.transaction() as session:
            found = await find_stuck(session, self._experiment_id)
        self._times_stuck = self._times_stuck + 1 if found and found == self._stuck else int(bool(found))
        self._stuck = found
        return self._times_stuck >= STUCK_LOOKS
