"""The table of guesses, and the report on the rounds of all contests. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from statistics import fmean, median
from typing import Final
from uuid import UUID

from parley_lab.kinds import Column, Data, Json, LabView, Table
from parley_lab.kinds.data import Report, Reporter, ReportTable
from parley_lab.kinds.stages.beauty_contest.config import BeautyContestStage
from parley_lab.kinds.stages.beauty_contest.contest import GUESS, LEFT, MESSAGE, Round, contest_of, key_of
from parley_lab.kinds.stages.beauty_contest.display import SUMMARY_COLUMNS, rounded
from parley_lab.kinds.stages.beauty_contest.telling import written
from parley_lab.kinds.view import View

Row = Mapping[str, Json]
GUESS_COLUMNS: Final = (
    "status",
    "round",
    "participant",
    "player",
    "name",
    "guess",
    "depth",
    "mean",
    "target",
    "distance",
    "is_winner",
    "prize",
    "message",
    "reasoning",
)
_WHERE: Final = ("cohort_path", "cohort", "treatment", "stage")
_OF_A_ROUND: Final = ("round", "guesses", "mean", "target", "mean_distance", "winners", "winning_guess", "median_depth")


class ContestData(Data):
    counted_by_round = ("prize",)

    def __init__(self, stage: BeautyContestStage) -> None:
        self._stage = stage
        self.table = Table("guesses", GUESS_COLUMNS, lambda view: [*rows(stage, view)], ContestReporter)

    def columns(self) -> list[Column]:
        return list(SUMMARY_COLUMNS)

    def by_round(self, column: str, view: View, member_id: UUID) -> dict[int, float]:
        contest = contest_of(self._stage, view)
        is_player = member_id in contest.players
        return {one.number: rounded(one.prize(member_id)) or 0.0 for one in contest.rounds} if is_player else {}


def rows(stage: BeautyContestStage, view: LabView) -> Iterator[dict[str, Json]]:
    """A line for each player who answered in a complete round, with or without a usable guess."""
    contest, members = contest_of(stage, view), {one.id: one for one in view.members}
    reference = stage.middle
    for one in contest.rounds:
        for player in contest.players:
            answer = view.answer(player, key_of(one.number, GUESS))
            if answer is None or LEFT in answer:
                continue
            said = view.answer(player, key_of(one.number, MESSAGE)) or {}
            yield {
                "status": contest.status,
                "round": one.number,
                "participant": members[player].path,
                "player": members[player].persona or members[player].player,
                "name": members[player].name,
                **_of_a_guess(one, player, reference),
                "message": said.get(MESSAGE),
                "reasoning": answer.get("reasoning"),
            }
        reference = reference if one.mean is None else one.mean


def _of_a_guess(one: Round, player: UUID, reference: float) -> dict[str, Json]:
    guess = one.guesses.get(player)
    return {
        "guess": guess,
        "depth": None if guess is None else depth(guess, reference, one.stage.factor),
        "mean": rounded(one.mean),
        "target": rounded(one.target),
        "distance": rounded(one.distance(player)),
        "is_winner": player in one.winners,
        "prize": rounded(one.prize(player)),
    }


def depth(guess: float, reference: float, factor: float) -> float | None:
    """How many times the reference was multiplied by the factor to get this guess (Nagel 1995).

    For a factor below 1, a guess above the reference has a depth below 0. None where the depth is undefined: for a
    guess of 0, which no number of steps reaches, or a factor of 1.
    """
    if guess <= 0 or reference <= 0 or factor == 1:
        return None
    # Plus 0, which turns -0.0 into 0.0.
    return round(math.log(guess / reference) / math.log(factor), 3) + 0.0


class ContestReporter(Reporter):
    """A line for each round of each contest; on the terminal one for each round of all contests."""

    def __init__(self, stage_ids: Sequence[str]) -> None:
        self._rounds: list[dict[str, Json]] = []

    def add(self, rows: Sequence[Row]) -> None:
        for number, given in groupby(rows, key=lambda row: int(row["round"])):
            of_round = [*given]
            self._rounds.append({**{name: of_round[0].get(name) for name in _WHERE}, **_round(number, of_round)})

    def report(self) -> Report | None:
        if not self._rounds:
            return None
        table = ReportTable("contests", (*_WHERE, *_OF_A_ROUND), tuple(self._rounds))
        return Report((table,), {}, tuple(self._lines()))

    def _lines(self) -> Iterator[str]:
        counted = [one for one in self._rounds if one["mean"] is not None]
        by_stage = sorted(counted, key=lambda one: (one["stage"], one["round"]))
        for (stage, number), given in groupby(by_stage, key=lambda one: (one["stage"], one["round"])):
            of_round = [*given]
            mean, target, far = (fmean(one[name] for one in of_round) for name in ("mean", "target", "mean_distance"))
            contests = "1 contest" if len(of_round) == 1 else f"{len(of_round)} contests"
            figures = f"mean {written(mean)}, target {written(target)}, mean distance {written(far)}"
            yield f"{stage}, round {number}: {figures} ({contests})"


def _round(number: int, rows: Sequence[Row]) -> dict[str, Json]:
    guesses = [row["guess"] for row in rows if row["guess"] is not None]
    distances = [row["distance"] for row in rows if row["distance"] is not None]
    depths = [row["depth"] for row in rows if row["depth"] is not None]
    winners = [row for row in rows if row["is_winner"]]
    return {
        "round": number,
        "guesses": len(guesses),
        "mean": rows[0]["mean"],
        "target": rows[0]["target"],
        "mean_distance": rounded(fmean(distances)) if distances else None,
        "winners": ", ".join(str(row["name"]) for row in winners),
        "winning_guess": ", ".join(dict.fromkeys(written(row["guess"]) for row in winners)),
        "median_depth": rounded(median(depths)) if depths else None,
    }
