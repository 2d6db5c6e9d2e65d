"""A game that is over, as a prompt of a later stage shows it: how it ended, then what its player remembers. Pure."""

from collections.abc import Iterator
from typing import Final
from uuid import UUID

from shared.stages.matrix_game import prompts
from shared.stages.matrix_game.game import Game

_TOOK_NO_PART: Final = "Two participants played a game here. It is over. You took no part in it and saw nothing of it."


def paragraphs(game: Game, member_id: UUID | None) -> Iterator[str]:
    """Nothing of it for whoever did not play; nothing that sounds as if another round were to come."""
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
