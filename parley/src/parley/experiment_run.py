"""One run of an experiment in an embedded lab: begun and recorded, followed to its end, its data written."""

import os
from collections.abc import Sequence
from datetime import datetime
from time import monotonic
from typing import Final
from uuid import UUID

from parley import run_folder
from parley.embedded import EmbeddedLab
from parley.following import Ending, Follower
from parley.overview import Overview
from parley.plans import Order, Plan, begun_experiment
from parley.run_folder import Run
from parley.screen import Screen, conversation_line, progress_line
from shared.db import experiments
from shared.db.following import Failed, failed_members, open_seats, others_running
from shared.errors import InvalidInput
from shared.exports import conversations, export
from shared.stages import kind_of

FINISHED: Final = 0
INCOMPLETE: Final = 1
"""The run is stuck, or participants failed in it."""


class ExperimentRun:
    """One run of an experiment, from its start or where it was left to its data files."""

    def __init__(
        self, order: Order, plan: Plan, lab: EmbeddedLab, screen: Screen, overview: Overview, *, label: str
    ) -> None:
        """label: stands before what is told of this run, where others are told of beside it."""
        self._order = order
        self._plan = plan
        self._lab = lab
        self._screen = screen
        self._overview = overview
        self._label = label
        self._database = lab.database
        self.has_begun = plan.run is not None

    @property
    def name(self) -> str:
        return self._plan.experiment.name

    @property
    def begun_at(self) -> datetime | None:
        """When the run that is gone on with was begun."""
        return None if self._plan.run is None else datetime.fromisoformat(self._plan.run.started_at)

    async def begin(self, now: datetime) -> Run:
        """The run that is gone on with, or a new one, recorded and not started yet."""
        return await self._resumed(self._plan.run) if self._plan.run is not None else await self._begun(now)

    async def to_its_end(self, run: Run, together_with: Sequence[str]) -> int:
        """Start or go on with the run; `together_with` names the experiments of the same file."""
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
            with_minutes={stage.id for stage in stages if kind_of(stage).thread == "minutes"},
        )
        if self._plan.run is not None:
            await follower.skip_what_was()
        await self._start(run.experiment_id, together_with)
        await self._say_who_is_awaited(run.experiment_id)
        ending = await follower.until_over()
        self._screen.end_progress()
        return await self._concluded(run, ending, monotonic() - began)

    async def _begun(self, now: datetime) -> Run:
        plan = self._plan
        async with self._database.transaction() as session:
            experiment_id = await experiments.create(session, self._lab.operator_id, plan.experiment, now)
            if plan.model_mode != plan.experiment.model_mode:
                await experiments.set_model_mode(session, experiment_id, plan.model_mode)
        # The record stands before anything happens, so that whatever has begun can be resumed.
        run = run_folder.begin(
            self._order.out,
            plan.experiment.name,
            experiment_id=experiment_id,
            file_hash=plan.file_hash,
            file=plan.file.path,
            model_mode=plan.model_mode,
            now=now,
        )
        self.has_begun = True
        self._say_what(f"Running {plan.experiment.name!r} from {plan.file.path}")
        return run

    async def _resumed(self, run: Run) -> Run:
        async with self._database.transaction() as session:
            row = await begun_experiment(session, run)
        if row.model_mode != self._plan.model_mode:
            raise InvalidInput(f"{run.folder / run_folder.RECORD} was changed: the run uses {row.model_mode} models.")
        self._say_what(f"Going on with the run {run.folder}")
        return run

    def _say_what(self, text: str) -> None:
        mode = self._plan.model_mode
        says_other = mode != self._plan.experiment.model_mode and self._plan.file.values is not None
        models = f"{mode} models" + (f" (the file says {self._plan.experiment.model_mode})" if says_other else "")
        self._screen.notice(f"{text}, with {models}, pace {self._plan.experiment.pace}.", style="bold")
        told = [stage.id for stage in self._plan.experiment.stages if kind_of(stage).tells_itself]
        if told and not self._order.steps:
            self._screen.notice(f"Of {', '.join(told)} only the outcome is shown; --steps shows all.", style="dim")

    async def _start(self, experiment_id: UUID, together_with: Sequence[str]) -> None:
        async with self._database.transaction() as session:
            row = await experiments.find(session, experiment_id)
            if row.status == "draft":
                await experiments.start(session, experiment_id, self._lab.clock.now())
            running = await others_running(session, experiment_id, self._lab.served_modes)
        others = [name for name in running if name not in together_with]
        if others and self.name == together_with[0]:
            self._screen.notice(
                f"Unfinished experiments in this lab go on as well: {', '.join(map(repr, others[:5]))}"
                + (f" and {len(others) - 5} more." if len(others) > 5 else "."),
                style="yellow",
            )

    async def _say_who_is_awaited(self, experiment_id: UUID) -> None:
        async with self._database.transaction() as session:
            seats = await open_seats(session, experiment_id)
        if seats:
            self._screen.notice(
                f"Waiting for {seats} {'person' if seats == 1 else 'people'} to join: "
                f"curl -X POST {self._lab.url}/v1/experiments/{experiment_id}/join",
                style="bold yellow",
            )

    async def _concluded(self, run: Run, ending: Ending, seconds: float) -> int:
        written = await export(self._database, run.experiment_id, run.folder, self._lab.clock.now())
        async with self._database.transaction() as session:
            failed = await failed_members(session, run.experiment_id)
            talks = [row async for row in conversations(session, run.experiment_id)]
        self._say_how_it_ended(ending, failed, seconds)
        for talk in talks:
            self._screen.notice(conversation_line(talk))
        for report in written.reports:
            self._screen.notice("\n".join(report.lines))
        self._screen.notice(f"The data are in {run.folder}{os.sep}", style="bold")
        if ending.stuck:
            return INCOMPLETE
        run_folder.finish(run)
        return INCOMPLETE if failed else FINISHED

    def _say_how_it_ended(self, ending: Ending, failed: Sequence[Failed], seconds: float) -> None:
        line = progress_line(ending.progress)
        self._screen.notice(f"{self._label}: {line}" if self._label else line)
        if ending.stuck:
            self._screen.problem("The run is stuck: nothing more will happen in it.")
        for stuck in ending.stuck:
            self._screen.problem(f"  {stuck.member_path} on {stuck.stage_id or 'no stage'}: {stuck.reason}")
        if failed:
            cohorts = list(dict.fromkeys(member.cohort for member in failed))
            self._screen.problem(f"{len(failed)} of the members failed, in {', '.join(cohorts)}:")
        for member in failed:
            self._screen.problem(f"  {member.member_path} on {member.stage_id or 'no stage'}: {member.reason}")
        if failed and not ending.stuck:
            self._screen.notice("They are not asked again, nor by --resume: mend the reason, then start a new run.")
        if not ending.stuck and not failed:
            self._screen.notice(f"Finished in {seconds:.1f} s.", style="bold green")
