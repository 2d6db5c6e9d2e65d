"""What a user at a terminal sees of a run, and when the end of the run is noticed."""

import asyncio
from collections.abc import Sequence
from io import StringIO
from uuid import UUID

import pytest
from rich.console import Console

from parley_lab.cli.following import Ending, Follower
from parley_lab.cli.screen import Screen
from parley_lab.experiments.experiments import Progress
from parley_lab.experiments.following import CohortProgress
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

GAMES = """
parley: 1
name: Games
seed: 3
personas:
  - {id: alld, profile: {name: Al}, player: script, script: {matrix_game: {policy: ALLD}}}
  - {id: tft, profile: {name: Tia}, player: script, script: {matrix_game: {policy: TFT}}}
  - {id: forgiving, profile: {name: Flo}, role: a trader, goal: peace, script: {matrix_game: {persona: forgiving}}}
stages:
  - {id: game, kind: matrix_game, horizon: {type: fixed, rounds: 3}}
cohorts:
  - {seats: [{persona: forgiving}, {persona: alld}]}
  - {seats: [{persona: tft}, {persona: alld}]}
"""


class Told:
    """Follows a run on a screen that can be read."""

    def __init__(self, database: Database, experiment_id: UUID, *, step_by_step: bool = False) -> None:
        self._written = StringIO()
        self.now = 0.0
        self.slowness = 0.0
        self.has_looked = asyncio.Event()
        self._follower = Follower(
            database,
            experiment_id,
            Screen(Console(file=self._written, width=200)),
            show_progress=self._note,
            step_by_step=step_by_step,
            monotonic=lambda: self.now,
        )

    def _note(self, experiment_id: UUID, progress: Progress, cohorts: Sequence[CohortProgress]) -> None:
        self.now += self.slowness
        self.has_looked.set()

    async def until_over(self) -> Ending:
        async with asyncio.timeout(30):
            return await self._follower.until_over()

    async def lines(self) -> list[str]:
        await self.until_over()
        return self._written.getvalue().splitlines()

    async def skip_what_was(self) -> None:
        await self._follower.skip_what_was()


async def played(database: Database) -> UUID:
    lab = DrainLab(database)
    experiment_id = await lab.start(GAMES)
    await lab.drain()
    return experiment_id


async def test_of_games_it_is_told_what_they_came_to(database: Database) -> None:
    told = await Told(database, await played(database)).lines()

    assert told == ["c1  game: Flo 1, Al 11 after 3 rounds", "c2  game: Tia 2, Al 7 after 3 rounds"]


async def test_step_by_step_every_round_is_told_once_with_both_moves(database: Database) -> None:
    told = await Told(database, await played(database), step_by_step=True).lines()

    assert told[:4] == [
        "c1  game: round 1: Flo cooperates, Al defects (0:5)",
        "c1  game: round 2: Flo cooperates, Al defects (0:5)",
        "c1  game: round 3: Flo defects, Al defects (1:1)",
        "c1  game: Flo 1, Al 11 after 3 rounds",
    ]
    assert len(told) == 8


async def test_what_was_told_before_a_run_was_resumed_is_not_told_again(database: Database) -> None:
    told = Told(database, await played(database), step_by_step=True)
    await told.skip_what_was()

    assert await told.lines() == []


async def test_the_end_of_a_run_is_noticed_however_long_the_last_look_took(database: Database) -> None:
    lab = DrainLab(database)
    told = Told(database, await lab.start(GAMES))
    told.now = told.slowness = 1_000.0
    following = asyncio.create_task(told.until_over())
    await told.has_looked.wait()

    await lab.drain()

    progress = (await following).progress
    assert progress is not None
    assert progress.status == "ended"


async def test_what_came_before_a_game_is_told_before_it(database: Database) -> None:
    lab = DrainLab(database)
    form = "{id: FORM, kind: survey, ask: sequential, questions: [{id: q, kind: text, title: Why}]}"
    game = "{id: game, kind: matrix_game, horizon: {type: fixed, rounds: 3}}"
    stages = [form.replace("FORM", "before"), game]
    experiment_id = await lab.start(GAMES.replace(f"  - {game}", "\n".join(f"  - {stage}" for stage in stages)))
    await lab.drain()

    told = await Told(database, experiment_id).lines()

    assert told[:2] == ["c1, c2  before is open", "c1  game: Flo 1, Al 11 after 3 rounds"]
    assert len(told) == 3
