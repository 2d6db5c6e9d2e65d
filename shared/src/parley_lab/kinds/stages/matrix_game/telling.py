"""A game in words: for onlookers, who see a round when both have moved, and for prompts of later stages, when it is
over. Pure."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Final
from uuid import UUID

from parley_lab.kinds.stages.matrix_game import prompts
from parley_lab.kinds.stages.matrix_game.display import scores
from parley_lab.kinds.stages.matrix_game.game import SEATS, Game
from parley_lab.kinds.stages.matrix_game.payoffs import Action, written
from parley_lab.kinds.stages.matrix_game.prompts import PlayedRound
from parley_lab.kinds.view import View


def steps(game: Game, view: View) -> Iterator[str]:
    """The messages before each move, and both moves, in the order in which they became known."""
    names = _names(game, view)
    for number, (said, turn) in enumerate(zip_longest(game.said, game.turns(0)), start=1):
        if said is not None:
            words = (f'{name} says "{message}"' for name, message in zip(names, said, strict=True) if message)
            yield f"round {number}: {', '.join(words) or 'nothing is said'}"
        if turn is not None:
            yield f"round {number}: {_turn(turn, names)}"


def _turn(turn: PlayedRound, names: list[str]) -> str:
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
    totals = scores(game, 0)
    points = (totals.you, totals.opponent)
    players = (f"{name} {written(each)}" for name, each in zip(_names(game, view), points, strict=True))
    return f"{', '.join(players)} after {rounds}"


def _names(game: Game, view: View) -> list[str]:
    """The players' names, with their seats where the names are equal."""
    named = {str(member.id): member.name for member in view.members}
    names = [named.get(str(game.draws.get(seat)), "nobody") for seat in SEATS]
    return names if names[0] != names[1] else [f"{name} ({seat})" for name, seat in zip(names, SEATS, strict=True)]


_TOOK_NO_PART: Final = "Two participants played a game here. It is over. You took no part in it and saw nothing of it."


def paragraphs(game: Game, member_id: UUID | None) -> Iterator[str]:
    """The text about the game for one of its players, without any hint at further rounds; empty for others."""
    side = game.side_of(member_id)
    if side is None:
        yield _TOOK_NO_PART
        return
    turns = game.turns(side)
    yield "\n".join([*prompts.situation(game.stage, game.labels), _ending(game, len(turns))])
    yield prompts.payoff_matrix(game.payoffs(side), game.labels)
    if turns:
        yield from prompts.history(game.stage, turns, game.labels)
        yield prompts.scores(turns)
    yield from prompts.messages(game.stage, game.messages(side))


def _ending(game: Game, played: int) -> str:
    why = {"failed": "because a reply could not be read", "abandoned": "because a player left"}.get(game.status)
    if not played:
        return f"No round of this game was played{f', {why}' if why else ''}. It is over."
    rounds = "one round" if played == 1 else f"{played} rounds"
    ended = f"It ended early, {why}, and has no result." if why else "It is over."
    return f"You played {rounds} of this game with one opponent. {ended}"
