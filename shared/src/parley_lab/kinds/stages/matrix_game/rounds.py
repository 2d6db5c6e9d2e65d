"""The long table of rounds: a row for every round of every game, with replaced actions."""

from collections.abc import Iterator
from itertools import accumulate
from typing import Final
from uuid import UUID

from parley_lab.kinds import Json, LabView, Member
from parley_lab.kinds.stages.matrix_game.game import SEATS, Game, message_key, move_key
from parley_lab.kinds.stages.matrix_game.payoffs import violations
from parley_lab.kinds.stages.matrix_game.prompts import PlayedRound
from parley_lab.kinds.stages.matrix_game.protocol import promise
from parley_lab.kinds.stages.matrix_game.script import script_of

_OF_A_PLAYER: Final = (
    "participant",
    "treatment",
    "player",
    "name",
    "action",
    "points",
    "total",
    "flag",
    "letter",
    "reasoning",
    "message",
    "signal",
    "violations",
    "alpha",
)
OWNERS: Final = tuple((f"participant_{seat}", f"treatment_{seat}") for seat in SEATS)
COLUMNS: Final = ("status", "is_dilemma", "round", *(f"{name}_{seat}" for name in _OF_A_PLAYER for seat in SEATS))


def rows(game: Game, view: LabView) -> Iterator[dict[str, Json]]:
    """The complete rounds in order, then the round in which the game failed; no incomplete round.

    Actions are C and D whatever players call them; `letter` is the player's choice. A round that does not count has no
    actions and no points.
    """
    common = {
        "status": game.status,
        "is_dilemma": not any(violations(game.stage.payoffs)),
        **{f"participant_{seat}": _path(game, view, seat) for seat in SEATS},
        **{f"player_{seat}": _player(game, view, seat) for seat in SEATS},
        **{f"name_{seat}": _name(game, view, seat) for seat in SEATS},
        **{f"alpha_{seat}": _alpha(game, view, seat) for seat in SEATS},
    }
    turns = game.turns(0)
    totals = [list(accumulate((turn.points[side] for turn in turns), initial=0)) for side in (0, 1)]
    last = len(turns)
    shown = [*turns, PlayedRound(last + 1, None)] if game.status == "failed" else turns
    for turn in shown:
        line: dict[str, Json] = {**common, "round": turn.number}
        for side, seat in enumerate(SEATS):
            line |= _of_side(game, view, turn, side)
            line[f"total_{seat}"] = round(totals[side][min(turn.number, last)], 6)
        yield line


def _of_side(game: Game, view: LabView, turn: PlayedRound, side: int) -> dict[str, Json]:
    seat = SEATS[side]
    move = view.answer(UUID(game.draws[seat]), move_key(turn.number)) or {}
    return {
        f"action_{seat}": None if turn.actions is None else turn.actions[side],
        f"points_{seat}": None if turn.actions is None else turn.points[side],
        f"flag_{seat}": move.get("flag"),
        f"letter_{seat}": move.get("action"),
        f"reasoning_{seat}": move.get("reasoning") or move.get("last_reply"),
        **{f"{name}_{seat}": value for name, value in _message(game, view, turn.number, seat).items()},
    }


def _message(game: Game, view: LabView, number: int, seat: str) -> dict[str, Json]:
    """The player's message, the promise in its delivered part, and whether it broke the protocol."""
    said = view.answer(UUID(game.draws[seat]), message_key(number))
    if said is None:
        return {}
    return {
        "message": said["message"],
        "signal": promise(said["delivered"], game.labels),
        "violations": int("violation" in said),
    }


def _path(game: Game, view: LabView, seat: str) -> str:
    member = _seated(game, view, seat)
    return "" if member is None else member.path


def _player(game: Game, view: LabView, seat: str) -> str:
    """The player's persona, else `person`."""
    member = _seated(game, view, seat)
    return "" if member is None else member.persona or member.player


def _name(game: Game, view: LabView, seat: str) -> str:
    """The player's name for the others."""
    member = _seated(game, view, seat)
    return "" if member is None else member.name


def _alpha(game: Game, view: LabView, seat: str) -> float | None:
    """The probability with which a script that plays by chance cooperates; None: it plays by another rule."""
    member = _seated(game, view, seat)
    script = None if member is None or member.player != "script" else script_of(game.stage, member)
    return None if script is None else script.alpha_of_chance


def _seated(game: Game, view: LabView, seat: str) -> Member | None:
    return next((one for one in view.members if str(one.id) == game.draws.get(seat)), None)
