"""Runs one experiment in an embedded lab: starts and records it, follows it to its end, writes its data."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from time import monotonic
from typing import Final
from uuid import UUID

from parley_lab.base.errors import Conflict, InvalidInput, NotFound
from parley_lab.cli import run_folder
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.cli.following import Ending, Follower
from parley_lab.cli.made_up_minds import Minds
from parley_lab.cli.overview import Overview
from parley_lab.cli.plans import Order, Plan, begun_experiment, personas_of_people, require_people
from parley_lab.cli.rehearsing import rehearse
from parley_lab.cli.run_folder import NotWritten, Run
from parley_lab.cli.screen import (
    Screen,
    called_lines,
    conversation_line,
    given_up_line,
    missing_line,
    progress_line,
    released_line,
    spent_line,
)
from parley_lab.contracts.endpoints import ENDPOINT_KEYS_VARIABLE
from parley_lab.contracts.key_rules import BAD_REQUEST, UNREACHABLE, WAITS, Gate, first_in_words, waiting_in_words
from parley_lab.contracts.named_providers import read_providers
from parley_lab.contracts.providers import CREWAI_KEY_VARIABLES
from parley_lab.design import Experiment
from parley_lab.design.most_calls import most_calls
from parley_lab.drafts.called_keys import Waiting
from parley_lab.drafts.limits import CallLimit, set_most_calls, spent_limit
from parley_lab.experiments import experiments, files, pausing, starting
from parley_lab.experiments.experiments import Progress
from parley_lab.experiments.following import (
    Failed,
    failed_members,
    given_up,
    missing_answers,
    open_seats,
    released_agents,
    seats_of_people,
)
from parley_lab.experiments.reviving import Revived, retry_failed
from parley_lab.experiments.runs import spent
from parley_lab.formats.exports import Written, conversations, export
from parley_lab.kinds.stages import parts_of
from parley_lab.people.opening import close_to_people
from parley_lab.settle.watch import are_replies_to_come
from parley_lab.store.session import WHOLE_EXPERIMENT_SECONDS

FINISHED: Final = 0
_MOST_NAMED: Final = 5
_MOST_ADDRESSES: Final = 6
INCOMPLETE: Final = 1
"""The run is stuck, participants failed in it, answers are missing, or replies were given up."""

_WHAT_TO_DO: Final = {
    "auth_error": "Put a key that is accepted there into {variable}.",
    "no_quota": "See that the account has money and quota left, or put the key of another into {variable}.",
    **dict.fromkeys(WAITS, "Go on with --resume then; --patience MINUTES waits longer."),
    BAD_REQUEST: "See what the server can do: parley providers test. What it lacks is said by `lacks` of the model.",
    UNREACHABLE: "See that a model is served there, that the address is right and that this machine can reach it.",
}


def failed_lines(failed: Sequence[Failed]) -> list[str]:
    """Who failed, by place and reason; a reason that many members share is told once."""
    found: dict[tuple[str, str], list[str]] = {}
    for member in failed:
        found.setdefault((member.stage_id or "no stage", member.reason), []).append(member.member_path)
    return [f"  {_shortened(paths)} on {stage}: {reason}" for (stage, reason), paths in found.items()]


def _own_address(url: str, number: int) -> str:
    """The same server under a name of its own on this machine: to a browser, a place with a memory of its own."""
    scheme, _, place = url.partition("://")
    return f"{scheme}://p{number}.localhost:{place.rpartition(':')[2]}"


def _shortened(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    return f"{', '.join(paths[:_MOST_NAMED])}{more}"


def spent_calls_text(limit: CallLimit) -> str:
    """Why a run that has used up its limit of calls cannot continue."""
    return f"The run has made {limit.taken} calls of models already. Name more than that with --max-calls."


class ExperimentRun:
    """One run of an experiment, from its start or its last stop to its data files."""

    def __init__(
        self, order: Order, plan: Plan, lab: EmbeddedLab, screen: Screen, overview: Overview, *, label: str
    ) -> None:
        """label: a prefix for the lines of this run, when several runs share the screen."""
        self._order = order
        self._plan = plan
        self._lab = lab
        self._screen = screen
        self._overview = overview
        self._label = label
        self._database = lab.database
        self.has_begun = plan.run is not None
        self._run: Run | None = None
        self._is_written = False
        self.is_left = False
        """Whether the run has stopped before its end and can be resumed."""
        self.spent: CallLimit | None = None
        """The limit of calls that stops the run."""

    @property
    def experiment_id(self) -> UUID | None:
        """The experiment, once the run has started."""
        return None if self._run is None else self._run.experiment_id

    @property
    def begun_at(self) -> datetime | None:
        """The start of the run that is resumed."""
        return None if self._plan.run is None else datetime.fromisoformat(self._plan.run.started_at)

    async def begin(self, now: datetime) -> Run:
        """The run to resume, or a new one, recorded but not started."""
        self._run = await self._resumed(self._plan.run) if self._plan.run is not None else await self._begun(now)
        return self._run

    async def to_its_end(self, run: Run) -> int:
        """Start or resume the run; a run without calls left, or whose folder cannot be written, stays as it is."""
        try:
            return await self._follow(run)
        except NotWritten as error:
            self._say_not_written(run, error)
            return INCOMPLETE

    async def _follow(self, run: Run) -> int:
        if self.spent is not None:
            self.is_left = True
            self._screen.problem(f"{self._label}: {spent_calls_text(self.spent)}")
            return INCOMPLETE
        began = monotonic()
        self._overview.expect(run.experiment_id, self._plan.replies, self._label)
        stages = self._plan.experiment.stages
        follower = Follower(
            self._database,
            run.experiment_id,
            self._screen,
            show_progress=self._overview.show,
            label=self._label,
            step_by_step=self._order.steps,
            patience=self._order.patience,
            waits_in_pauses=self._order.keep_serving,
            with_minutes={stage.id for stage in stages if parts_of(stage).minutes is not None},
        )
        if self._plan.run is not None:
            await follower.skip_what_was()
        await self._start(run)
        rehearsal = await self._fill_seats(run.experiment_id)
        try:
            ending = await follower.until_over()
        finally:
            if rehearsal is not None:
                rehearsal.cancel()
        if ending.refused:
            await self._stop(run.experiment_id)
        if ending.can_go_on:
            await follower.until_calls_are_back()
        self._screen.end_progress()
        if ending.progress is not None:
            # Deleting an experiment ends it first: it may be gone before its data are written.
            with suppress(NotFound):
                return await self._concluded(run, ending, ending.progress, monotonic() - began)
        self._screen.problem("The experiment was deleted while it ran. Nothing more of it is kept.")
        return INCOMPLETE

    async def _begun(self, now: datetime) -> Run:
        plan = self._plan
        async with self._database.transaction() as session:
            if plan.file.reading is not None:
                await files.keep(session, plan.file.reading.files, now)
            experiment_id = await starting.create(session, self._lab.operator_id, plan.experiment, now)
            if plan.model_mode != plan.experiment.model_mode:
                await starting.set_model_mode(session, experiment_id, plan.model_mode)
            row = await experiments.find(session, experiment_id)
        # The record is written first, so that every run that was started can be resumed.
        run = run_folder.begin(
            self._order.out,
            plan.experiment.name,
            experiment_id=experiment_id,
            file_hash=plan.file_hash,
            file=plan.file.path,
            model_mode=plan.model_mode,
            model=plan.model,
            now=now,
        )
        self._lab.directory.note_run(experiment_id, run.folder)
        self.has_begun = True
        self._say_what(f"Running {plan.experiment.name!r} from {plan.file.path}", row.seed)
        return run

    async def _resumed(self, run: Run) -> Run:
        async with self._database.transaction() as session:
            row = await begun_experiment(session, run)
            if row.status != "ended" or self._order.retry_failed:
                self.spent = await spent_limit(session, run.experiment_id, self._order.max_calls)
        if row.model_mode != self._plan.model_mode:
            raise InvalidInput(f"{run.folder / run_folder.RECORD} was changed: the run uses {row.model_mode} models.")
        if self.spent is None:
            self._say_what(f"Going on with the run {run.folder}", row.seed)
        self._lab.directory.note_run(run.experiment_id, run.folder)
        return run

    def _say_what(self, text: str, seed: int) -> None:
        mode = self._plan.model_mode
        says_other = mode != self._plan.experiment.model_mode and self._plan.file.values is not None
        models = f"{mode} models" + (f" (the file says {self._plan.experiment.model_mode})" if says_other else "")
        self._screen.notice(f"{text}, with {models}, pace {self._plan.experiment.pace}, seed {seed}.", style="bold")
        for line in talk_costs(self._plan.experiment):
            self._screen.notice(line, style="dim")
        told = [stage.id for stage in self._plan.experiment.stages if parts_of(stage).narration is not None]
        if told and not self._order.steps:
            self._screen.notice(f"Of {', '.join(told)} only the outcome is shown; --steps shows all.", style="dim")

    async def _start(self, run: Run) -> None:
        now, experiment_id = self._lab.clock.now(), run.experiment_id
        async with self._database.transaction(statement_seconds=WHOLE_EXPERIMENT_SECONDS) as session:
            row = await experiments.find(session, experiment_id)
            if self._order.max_calls is not None and (row.status != "ended" or self._order.retry_failed):
                await set_most_calls(session, experiment_id, self._order.max_calls)
            if self._plan.model_mode == "real" and row.status == "draft":
                experiment = Experiment.model_validate(row.document)
                self._screen.notice(costs_line(experiment, self._order.max_calls))
            if row.status == "draft":
                await starting.start(session, experiment_id, now)
            elif self._order.retry_failed:
                self._say_who_is_revived(await retry_failed(session, experiment_id, now, cause="command line"))
            if row.status == "paused":
                await pausing.resume(session, experiment_id, now, cause="command line")
            if self._plan.run is not None:
                # Before the commit: every run that continues can be resumed, and a refused one stays as it was.
                run_folder.go_on(run)

    async def write_what_there_is(self) -> bool:
        """Write the data of a run that stops before its end; False if they cannot be written."""
        if self._run is None or self._is_written:
            return True
        try:
            if await self._write(self._run) is None:
                return False
        except NotFound:
            return True
        self._screen.notice(f"The data so far are in {self._run.folder}{os.sep}", style="bold")
        return True

    async def _write(self, run: Run) -> Written | None:
        """Write the data; None, with a line on the screen, if they cannot be written.

        Raises:
            NotFound: the experiment was deleted.
        """
        try:
            with run_folder.writing(run.folder):
                return await export(self._database, run.experiment_id, run.folder, self._lab.clock.now())
        except NotWritten as error:
            self._say_not_written(run, error)
            return None

    def _say_not_written(self, run: Run, error: NotWritten) -> None:
        self._screen.problem(f"{error} The lab has them still: parley export {run.experiment_id.hex[:8]}")

    async def _stop(self, experiment_id: UUID) -> None:
        """Pause the run, also for its other keys, until the user resumes it."""
        async with self._database.transaction(statement_seconds=WHOLE_EXPERIMENT_SECONDS) as session:
            with suppress(Conflict):
                now = self._lab.clock.now()
                await pausing.pause(session, experiment_id, now, reason="key_refused", cause="command line")

    def _say_who_is_revived(self, revived: Revived) -> None:
        members = "1 member" if revived.members == 1 else f"{revived.members} members"
        verb = "goes on where it was" if revived.members == 1 else "go on where they were"
        told = f"{members} who had failed {verb}." if revived.members else "No member had failed."
        self._screen.notice(f"{self._label}: {told}" if self._label else told)

    async def _fill_seats(self, experiment_id: UUID) -> "asyncio.Task[Sequence[str]] | None":
        """Say where people join, or let made-up people take the open seats."""
        async with self._database.transaction() as session:
            seats = await open_seats(session, experiment_id)
            people = await seats_of_people(session, experiment_id)
            row = await experiments.find(session, experiment_id)
        code = row.join_code
        if self._lab.url is None:
            return None
        if self._order.rehearse and people:
            # Who has a seat from before the run was stopped takes part again by the same key.
            told = "1 made-up person takes part" if people == 1 else f"{people} made-up people take part"
            # Of a run that goes on, seats may have been given up.
            require_people(self._order, people)
            self._screen.notice(f"A rehearsal: {told}.", style="bold yellow")
            if self._order.turnout.others:
                self._screen.notice(f"Of them {self._order.turnout}.")
            personas = personas_of_people(self._order, self._plan.experiment)
            work = rehearse(
                self._lab.url,
                code,
                people,
                row.seed,
                turnout=self._order.turnout,
                takes_time=self._plan.experiment.pace == "live",
                mind=Minds(self._database, self._lab.clock, row.seed, personas),
                give_up_seats=partial(self._give_up_seats, experiment_id),
                are_agents_busy=partial(self._are_agents_busy, experiment_id),
            )
            return asyncio.create_task(work)
        if not seats:
            return None
        self._screen.notice(
            f"Waiting for {seats} {'person' if seats == 1 else 'people'} to join: {self._lab.url}/join/{code}",
            style="bold yellow",
        )
        if seats > 1:
            alone = [_own_address(self._lab.url, number) for number in range(1, min(seats, _MOST_ADDRESSES) + 1)]
            self._screen.notice("To take several seats alone, one in each tab:")
            for address in alone:
                self._screen.notice(f"  {address}/join/{code}")
        return None

    async def _give_up_seats(self, experiment_id: UUID) -> None:
        """The run goes on to its end without those who are missing."""
        now = self._lab.clock.now()
        seats = await self._database.transact(
            lambda session: close_to_people(session, experiment_id, now, cause="command line")
        )
        if seats:
            self._screen.notice(f"No one came, and these seats are given up: {', '.join(seats)}.", style="yellow")

    async def _are_agents_busy(self, experiment_id: UUID) -> bool:
        async with self._database.transaction() as session:
            return await are_replies_to_come(session, experiment_id)

    async def _concluded(self, run: Run, ending: Ending, progress: Progress, seconds: float) -> int:
        written = await self._write(run)
        async with self._database.transaction(statement_seconds=WHOLE_EXPERIMENT_SECONDS) as session:
            failed = await failed_members(session, run.experiment_id)
            missing = await missing_answers(session, run.experiment_id)
            silent = await given_up(session, run.experiment_id)
            released = await released_agents(session, run.experiment_id)
            calls, cost = await spent(session, run.experiment_id)
            talks = [row async for row in conversations(session, run.experiment_id)]
        self.is_left, self.spent = ending.can_go_on, ending.spent
        self._say_how_it_ended(ending, progress, failed, seconds)
        self._screen.notice(f"Called: {spent_line(self._plan.model_mode, calls, cost)}.")
        if missing:
            self._screen.problem(missing_line(missing))
        if silent:
            self._screen.problem(given_up_line(silent))
        if released:
            self._screen.notice(released_line(released), style="yellow")
        for talk in talks:
            self._screen.notice(conversation_line(talk))
        if written is None:
            return INCOMPLETE
        for report in written.reports:
            self._screen.notice("\n".join(report.lines))
        for line in called_lines(written.manifest["models_called"]):
            self._screen.notice(line)
        self._screen.notice(f"The data are in {run.folder}{os.sep}", style="bold")
        if ending.stuck or self.is_left:
            return INCOMPLETE
        self._is_written = True
        run_folder.finish(run)
        return INCOMPLETE if failed or missing or silent else FINISHED

    def _say_how_it_ended(self, ending: Ending, progress: Progress, failed: Sequence[Failed], seconds: float) -> None:
        line = progress_line(progress)
        self._screen.notice(f"{self._label}: {line}" if self._label else line)
        if ending.is_paused:
            self._screen.problem("The run was paused: nothing more happens in it until it is resumed.")
        if ending.stuck:
            self._screen.problem("The run is stuck: nothing more will happen in it.")
        for stuck in ending.stuck:
            self._screen.problem(f"  {stuck.member_path} on {stuck.stage_id or 'no stage'}: {stuck.reason}")
        for waiting in ending.refused:
            for told in refused_lines(waiting):
                self._screen.problem(told)
        if ending.spent is not None:
            self._screen.problem(
                f"The run is paused: it has made {ending.spent.taken} calls of models, as many as it may. "
                "Go on with --resume and a higher --max-calls."
            )
        if failed:
            cohorts = list(dict.fromkeys(member.cohort for member in failed))
            self._screen.problem(f"{len(failed)} of the members failed, in {', '.join(cohorts)}:")
        for told in failed_lines(failed):
            self._screen.problem(told)
        if failed and not ending.stuck and not self.is_left:
            self._screen.notice(
                "Mend the reason, then have them asked again with --resume --retry-failed; where the file is the "
                "reason, start a new run."
            )
        if not ending.stuck and not self.is_left and not failed:
            self._screen.notice(f"Finished in {seconds:.1f} s.", style="bold green")


def costs_line(experiment: Experiment, max_calls: int | None) -> str:
    """How many calls the file can make, and where it stops; `max_calls`: the limit on the command line."""
    most = most_calls(experiment)
    replies = f"{most.replies} {'reply' if most.replies == 1 else 'replies'}"
    if most.open_ended:
        stages = ", ".join(most.open_ended)
        known = f" On other stages it asks for at most {replies}." if most.replies else ""
        told = f"How many calls of models it makes is not known beforehand: {stages} may take any number.{known}"
    else:
        told = (
            f"It asks models for at most {replies}: {most.replies} calls, or up to {most.calls} where they have to be "
            "asked for again. Calls that a provider turns away come on top."
        )
    limit = max_calls or experiment.limits.calls
    if limit is not None:
        return f"{told} It is paused after {limit} calls."
    return f"{told} --max-calls N pauses it after N." if most.open_ended else told


def talk_costs(experiment: Experiment) -> Iterator[str]:
    """A line for each conversation with agents: `talk (race): up to 4 calls for each message, ...`."""
    people = {persona.id for persona in experiment.personas if persona.player != "agent"}
    groups = [
        (sum(seat.count for seat in cohort.seats if seat.persona and seat.persona not in people), len(cohort.mediators))
        for cohort in experiment.cohorts
    ]
    participants, mediators = max(groups, key=sum, default=(0, 0))
    for stage in experiment.stages:
        talk = parts_of(stage).talk if participants + mediators else None
        cost = None if talk is None else talk.message_cost(participants, mediators)
        if talk is not None and cost is not None:
            yield f"{stage.id} ({talk.rules.turn_taking}): {cost}."


def refused_lines(waiting: Waiting) -> Sequence[str]:
    """The reason why a run stops, in lines."""
    gate = waiting.gate
    if gate.waits:
        head = f"The run has stopped: {waiting_in_words(gate)}."
    elif gate.is_tried:
        since = f"{gate.paused_at:%H:%M:%S} UTC" if gate.paused_at else "some time ago"
        state = f"{gate.name} is not reached" if gate.fault == UNREACHABLE else f"the key of {gate.name} is refused"
        head = f"The run has stopped: {state} since {since}."
    else:
        first = first_in_words(gate)
        head = f"The run has stopped: {first[0].lower()}{first[1:]}. Nothing else was asked."
    answers = "1 answer waits" if waiting.drafts == 1 else f"{waiting.drafts} answers wait"
    return (
        head,
        f"  {gate.asked} was asked; what came back: {gate.reason}",
        f"  {answers} for it, and no member has failed. {_what_to_do(gate)}",
    )


def _what_to_do(gate: Gate) -> str:
    name, _, address = gate.name.partition(" at ")
    account = name.partition("/")[0]
    provider = read_providers(os.environ).get(account)
    variable = provider.key_variable if provider is not None else CREWAI_KEY_VARIABLES.get(account)
    if address:
        variable = f"the variable that {ENDPOINT_KEYS_VARIABLE} names for it"
    return _WHAT_TO_DO.get(gate.fault, "").format(variable=variable or "the environment")
