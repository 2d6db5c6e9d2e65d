"""Scripted players: whole games between two of them, or a move against any other player. Pure."""

from collections.abc import Iterator
from itertools import islice
from uuid import UUID

from parley_lab.kinds import Json, LabView
from parley_lab.kinds.stages.matrix_game.game import SEATS, Game, move_key
from parley_lab.kinds.stages.matrix_game.payoffs import Action
from parley_lab.kinds.stages.matrix_game.policies import Rule, luck
from parley_lab.kinds.stages.matrix_game.script import script_of


def play(
    first: Rule,
    second: Rule,
    first_luck: Iterator[float],
    second_luck: Iterator[float],
    rounds: int,
    so_far: tuple[str, str] = ("", ""),
) -> tuple[str, str]:
    """The actions of both, a letter per round; each decides by the rounds before, not by the other's current action."""
    ours, theirs = so_far
    for _ in range(rounds):
        one = first(ours, theirs, next(first_luck))
        other = second(theirs, ours, next(second_luck))
        ours += one
        theirs += other
    return ours, theirs


def scripted_moves(game: Game, view: LabView) -> Iterator[tuple[tuple[UUID, str], Json]]:
    """The moves of scripted players: all remaining ones when both are scripted, else one."""
    rules = [_rule(game, view, side) for side in (0, 1)]
    if rules[0] is not None and rules[1] is not None:
        done = game.next_round - 1
        chance = [islice(luck(game.draws[f"luck_{seat}"]), done, None) for seat in SEATS]
        actions = play(rules[0], rules[1], chance[0], chance[1], game.length - done, (game.counted(0), game.counted(1)))
        moves = {action: _move(game, action) for action in "CD"}
        for side in (0, 1):
            member_id = _member_id(game, side)
            for number, action in enumerate(actions[side][-(game.length - done) :], start=done + 1):
                yield (member_id, move_key(number)), moves[action]
        return
    for side, rule in enumerate(rules):
        at = (_member_id(game, side), move_key(game.next_round)) if rule is not None else None
        if rule is not None and at is not None and view.answer(*at) is None:
            action = rule(game.counted(side), game.counted(1 - side), game.luck(side, game.next_round))
            yield at, _move(game, action)


def _rule(game: Game, view: LabView, side: int) -> Rule | None:
    """The rule of this side; None when it is not scripted, or the seat is empty."""
    seated = game.draws.get(SEATS[side])
    member = next((one for one in view.members if str(one.id) == seated), None)
    if member is None or member.player != "script" or not member.present:
        return None
    script = script_of(game.stage, member)
    return None if script is None else script.rule(game.payoffs(side))


def _member_id(game: Game, side: int) -> UUID:
    return UUID(game.draws[SEATS[side]])


def _move(game: Game, action: str) -> dict[str, Json]:
    named: Action = "C" if action == "C" else "D"
    return {"action": game.labels.letter(named), "cooperates": named == "C"}
