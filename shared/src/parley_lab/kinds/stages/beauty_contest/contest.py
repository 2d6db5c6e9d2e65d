"""The contest in the state: its players, its complete rounds, and their results. Pure.

A round is complete when every player has answered; the state holds nothing of an open round. The lab answers (`LEFT`)
for a player who has left. Such a player, or one without a usable guess, has no guess in the round: the mean is that of
the others. A round with fewer than two guesses does not count. With fewer than two players left the contest is over.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Final, Literal
from uuid import UUID

from parley_lab.kinds import Json, LabView
from parley_lab.kinds.stages.beauty_contest.config import FEWEST_PLAYERS, BeautyContestStage
from parley_lab.kinds.view import View

GUESS: Final = "guess"
MESSAGE: Final = "message"
LEFT: Final = "left"
"""Marks the lab's answer for a player who has left."""
PLAYERS: Final = "players"
"""The key in the draws: the ids of the players."""
Status = Literal["playing", "over", "abandoned"]
"""`over`: all rounds are played. `abandoned`: fewer than two players are left."""

_EQUALLY_CLOSE: Final = 9
"""Distances are compared to so many decimals: 20 and 30 are equally close to 25, despite rounding of floats."""


def key_of(number: int, what: str) -> str:
    """The key of a guess or a message; a message before a round has the key of that round."""
    return f"round:{number}/{what}"


@dataclass(frozen=True)
class Round:
    """A complete round: its guesses, by player."""

    stage: BeautyContestStage
    number: int
    guesses: Mapping[UUID, float]

    @property
    def counts(self) -> bool:
        return len(self.guesses) >= FEWEST_PLAYERS

    @cached_property
    def mean(self) -> float | None:
        return fmean(self.guesses.values()) if self.counts else None

    @property
    def target(self) -> float | None:
        return None if self.mean is None else self.stage.factor * self.mean

    def distance(self, player: UUID) -> float | None:
        """The distance of this player's guess from the target."""
        guess = self.guesses.get(player)
        return None if guess is None or self.target is None else abs(guess - self.target)

    @cached_property
    def winners(self) -> tuple[UUID, ...]:
        """The players whose guesses are closest to the target, in the order of players."""
        found = {one: round(far, _EQUALLY_CLOSE) for one in self.guesses if (far := self.distance(one)) is not None}
        return tuple(one for one, far in found.items() if far == min(found.values()))

    def prize(self, player: UUID) -> float:
        """This player's share of the prize."""
        return self.stage.prize / len(self.winners) if player in self.winners else 0.0


@dataclass(frozen=True)
class Contest:
    """One contest, read from the stage's state and draws.

    `said` holds the messages of each round in which all who talk have sent theirs, by player, without empty ones.
    """

    stage: BeautyContestStage
    players: tuple[UUID, ...]
    rounds: tuple[Round, ...]
    said: tuple[Mapping[UUID, str], ...]
    status: Status

    @property
    def is_over(self) -> bool:
        return self.status != "playing"

    @property
    def next_round(self) -> int:
        return len(self.rounds) + 1

    @property
    def wants(self) -> Literal["guess", "message"] | None:
        """What players are asked for next."""
        if self.is_over or not self.players:
            return None
        return "message" if self.stage.chat and len(self.said) < self.next_round else "guess"

    @property
    def reference(self) -> float:
        """The starting point of a player's reasoning: the last mean, before the first round the middle."""
        return next((one.mean for one in reversed(self.rounds) if one.mean is not None), self.stage.middle)

    def won(self, player: UUID) -> float:
        """The sum of this player's prizes."""
        return sum(one.prize(player) for one in self.rounds)


def contest_of(stage: BeautyContestStage, view: View) -> Contest:
    """The contest in the state, or before its first round."""
    players = players_of(view)
    given = [_by_player(players, one) for one in view.state.get("rounds", ())]
    return Contest(
        stage,
        players=players,
        rounds=tuple(Round(stage, number, guesses) for number, guesses in enumerate(given, start=1)),
        said=tuple(_by_player(players, one) for one in view.state.get("said", ())),
        status=view.state.get("status", "playing"),
    )


def players_of(view: View) -> tuple[UUID, ...]:
    """In the order in which the view shows members; it may have but one of them."""
    places = {one.id: place for place, one in enumerate(view.members)}
    players = (UUID(one) for one in view.draws.get(PLAYERS, ()))
    return tuple(sorted(players, key=lambda one: places.get(one, len(places))))


def _by_player(players: Sequence[UUID], given: Mapping[str, Json]) -> dict[UUID, Json]:
    """In the order of players: a stored state may have its keys in another order."""
    return {one: given[str(one)] for one in players if str(one) in given}


def tally(stage: BeautyContestStage, view: LabView) -> dict[str, Json]:
    """The state: the guesses of all complete rounds, and whether there will be more."""
    players = players_of(view)
    rounds: list[dict[str, Json]] = []
    status: Status = "over" if players else "playing"
    for number in range(1, stage.rounds + 1) if players else ():
        given = {one: view.answer(one, key_of(number, GUESS)) for one in players}
        if sum(not _has_left(view, one, number) for one in players) < FEWEST_PLAYERS:
            status = "abandoned"
            break
        if None in given.values():
            status = "playing"
            break
        rounds.append({str(one): value[GUESS] for one, value in given.items() if value and value[GUESS] is not None})
    said = list(_said(view, min(len(rounds) + 1, stage.rounds))) if stage.chat else []
    return {"status": status, "rounds": rounds, **({"said": said} if stage.chat else {})}


def _has_left(view: LabView, player: UUID, number: int) -> bool:
    """Whether the player's last known answer in this round is that they have left."""
    last = view.answer(player, key_of(number, GUESS)) or view.answer(player, key_of(number, MESSAGE))
    return last is not None and LEFT in last


def _said(view: LabView, rounds: int) -> Iterator[dict[str, Json]]:
    """The messages of the rounds in which all who talk have sent theirs."""
    players = players_of(view)
    talkers = {one.id for one in view.members if one.id in players and one.player != "script"}
    for number in range(1, rounds + 1):
        given = {one: view.answer(one, key_of(number, MESSAGE)) for one in players}
        if any(given[one] is None for one in talkers):
            return
        yield {str(one): value[MESSAGE] for one, value in given.items() if value and value[MESSAGE]}
