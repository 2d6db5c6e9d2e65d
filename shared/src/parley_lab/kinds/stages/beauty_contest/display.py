"""The page of a contest, and its result for one player. Pure."""

from typing import Final, Literal
from uuid import UUID

from pydantic import BaseModel

from parley_lab.kinds import Column, Json, Label, OwnView, PageContent, heading
from parley_lab.kinds.stages.beauty_contest.contest import Contest, Round, Status

SUMMARY_COLUMNS: Final = (
    Column("status", Label("How the contest ended", "how_it_ended"), "text"),
    Column("rounds", Label("Rounds played", "rounds_played"), "integer"),
    Column("guesses", Label("Own guesses", "own_guesses"), "integer"),
    Column("first_guess", Label("Own guess in the first round", "first_guess"), "number"),
    Column("mean_distance", Label("Mean distance of own guesses from the target", "mean_distance"), "number"),
    Column("wins", Label("Rounds won, shared ones included", "rounds_won"), "integer"),
    Column("prize", Label("All prizes", "all_prizes"), "number"),
)
_DECIMALS: Final = 6
"""For computed figures; guesses are shown as they were given."""


class Winner(BaseModel):
    name: str
    guess: float
    is_you: bool


class ShownRound(BaseModel):
    round: int
    your_guess: float | None
    """Null without a usable guess."""
    mean: float | None
    """Null in a round that does not count."""
    target: float | None
    winners: list[Winner]
    your_prize: float


class ShownMessage(BaseModel):
    round: int
    name: str
    text: str
    is_you: bool


class ContestPage(PageContent):
    kind: Literal["beauty_contest"] = "beauty_contest"
    lower: float
    upper: float
    factor: float
    prize: float
    is_player: bool
    players: list[str]
    """The names of all who play."""
    own_place: int | None
    """The reader's place among them, from 0; null for others."""
    status: Status
    round: int | None
    """The current round; null when the contest is over."""
    rounds_in_all: int
    wants: Literal["guess", "message"] | None
    """What players are asked for next."""
    rounds: list[ShownRound]
    messages: list[ShownMessage]
    prizes: float | None
    """What the reader has won so far."""


def page_of(contest: Contest, view: OwnView) -> ContestPage:
    stage, me = contest.stage, view.me.id
    names = {one.id: one.name for one in view.members}
    is_player, named = me in contest.players, [one for one in contest.players if one in names]
    return ContestPage(
        **heading(stage),
        lower=stage.lower,
        upper=stage.upper,
        factor=stage.factor,
        prize=stage.prize,
        is_player=is_player,
        players=[names[one] for one in named],
        own_place=named.index(me) if me in named else None,
        status=contest.status,
        round=None if contest.is_over else contest.next_round,
        rounds_in_all=stage.rounds,
        wants=contest.wants,
        rounds=[_shown(one, me, names) for one in contest.rounds] if is_player else [],
        messages=[
            ShownMessage(round=number, name=names.get(who, ""), text=words, is_you=who == me)
            for number, said in enumerate(contest.said if is_player else (), start=1)
            for who, words in said.items()
        ],
        prizes=rounded(contest.won(me)) if is_player else None,
    )


def _shown(one: Round, me: UUID, names: dict[UUID, str]) -> ShownRound:
    return ShownRound(
        round=one.number,
        your_guess=one.guesses.get(me),
        mean=rounded(one.mean),
        target=rounded(one.target),
        winners=[Winner(name=names.get(who, ""), guess=one.guesses[who], is_you=who == me) for who in one.winners],
        your_prize=round(one.prize(me), _DECIMALS),
    )


def summary(contest: Contest, player: UUID) -> dict[str, Json] | None:
    """The result of the contest for this player; None for others."""
    if player not in contest.players:
        return None
    guesses = {one.number: one.guesses[player] for one in contest.rounds if player in one.guesses}
    distances = [far for one in contest.rounds if (far := one.distance(player)) is not None]
    return {
        "status": contest.status,
        "rounds": len(contest.rounds),
        "guesses": len(guesses),
        "first_guess": guesses.get(1),
        "mean_distance": rounded(sum(distances) / len(distances)) if distances else None,
        "wins": sum(player in one.winners for one in contest.rounds),
        "prize": rounded(contest.won(player)),
    }


def rounded(figure: float | None) -> float | None:
    """A computed figure, without rounding errors of floats."""
    return None if figure is None else round(figure, _DECIMALS)
