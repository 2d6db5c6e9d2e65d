"""A game as a page shows it to one player, and what it comes to for that player. Pure."""

from collections import Counter
from collections.abc import Mapping
from typing import Final
from uuid import UUID

from shared.stage import Column, Json, OwnView
from shared.stages.matrix_game.arena import measures
from shared.stages.matrix_game.arena.measures import Play
from shared.stages.matrix_game.config import FixedHorizon, GeometricHorizon
from shared.stages.matrix_game.game import MESSAGE, MOVE, SEATS, Game
from shared.stages.matrix_game.payoffs import Action, violations
from shared.stages.matrix_game.prompts import OUTCOMES, Turn

SUMMARY_COLUMNS: Final = (
    Column("status", "How the game ended", "text"),
    Column("is_dilemma", "The payoffs make a Prisoner's Dilemma", "boolean"),
    Column("rounds", "Rounds played", "integer"),
    Column("counted_rounds", "Rounds that count", "integer"),
    Column("points", "Own points", "number"),
    Column("opponent_points", "Opponent's points", "number"),
    Column("cooperation", "Own cooperation rate", "number"),
    Column("opponent_cooperation", "Opponent's cooperation rate", "number"),
    Column("mutual_cooperation", "Rate of rounds in which both cooperate", "number"),
    Column("mutual_defection", "Rate of rounds in which both defect", "number"),
    Column("exploits", "Rate of rounds in which only the opponent cooperates", "number"),
    Column("is_exploited", "Rate of rounds in which only the player cooperates", "number"),
    Column("retaliation", "Rate of defection after a defection of the opponent", "number"),
)

_TOLD: Final = ("action", "reasoning", "message", "delivered", "violation", "status", "points", "opponent_points")


def summary(game: Game, member_id: UUID | None) -> dict[str, Json] | None:
    """What the game comes to for this player; None while it is played, and for whoever does not play."""
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
        "points": totals["you"],
        "opponent_points": totals["opponent"],
        "cooperation": measures.cooperation_rate(play),
        "opponent_cooperation": measures.cooperation_rate(play.mirrored),
        **_outcomes(play),
        "retaliation": measures.retaliation(play),
    }


def told(answer: Json) -> Json:
    """What a player is told of an own answer: not which letter is to cooperate, which only one framing says."""
    return {name: answer[name] for name in _TOLD if name in answer} if isinstance(answer, Mapping) else answer


def _outcomes(play: Play) -> dict[str, Json]:
    names = {"CC": "mutual_cooperation", "DD": "mutual_defection", "DC": "exploits", "CD": "is_exploited"}
    return {name: measures.outcome_rate(play, outcome) for outcome, name in names.items()}


def public(game: Game, view: OwnView) -> dict[str, Json]:
    """The rules, the rounds so far and the scores, in the letters and from the side of the reader."""
    side = game.side_of(view.me.id)
    own = side or 0
    turns = [] if side is None else game.turns(own)
    return {
        "actions": [_action(game, action) for action in _in_order(game)],
        "payoffs": [_outcome(game, own, one, two) for one, two in OUTCOMES],
        "is_player": side is not None,
        "opponent": _opponent(game, view, side),
        "status": game.status,
        "round": game.next_round if game.status == "playing" else None,
        **_horizon(game),
        "rounds": [_round(game, turn) for turn in turns],
        "scores": scores(game, own) if side is not None else None,
        "wants": None if game.status != "playing" else MESSAGE if game.is_talking else MOVE,
        "messages": [
            {"round": number, "you": mine, "opponent": theirs}
            for number, (mine, theirs) in enumerate(game.messages(own) if side is not None else [], start=1)
        ],
    }


def _horizon(game: Game) -> dict[str, Json]:
    """How long the game lasts, as far as it is announced."""
    horizon = game.stage.horizon if game.stage.announce_horizon else None
    return {
        "rounds_in_all": horizon.rounds if isinstance(horizon, FixedHorizon) else None,
        "stop_probability": horizon.stop_probability if isinstance(horizon, GeometricHorizon) else None,
    }


def _in_order(game: Game) -> list[Action]:
    actions: list[Action] = ["C", "D"]
    return sorted(actions, key=game.labels.letter)


def _action(game: Game, action: Action) -> dict[str, Json]:
    return {"letter": game.labels.letter(action), "word": game.labels.word(action) or game.labels.letter(action)}


def _outcome(game: Game, side: int, own: Action, other: Action) -> dict[str, Json]:
    mine, theirs = game.payoffs(side).of(own, other)
    letters = {"you": game.labels.letter(own), "opponent": game.labels.letter(other)}
    return {**letters, "your_points": mine, "opponent_points": theirs}


def _round(game: Game, turn: Turn) -> dict[str, Json]:
    if turn.actions is None:
        return {"round": turn.number, "counts": False}
    own, other = (game.labels.letter(action) for action in turn.actions)
    mine, theirs = turn.points
    return {
        "round": turn.number,
        "counts": True,
        "you": own,
        "opponent": other,
        "your_points": mine,
        "opponent_points": theirs,
    }


def scores(game: Game, side: int) -> dict[str, Json]:
    """The totals of this side and of its opponent."""
    payoffs = game.payoffs(side)
    counts = Counter(zip(game.actions[side], game.actions[1 - side], strict=True))
    points = [(counts[one, two], payoffs.of(one, two)) for one, two in OUTCOMES]
    mine, theirs = (round(sum(count * pair[who] for count, pair in points), 6) for who in (0, 1))
    return {"you": mine, "opponent": theirs}


def _opponent(game: Game, view: OwnView, side: int | None) -> str | None:
    member_id = None if side is None else game.draws.get(SEATS[1 - side])
    return next((member.name for member in view.members if str(member.id) == member_id), None)
