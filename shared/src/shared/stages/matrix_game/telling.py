"""A game in words for somebody who looks on, who is told of a round when both have done their part in it. Pure."""

from collections.abc import Iterator
from itertools import zip_longest

from shared.stage import View
from shared.stages.matrix_game.display import scores
from shared.stages.matrix_game.game import SEATS, Game
from shared.stages.matrix_game.payoffs import Action, written
from shared.stages.matrix_game.prompts import Turn


def steps(game: Game, view: View) -> Iterator[str]:
    """What was said before each move, and what both did, in the order in which it became known."""
    names = _names(game, view)
    for number, (said, turn) in enumerate(zip_longest(game.said, game.turns(0)), start=1):
        if said is not None:
            words = (f'{name} says "{message}"' for name, message in zip(names, said, strict=True) if message)
            yield f"round {number}: {', '.join(words) or 'nothing is said'}"
        if turn is not None:
            yield f"round {number}: {_turn(turn, names)}"


def _turn(turn: Turn, names: list[str]) -> str:
    if turn.actions is None:
        return "does not count"
    done = (f"{name} {_verb(action)}" for name, action in zip(names, turn.actions, strict=True))
    return f"{', '.join(done)} ({':'.join(map(written, turn.points))})"


def _verb(action: Action) -> str:
    return "cooperates" if action == "C" else "defects"


def outcome(game: Game, view: View) -> str | None:
    """`Ana 49, Ben 54 after 50 rounds`, or why there is no result."""
    played = game.next_round - 1
    rounds = "1 round" if played == 1 else f"{played} rounds"
    match game.status:
        case "playing":
            return None
        case "failed":
            return f"no result after {rounds}: an action could not be read"
        case "abandoned":
            return f"no result after {rounds}: a player has left"
    points = scores(game, 0).values()
    players = (f"{name} {written(each)}" for name, each in zip(_names(game, view), points, strict=True))
    return f"{', '.join(players)} after {rounds}"


def _names(game: Game, view: View) -> list[str]:
    """What the players are called, with their seats where that is the same."""
    named = {str(member.id): member.name for member in view.members}
    names = [named.get(str(game.draws.get(seat)), "nobody") for seat in SEATS]
    return names if names[0] != names[1] else [f"{name} ({seat})" for name, seat in zip(names, SEATS, strict=True)]
