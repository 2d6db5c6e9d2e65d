"""The page of a game for one player, and the result for that player. Pure."""

from collections import Counter
from collections.abc import Mapping
from typing import Final, Literal
from uuid import UUID

from pydantic import BaseModel

from parley_lab.kinds import Column, Json, Label, OwnView, PageContent, heading
from parley_lab.kinds.stages.matrix_game.arena import measures
from parley_lab.kinds.stages.matrix_game.arena.measures import Play
from parley_lab.kinds.stages.matrix_game.config import FixedHorizon, GeometricHorizon
from parley_lab.kinds.stages.matrix_game.game import MESSAGE, MOVE, SEATS, Game, Status
from parley_lab.kinds.stages.matrix_game.payoffs import Action, violations
from parley_lab.kinds.stages.matrix_game.prompts import OUTCOMES, PlayedRound

SUMMARY_COLUMNS: Final = (
    Column("status", Label("How the game ended", "how_it_ended"), "text"),
    Column("is_dilemma", Label("The payoffs make a Prisoner's Dilemma", "is_dilemma"), "boolean"),
    Column("rounds", Label("Rounds played", "rounds_played"), "integer"),
    Column("counted_rounds", Label("Rounds that count", "rounds_that_count"), "integer"),
    Column("points", Label("Own points", "own_points"), "number"),
    Column("opponent_points", Label("Opponent's points", "points_of_the_other"), "number"),
    Column("cooperation", Label("Own cooperation rate", "own_cooperation"), "number"),
    Column("opponent_cooperation", Label("Opponent's cooperation rate", "cooperation_of_the_other"), "number"),
    Column("mutual_cooperation", Label("Rate of rounds in which both cooperate", "both_cooperate"), "number"),
    Column("mutual_defection", Label("Rate of rounds in which both defect", "both_defect"), "number"),
    Column(
        "exploits", Label("Rate of rounds in which only the opponent cooperates", "only_the_other_cooperates"), "number"
    ),
    Column("is_exploited", Label("Rate of rounds in which only the player cooperates", "only_you_cooperate"), "number"),
    Column("retaliation", Label("Rate of defection after a defection of the opponent", "retaliation"), "number"),
)

_TOLD: Final = ("action", "reasoning", "message", "delivered", "violation", "status", "points", "opponent_points")


def summary(game: Game, member_id: UUID | None) -> dict[str, Json] | None:
    """The result of the game for this player; None during the game, and for members who do not play."""
    side = game.side_of(member_id)
    if game.status == "playing" or side is None:
        return None
    play = game.play(side)
    totals = scores(game, side)
    return {
        "status": game.status,
        "is_dilemma": not any(violations(game.stage.payoffs)),
        "rounds": len(play.own),
        "counted_rounds": len(play.outcomes),
        "points": totals.you,
        "opponent_points": totals.opponent,
        "cooperation": measures.cooperation_rate(play),
        "opponent_cooperation": measures.cooperation_rate(play.mirrored),
        **_outcomes(play),
        "retaliation": measures.retaliation(play),
    }


def told(answer: Json) -> Json:
    """The player's own answer as the player sees it: without the meaning of the letter, which only one framing
    tells."""
    return {name: answer[name] for name in _TOLD if name in answer} if isinstance(answer, Mapping) else answer


def _outcomes(play: Play) -> dict[str, Json]:
    names = {"CC": "mutual_cooperation", "DD": "mutual_defection", "DC": "exploits", "CD": "is_exploited"}
    return {name: measures.outcome_rate(play, outcome) for outcome, name in names.items()}


Points = int | float


class ShownAction(BaseModel):
    letter: str
    """The value of the action in a move."""
    word: str
    code: Literal["cooperate", "defect"] | None
    """The word as a code, for pages with words of their own; null where actions have no words but letters."""


class ShownOutcome(BaseModel):
    """The points of both when the reader plays `you` and the opponent plays `opponent`."""

    you: str
    opponent: str
    your_points: Points
    opponent_points: Points


class CountedRound(ShownOutcome):
    round: int
    counts: Literal[True] = True


class UncountedRound(BaseModel):
    """A round in which an action could not be read."""

    round: int
    counts: Literal[False] = False


class Scores(BaseModel):
    you: Points
    opponent: Points


class Messages(BaseModel):
    """The messages before the moves of a round; empty when none was delivered."""

    round: int
    you: str
    opponent: str


class GamePage(PageContent):
    kind: Literal["matrix_game"] = "matrix_game"
    actions: list[ShownAction]
    payoffs: list[ShownOutcome]
    is_player: bool
    opponent: str | None
    """The opponent's name."""
    status: Status
    round: int | None
    """The current round; null when the game is over."""
    rounds_in_all: int | None
    """The number of rounds, if it is announced."""
    stop_probability: float | None
    """The probability that a round is the last, if it is announced."""
    rounds: list[CountedRound | UncountedRound]
    scores: Scores | None
    wants: Literal["move", "message"] | None
    """What players are asked for next."""
    messages: list[Messages]


def page_of(game: Game, view: OwnView) -> GamePage:
    """The rules, the rounds so far and the scores, in the reader's letters and from the reader's side."""
    side = game.side_of(view.me.id)
    own = side or 0
    horizon = game.stage.horizon if game.stage.announce_horizon else None
    said = game.messages(own) if side is not None else []
    return GamePage(
        **heading(game.stage),
        actions=[_action(game, action) for action in _in_order(game)],
        payoffs=[_outcome(game, own, one, two) for one, two in OUTCOMES],
        is_player=side is not None,
        opponent=_opponent(game, view, side),
        status=game.status,
        round=game.next_round if game.status == "playing" else None,
        rounds_in_all=horizon.rounds if isinstance(horizon, FixedHorizon) else None,
        stop_probability=horizon.stop_probability if isinstance(horizon, GeometricHorizon) else None,
        rounds=[] if side is None else [_round(game, turn) for turn in game.turns(own)],
        scores=scores(game, own) if side is not None else None,
        wants=None if game.status != "playing" else MESSAGE if game.is_talking else MOVE,
        messages=[Messages(round=number, you=mine, opponent=theirs) for number, (mine, theirs) in enumerate(said, 1)],
    )


def _in_order(game: Game) -> list[Action]:
    actions: list[Action] = ["C", "D"]
    return sorted(actions, key=game.labels.letter)


def _action(game: Game, action: Action) -> ShownAction:
    letter, word = game.labels.letter(action), game.labels.word(action)
    return ShownAction(letter=letter, word=word or letter, code=_CODES[action] if word else None)


_CODES: Final[Mapping[Action, Literal["cooperate", "defect"]]] = {"C": "cooperate", "D": "defect"}


def actions_in_words(game: Game) -> dict[str, str]:
    """The words of both actions by the letter that is sent."""
    return {game.labels.letter(action): _in_words(game, action) for action in _in_order(game)}


def _in_words(game: Game, action: Action) -> str:
    word = game.labels.word(action)
    if not word:
        return game.labels.letter(action)
    return Label(word, "cooperate") if action == "C" else Label(word, "defect")


def _outcome(game: Game, side: int, own: Action, other: Action) -> ShownOutcome:
    mine, theirs = game.payoffs(side).of(own, other)
    return ShownOutcome(
        you=game.labels.letter(own), opponent=game.labels.letter(other), your_points=mine, opponent_points=theirs
    )


def _round(game: Game, turn: PlayedRound) -> CountedRound | UncountedRound:
    if turn.actions is None:
        return UncountedRound(round=turn.number)
    own, other = (game.labels.letter(action) for action in turn.actions)
    mine, theirs = turn.points
    return CountedRound(round=turn.number, you=own, opponent=other, your_points=mine, opponent_points=theirs)


def scores(game: Game, side: int) -> Scores:
    """The totals of this side and of its opponent."""
    payoffs = game.payoffs(side)
    counts = Counter(zip(game.actions[side], game.actions[1 - side], strict=True))
    points = [(counts[one, two], payoffs.of(one, two)) for one, two in OUTCOMES]
    mine, theirs = (round(sum(count * pair[who] for count, pair in points), 6) for who in (0, 1))
    return Scores(you=mine, opponent=theirs)


def _opponent(game: Game, view: OwnView, side: int | None) -> str | None:
    member_id = None if side is None else game.draws.get(SEATS[1 - side])
    return next((member.name for member in view.members if str(member.id) == member_id), None)
