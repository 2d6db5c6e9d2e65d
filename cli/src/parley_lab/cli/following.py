"""Follows a run in the database: its messages and events, its progress, and whether it is over or stuck."""

import asyncio
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Final
from uuid import UUID

import orjson

from parley_lab.base.clock import Clock, SystemClock
from parley_lab.base.errors import NotFound, Unavailable
from parley_lab.cli.screen import Screen
from parley_lab.cli.telling import Line, Openings, Repeated, Teller, cohorts_text, folded
from parley_lab.contracts.key_rules import Gate
from parley_lab.drafts.called_keys import Waiting, waiting_for_keys
from parley_lab.drafts.limits import CallLimit, call_limit
from parley_lab.experiments.experiments import Progress, progress
from parley_lab.experiments.following import (
    CohortProgress,
    OpenedStage,
    cohort_progress,
    has_ended,
    news,
    opened_stages,
)
from parley_lab.members.alerts import alerts_of
from parley_lab.settle.watch import Stuck, are_calls_under_way, find_stuck
from parley_lab.store.session import Database
from parley_lab.store.statements import Row
from parley_lab.talk.streams import cohorts_of, last_of

LOOK_SECONDS: Final = 0.25
"""How often to look for new events."""
PROGRESS_SECONDS: Final = 0.5
PLAIN_PROGRESS_SECONDS: Final = 5.0
"""How often to show progress, on a terminal and, as one more line each time, elsewhere."""
MOST_OF_THE_TIME: Final = 10
"""Following a large run takes at most one part in so many of the time."""
LONGEST_REST_SECONDS: Final = 2.0
"""The longest rest: in a busy lab a cheap look takes long, too."""
STUCK_LOOK_SECONDS: Final = 1.0
PATIENCE: Final = timedelta(minutes=5)
"""How long a run waits for a refused key."""
STUCK_LOOKS: Final = 3
"""A run is stuck when so many looks in a row find it unchanged."""
LONGEST_STEP: Final = timedelta(minutes=1)
"""A cohort that waits so long for the orchestrator waits in vain: a rule of its stage raises an error each time."""

_LAB: Final = "lab"

ShowProgress = Callable[[UUID, Progress, Sequence[CohortProgress]], None]
"""Shows the progress of an experiment and its cohorts."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How following ended: the run has ended, it is stuck with these members, or it has stopped.

    `is_paused`: a user has paused it. `progress` None: it was deleted.
    """

    progress: Progress | None
    stuck: Sequence[Stuck] = ()
    refused: Sequence[Waiting] = ()
    spent: CallLimit | None = None
    """The limit of calls that the run has used up, if it has."""
    is_paused: bool = False

    @property
    def can_go_on(self) -> bool:
        """Whether the run has stopped before its end and can be resumed."""
        return bool(self.refused) or self.spent is not None or self.is_paused


class Follower:
    """Shows one run on the screen until it is over. It only reads: stopping it leaves the run as it is."""

    def __init__(
        self,
        database: Database,
        experiment_id: UUID,
        screen: Screen,
        *,
        show_progress: ShowProgress,
        label: str = "",
        step_by_step: bool = False,
        with_minutes: Container[str] = (),
        patience: timedelta = PATIENCE,
        waits_in_pauses: bool = False,
        clock: Clock | None = None,
        monotonic: Callable[[], float] = monotonic,
    ) -> None:
        """step_by_step: show every step of stages that narrate, not only their results.

        with_minutes: stages whose answers are also messages of a thread, and so are not shown twice.
        waits_in_pauses: whether to follow a paused run until it is resumed.
        patience: how long a key may be paused; a refused first call is not waited for.
        """
        self._database = database
        self._experiment_id = experiment_id
        self._screen = screen
        self._show_progress_of_run = show_progress
        self._label = f"{label} " if label else ""
        self._teller = Teller(step_by_step=step_by_step)
        self._held: dict[tuple[UUID, str], Sequence[str]] = {}
        self._openings = Openings()
        self._failures, self._alerts = Repeated(), Repeated()
        self._participants: dict[UUID, int] = {}
        self._lines: list[Line] = []
        self._with_minutes = with_minutes
        self._seen: dict[UUID, int] = {}
        self._patience = patience
        self._waits_in_pauses = waits_in_pauses
        self._says_pause = True
        self._clock = clock or SystemClock()
        self._alerts_seen: set[UUID] = set()
        self._alerts_over: set[UUID] = set()
        self._cohort_ids: list[UUID] = []
        self._progress: Progress | None = None
        self._cohorts: Sequence[CohortProgress] = ()
        self._progress_due_at = 0.0
        self._progress_shown_at = 0.0
        self._monotonic = monotonic
        self._stuck_looked_at = monotonic()
        self._stuck: Sequence[Stuck] = ()
        self._times_stuck = 0

    async def skip_what_was(self) -> None:
        """Show only what happens from now on."""
        async with self._database.transaction() as session:
            self._seen = await last_of(session, await cohorts_of(session, self._experiment_id))
            for opened in await opened_stages(session, [*self._seen]):
                self._teller.new_lines(opened)
                self._openings.skip((opened.cohort_id, opened.stage.id))
            self._alerts_seen = {alert.id for alert in await alerts_of(session, self._experiment_id)}

    async def until_over(self) -> Ending:
        """Show what happens until the run has ended or is stuck; wait while Postgres is away."""
        while True:
            try:
                began = self._monotonic()
                ending = await self._look()
                if ending is not None:
                    return ending
                await self._rest(MOST_OF_THE_TIME * (self._monotonic() - began))
            except NotFound:
                return Ending(None)
            except Unavailable as error:
                self._screen.problem(error.message)
                await asyncio.sleep(PLAIN_PROGRESS_SECONDS)

    async def until_calls_are_back(self) -> None:
        """Wait for the calls in flight when the run was paused: their replies are stored."""
        while True:
            async with self._database.transaction() as session:
                if not await are_calls_under_way(session, self._experiment_id, self._clock.now()):
                    return
            await asyncio.sleep(LOOK_SECONDS)

    async def _rest(self, seconds: float) -> None:
        """Wait for the next look or the end of the run; after the end everything is counted again, at any cost."""
        due_at = self._monotonic() + min(seconds, LONGEST_REST_SECONDS)
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            async with self._database.transaction() as session:
                if await has_ended(session, self._experiment_id):
                    self._progress_due_at = 0.0
                    return
            if self._monotonic() >= due_at:
                return

    async def _look(self) -> Ending | None:
        """Read the state before the events: when it says that the run has ended, all events are there."""
        now = await self._current_progress()
        has_news = await self._show_news()
        await self._show_alerts()
        if now.status == "ended":
            return Ending(now)
        self._show_progress(now)
        if now.status == "paused" and (spent := await self._spent_limit()) is not None:
            return Ending(now, spent=spent)
        if now.status == "paused":
            return self._in_pause(now)
        self._says_pause = True
        refused = await self._refused_keys()
        if refused:
            return Ending(now, refused=refused)
        return Ending(now, self._stuck) if await self._is_stuck(has_news) else None

    async def _spent_limit(self) -> CallLimit | None:
        async with self._database.transaction() as session:
            limit = await call_limit(session, self._experiment_id)
        return limit if limit is not None and limit.is_reached else None

    def _in_pause(self, now: Progress) -> Ending | None:
        if not self._waits_in_pauses:
            return Ending(now, is_paused=True)
        if self._says_pause:
            self._says_pause = False
            self._screen.notice(f"{self._label}The experiment is paused.", style="bold yellow")
        return None

    async def _refused_keys(self) -> Sequence[Waiting]:
        """The keys whose patience is used up."""
        async with self._database.transaction() as session:
            waiting = await waiting_for_keys(session, self._experiment_id)
        now = self._clock.now()
        return [one for one in waiting if _is_beyond(one.gate, now, self._patience)]

    async def _current_progress(self) -> Progress:
        """The progress; counted at some looks only, because counting is slow in large runs."""
        began = self._monotonic()
        if self._progress is None or began >= self._progress_due_at:
            async with self._database.transaction() as session:
                self._progress = await progress(session, self._experiment_id)
                self._cohorts = await cohort_progress(session, self._experiment_id)
            took = self._monotonic() - began
            self._progress_due_at = began + max(PROGRESS_SECONDS, MOST_OF_THE_TIME * took)
        return self._progress

    async def _show_news(self) -> bool:
        async with self._database.transaction() as session:
            self._cohort_ids = self._cohort_ids or await cohorts_of(session, self._experiment_id)
            last = await last_of(session, self._cohort_ids)
            unseen = self._unseen(last)
            opened = await opened_stages(session, unseen) if unseen else ()
        for one in opened:
            self._take_note(one)
        while spans := self._unseen(last):
            async with self._database.transaction() as session:
                events = await news(session, spans)
            for event in events:
                self._show(event)
                self._seen[event.cohort_id] = event.stream_seq
            self._show_lines()
        self._show_lines()
        return bool(unseen)

    def _unseen(self, last: Mapping[UUID, int]) -> dict[UUID, tuple[int, int]]:
        """The range of events of each cohort that were not shown yet; in the order of cohorts."""
        spans = {cohort_id: (self._seen.get(cohort_id, 0), last[cohort_id]) for cohort_id in self._cohort_ids}
        return {cohort_id: (seen, newest) for cohort_id, (seen, newest) in spans.items() if seen < newest}

    def _take_note(self, opened: OpenedStage) -> None:
        """Show what is new on a stage, after its opening was shown."""
        where = (opened.cohort_id, opened.stage.id)
        self._participants[opened.cohort_id] = sum(one.kind == "participant" for one in opened.view.members)
        is_known = self._teller.tells(*where)
        lines = [f"{opened.stage.id}: {line}" for line in self._teller.new_lines(opened)]
        if is_known:
            self._tell(opened.cohort_path, lines)
        elif self._teller.tells(*where):
            self._held[where] = lines

    def _tell(self, cohort_path: str, lines: Sequence[str]) -> None:
        for line in lines:
            self._lines.append(Line(cohort_path, line))

    def _show_lines(self) -> None:
        for cohorts, line in folded(self._lines):
            place = self._label + cohorts_text(cohorts)
            if line.author is None:
                self._screen.happened(place, line.text)
            else:
                self._screen.said(place, line.stage_id, line.author, line.text)
        self._lines.clear()

    def _show(self, event: Row) -> None:
        event_type, subject, payload = event.type, event.subject, orjson.loads(event.payload or "{}")
        cohort = subject.split("/", 1)[0]
        participants = self._participants.get(event.cohort_id, 0)
        match event_type:
            case "message.created" if payload["author"] is None:
                self._tell(cohort, [f"{payload['stage_id']}  {payload['text']}"])
            case "message.created":
                author = payload["author"]["profile"].get("name") or _LAB
                self._lines.append(Line(cohort, payload["text"], payload["stage_id"], author))
            case "stage.unlocked" if (where := (event.cohort_id, payload["stage_id"])) in self._held:
                self._openings.skip(where)
                self._tell(cohort, self._held.pop(where))
            case "ask.answered" if payload["stage_id"] in self._with_minutes:
                pass
            case "ask.answered" if self._teller.tells(event.cohort_id, payload["stage_id"]):
                pass
            case "cohort.ended" if self._teller.tells_outcome(event.cohort_id):
                pass
            case "ask.answered":
                self._tell(cohort, [f"{subject} has answered {payload['key']}"])
            case "stage.unlocked":
                line = self._openings.opened((event.cohort_id, payload["stage_id"]), participants=participants)
                self._tell(cohort, [line] if line else [])
            case "member.moved" if (stage_id := payload["to_stage_id"]) is not None:
                line = self._openings.arrived((event.cohort_id, stage_id), subject, participants=participants)
                self._tell(cohort, [line] if line else [])
            case "member.joined":
                self._tell(cohort, [f"{subject} has joined"])
            case "member.failed":
                reason = str(payload.get("reason", ""))
                self._tell(cohort, self._failures.new_lines(reason, f"{subject} failed: {reason}"))
            case "member.left" | "member.removed":
                word = event_type.removeprefix("member.")
                self._tell(cohort, [f"{subject} {word}: {payload.get('reason', '')}"])
            case "cohort.ended":
                self._tell(cohort, ["has ended"])
            case _:
                pass

    async def _show_alerts(self) -> None:
        async with self._database.transaction() as session:
            alerts = await alerts_of(session, self._experiment_id)
        for alert in alerts:
            if alert.id not in self._alerts_seen:
                self._alerts_seen.add(alert.id)
                about = alert.text.removeprefix(alert.member or "")
                for line in [] if self._failures.has_told(about) else self._alerts.new_lines(about, alert.text):
                    self._screen.alert(self._label + (alert.cohort or _LAB), line)
            elif alert.is_over and alert.id not in self._alerts_over:
                self._alerts_over.add(alert.id)
                self._screen.happened(self._label + (alert.cohort or _LAB), f"is over: {alert.text}")

    def _show_progress(self, now: Progress) -> None:
        every = PROGRESS_SECONDS if self._screen.is_terminal else PLAIN_PROGRESS_SECONDS
        if self._monotonic() - self._progress_shown_at >= every:
            self._progress_shown_at = self._monotonic()
            self._show_progress_of_run(self._experiment_id, now, self._cohorts)

    async def _is_stuck(self, has_news: bool) -> bool:
        if has_news:
            self._times_stuck = 0
        if self._monotonic() - self._stuck_looked_at < STUCK_LOOK_SECONDS:
            return False
        self._stuck_looked_at = self._monotonic()
        async with self._database.transaction() as session:
            found = await find_stuck(session, self._experiment_id, waits_since=self._clock.now() - LONGEST_STEP)
        self._times_stuck = self._times_stuck + 1 if found and found == self._stuck else int(bool(found))
        self._stuck = found
        return self._times_stuck >= STUCK_LOOKS


def _is_beyond(gate: Gate, now: datetime, patience: timedelta) -> bool:
    """Whether a paused key takes longer than a run waits; a refused first call is not waited for."""
    if not gate.is_tried or gate.paused_at is None:
        return True
    if gate.waits and gate.next_try_at is not None:
        return gate.next_try_at > gate.paused_at + patience
    return gate.paused_at <= now - patience
