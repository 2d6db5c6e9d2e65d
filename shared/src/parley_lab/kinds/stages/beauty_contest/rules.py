"""The rules of a beauty contest: a core, and the parts that a stage of it has."""

from collections.abc import Mapping, Sequence
from random import Random

from parley_lab.base.errors import Problem
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import (
    Ask,
    Block,
    Blocked,
    Completion,
    Done,
    Draws,
    Json,
    Member,
    OwnView,
    Parts,
    Reason,
    StageKind,
)
from parley_lab.kinds.stages.beauty_contest import config, display, telling
from parley_lab.kinds.stages.beauty_contest.config import FEWEST_PLAYERS, BeautyContestStage
from parley_lab.kinds.stages.beauty_contest.contest import PLAYERS, contest_of, tally
from parley_lab.kinds.stages.beauty_contest.display import ContestPage
from parley_lab.kinds.stages.beauty_contest.questions import ContestQuestions
from parley_lab.kinds.stages.beauty_contest.reporting import ContestData
from parley_lab.kinds.stages.beauty_contest.scripts import ContestScripts


class BeautyContest(StageKind[BeautyContestStage]):
    config_model = BeautyContestStage

    def page(self, stage: BeautyContestStage, view: OwnView) -> ContestPage:
        return display.page_of(contest_of(stage, view), view)

    def prompt(self, stage: BeautyContestStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        told = telling.paragraphs(contest_of(stage, view), view, is_over=ask is None)
        return [Block("\n\n".join(told))]

    def example(self) -> BeautyContestStage:
        return BeautyContestStage(id="contest", name="Guess the number", rounds=3, chat=True)

    def problems(self, stage: BeautyContestStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        return [*config.problems(stage)]

    def completion(self, stage: BeautyContestStage, view: OwnView) -> Completion:
        """Players go on when the contest is over; a member who came after its opening does not play or wait."""
        contest = contest_of(stage, view)
        is_waiting = view.me.id in contest.players or not contest.players
        if is_waiting and not contest.is_over:
            return Blocked((Reason("The game goes on.", "goes_on"),))
        return Done(display.summary(contest, view.me.id))

    def parts(self, stage: BeautyContestStage) -> Parts:
        return Parts(
            questions=ContestQuestions(stage),
            draws=ContestDraws(),
            state=lambda view: tally(stage, view),
            narration=telling.ContestNarration(stage),
            data=ContestData(stage),
            scripts=ContestScripts(stage),
            players=(FEWEST_PLAYERS, None),
        )


class ContestDraws(Draws):
    """The players: all who have come when the contest opens. No chance is involved."""

    def draw(self, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        return {PLAYERS: [str(one.id) for one in members], **drawn}


KIND = BeautyContest()
