"""A game as its answers tell it: who sits where, which rounds are complete, and whether it is over. Pure.

A round is complete when both moves are in; nothing of an open round is in the state, so that nobody can see the
opponent's move before having made one's own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Final, Literal
from uuid import UUID

from shared.stage import Json, LabView, View
from shared.stages.matrix_game.arena.measures import NOT_COUNTED, Play
from shared.stages.matrix_game.config import MatrixGameStage, OnInvalid
from shared.stages.matrix_game.payoffs import Action, Labels, Payoffs, labels_of
from shared.stages.matrix_game.policies import luck
from shared.stages.matrix_game.prompts import Turn

SEATS: Final = ("a", "b")
MOVE: Final = "move"
MESSAGE: Final = "message"
Status = Literal["playing", "over", "failed", "abandoned"]
"""`over`: all rounds are played. `failed`: an action could not be read. `abandoned`: a player has left."""


@lru_cache(maxsize=1024)
def move_key(number: int) -> str:
    return f"round:{number}/{MOVE}"


def message_key(number: int) -> str:
    return f"round:{number}/{MESSAGE}"


def is_message(key: str) -> bool:
    return key.endswith(f"/{MESSAGE}")


def round_of(key: str) -> int:
    """The round that an entry of this key belongs to."""
    return int(key.removeprefix("round:").partition("/")[0])


@dataclass(frozen=True)
class Game:
    """One game, as the stage's state and draws tell it. `actions` has a letter per complete round for each seat.

    `said` has a pair of messages for each round in which both have said theirs, empty where nothing was delivered.
    """

    stage: MatrixGameStage
    draws: Mapping[str, Json]
    actions: tuple[str, str]
    status: Status
    said: tuple[tuple[str, str], ...] = ()

    @cached_property
    def labels(self) -> Labels:
        return labels_of(self.stage.framing, swapped=bool(self.draws.get("swapped")))

    @property
    def length(self) -> int:
        """How many rounds there will be; the players may not know it."""
        return int(self.draws.get("rounds", 0))

    @property
    def next_round(self) -> int:
        return len(self.actions[0]) + 1

    @property
    def is_talking(self) -> bool:
        """Whether the messages of the present round come first, and are not all there."""
        return self.stage.chat and len(self.said) < self.next_round

    def messages(self, side: int) -> list[tuple[str, str]]:
        """What was said in each round, own words first."""
        return [(pair[side], pair[1 - side]) for pair in self.said]

    def side_of(self, member_id: UUID | None) -> int | None:
        """0 or 1, the seat of this member; None for anybody else."""
        seated = [self.draws.get(seat) for seat in SEATS]
        return seated.index(str(member_id)) if str(member_id) in seated else None

    def payoffs(self, side: int) -> Payoffs:
        """With the points of this side first."""
        return self.stage.payoffs.mirrored() if side else self.stage.payoffs

    def play(self, side: int) -> Play:
        return Play(self.actions[side], self.actions[1 - side])

    def counted(self, side: int) -> str:
        """The actions of this side in the rounds that count."""
        return self.actions[side].replace(NOT_COUNTED, "")

    def turns(self, side: int) -> list[Turn]:
        """The complete rounds as this side sees them."""
        return list(_turns(self.actions[side], self.actions[1 - side], self.payoffs(side)))

    def luck(self, side: int, number: int) -> float:
        """The random number of this side in this round."""
        return next(islice(luck(self.draws[f"luck_{SEATS[side]}"]), number - 1, None))


def _turns(own: str, other: str, payoffs: Payoffs) -> Iterator[Turn]:
    for number, (one, two) in enumerate(zip(own, other, strict=True), start=1):
        if one == NOT_COUNTED:
            yield Turn(number, None)
        else:
            actions: tuple[Action, Action] = ("C" if one == "C" else "D", "C" if two == "C" else "D")
            yield Turn(number, actions, payoffs.of(*actions))


def game_of(stage: MatrixGameStage, view: View) -> Game:
    """The game as the state tells it, or before its first round."""
    one, other = view.state.get("actions", ("", ""))
    said = tuple((mine, theirs) for mine, theirs in view.state.get("said", ()))
    return Game(stage, view.draws, (one, other), view.state.get("status", "playing"), said)


def tally(stage: MatrixGameStage, view: LabView) -> dict[str, Json]:
    """The state: the actions of all complete rounds by seat, and whether there will be more."""
    seated = [UUID(view.draws[seat]) if seat in view.draws else None for seat in SEATS]
    actions = ["", ""]
    status: Status = "playing"
    for number in range(1, int(view.draws.get("rounds", 0)) + 1):
        key = move_key(number)
        pair = [None if owner is None else view.answer(owner, key) for owner in seated]
        if any(move is not None and move.get("flag") == FAILED for move in pair):
            status = "failed"
            break
        if pair[0] is None or pair[1] is None:
            status = "abandoned" if _is_deserted(view) else "playing"
            break
        letters = [_letter(move["cooperates"]) for move in pair if move is not None]
        for seat in (0, 1):
            actions[seat] += NOT_COUNTED if NOT_COUNTED in letters else letters[seat]
    else:
        status = "over" if view.draws else "playing"
    return {
        "actions": actions,
        "status": status,
        **({"said": list(_said(view, len(actions[0]) + 1))} if stage.chat else {}),
    }


def _said(view: LabView, rounds: int) -> Iterator[list[str]]:
    """The messages of the rounds in which everybody who talks has said something, in their order."""
    talkers = {str(member.id) for member in view.members if member.player != "script"}
    for number in range(1, rounds + 1):
        pair = []
        for seat in SEATS:
            member_id = view.draws.get(seat)
            value = view.answer(UUID(member_id), message_key(number)) if member_id else None
            if value is None and member_id in talkers:
                return
            pair.append(value["delivered"] if value else "")
        yield pair


def _letter(cooperates: bool | None) -> str:
    return NOT_COUNTED if cooperates is None else "C" if cooperates else "D"


def _is_deserted(view: LabView) -> bool:
    """Whether a seat will never make another move: its player has gone, or nobody is left who could take it."""
    here = {str(member.id) for member in view.members if member.present}
    may_come = any(member.awaited for member in view.members)
    return any(view.draws[seat] not in here if seat in view.draws else not may_come for seat in SEATS)


FAILED = "failed"
EXCLUDED = "excluded"


@dataclass(frozen=True, slots=True)
class Move:
    """`flag` is empty for an action that the player gave; else it says what was done about one that could not be read.

    Without an action the round does not count (`excluded`), or the game is over without a result (`failed`).
    """

    action: Action | None
    flag: str = ""


def move_for_unreadable(on_invalid: OnInvalid, own: str, luck: float) -> Move:
    """What stands in the place of an action that could not be read, after all attempts; never one without a flag.

    `own` are the player's actions so far, `luck` its random number of this round. A player who has done nothing yet
    repeats nothing: its first action is drawn.
    """
    drawn: Action = "C" if luck < 0.5 else "D"
    match on_invalid:
        case "fail_game":
            return Move(None, FAILED)
        case "exclude_round":
            return Move(None, EXCLUDED)
        case "fallback:C":
            return Move("C", on_invalid)
        case "fallback:D":
            return Move("D", on_invalid)
        case "fallback:repeat":
            last: Action = "C" if own.endswith("C") else "D"
            return Move(last if own else drawn, on_invalid)
        case "fallback:random":
            return Move(drawn, on_invalid)
