"""The game in the state: its seats, its complete rounds, and whether it is over. Pure.

A round is complete when both moves are in; the state holds nothing of an open round, so that no player can see the
opponent's move before making one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Final, Literal
from uuid import UUID

from parley_lab.kinds import Json, LabView
from parley_lab.kinds.stages.matrix_game.arena.measures import NOT_COUNTED, Play
from parley_lab.kinds.stages.matrix_game.config import MatrixGameStage, OnInvalid
from parley_lab.kinds.stages.matrix_game.payoffs import Action, Labels, Payoffs, labels_of
from parley_lab.kinds.stages.matrix_game.policies import luck
from parley_lab.kinds.stages.matrix_game.prompts import PlayedRound
from parley_lab.kinds.view import View

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
    """The round of an entry with this key."""
    return int(key.removeprefix("round:").partition("/")[0])


@dataclass(frozen=True)
class Game:
    """One game, read from the stage's state and draws. `actions` has a letter per complete round for each seat.

    `said` has a pair of messages for each round in which both have sent theirs, empty where none was delivered.
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
        """The number of rounds; the players may not know it."""
        return int(self.draws.get("rounds", 0))

    @property
    def next_round(self) -> int:
        return len(self.actions[0]) + 1

    @property
    def is_talking(self) -> bool:
        """Whether messages of the current round are still missing."""
        return self.stage.chat and len(self.said) < self.next_round

    def messages(self, side: int) -> list[tuple[str, str]]:
        """The messages of each round, the player's own first."""
        return [(pair[side], pair[1 - side]) for pair in self.said]

    def side_of(self, member_id: UUID | None) -> int | None:
        """0 or 1, the seat of this member; None for members who do not play."""
        seated = [self.draws.get(seat) for seat in SEATS]
        return seated.index(str(member_id)) if str(member_id) in seated else None

    def payoffs(self, side: int) -> Payoffs:
        """The payoffs with this side's points first."""
        return self.stage.payoffs.mirrored() if side else self.stage.payoffs

    def play(self, side: int) -> Play:
        return Play(self.actions[side], self.actions[1 - side])

    def counted(self, side: int) -> str:
        """The actions of this side in the rounds that count."""
        return self.actions[side].replace(NOT_COUNTED, "")

    def turns(self, side: int) -> list[PlayedRound]:
        """The complete rounds from this side."""
        return list(_turns(self.actions[side], self.actions[1 - side], self.payoffs(side)))

    def luck(self, side: int, number: int) -> float:
        """This side's random number for this round."""
        return next(islice(luck(self.draws[f"luck_{SEATS[side]}"]), number - 1, None))


def _turns(own: str, other: str, payoffs: Payoffs) -> Iterator[PlayedRound]:
    for number, (one, two) in enumerate(zip(own, other, strict=True), start=1):
        if one == NOT_COUNTED:
            yield PlayedRound(number, None)
        else:
            actions: tuple[Action, Action] = ("C" if one == "C" else "D", "C" if two == "C" else "D")
            yield PlayedRound(number, actions, payoffs.of(*actions))


def game_of(stage: MatrixGameStage, view: View) -> Game:
    """The game in the state, or before its first round."""
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
        flags = [move.get("flag") for move in pair if move is not None]
        if FAILED in flags:
            status = "failed"
            break
        if LEFT in flags or (stage.chat and _has_left_talk(view, seated, number)):
            status = "abandoned"
            break
        if pair[0] is None or pair[1] is None:
            status = "playing"
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
    """The messages of the rounds in which all who talk have sent theirs, in order."""
    talkers = {str(member.id) for member in view.members if member.player != "script"}
    for number in range(1, rounds + 1):
        pair = []
        for seat in SEATS:
            member_id = view.draws.get(seat)
            value = view.answer(UUID(member_id), message_key(number)) if member_id else None
            if (value is None and member_id in talkers) or (value or {}).get("flag") == LEFT:
                return
            pair.append(value["delivered"] if value else "")
        yield pair


def _letter(cooperates: bool | None) -> str:
    return NOT_COUNTED if cooperates is None else "C" if cooperates else "D"


def _has_left_talk(view: LabView, seated: Sequence[UUID | None], number: int) -> bool:
    """Whether a player was gone when a message of this round was due."""
    given = [view.answer(owner, message_key(number)) for owner in seated if owner is not None]
    return any(one is not None and one.get("flag") == LEFT for one in given)


FAILED = "failed"
EXCLUDED = "excluded"
LEFT = "left"


@dataclass(frozen=True, slots=True)
class Move:
    """`flag` is empty for an action that the player gave; otherwise it says what replaced an unreadable one.

    Without an action the round does not count (`excluded`), or the game ends without a result (`failed`).
    """

    action: Action | None
    flag: str = ""


def move_for_unreadable(on_invalid: OnInvalid, own: str, luck: float) -> Move:
    """What replaces an action that could not be read after all attempts; always flagged.

    `own`: the player's actions so far; `luck`: its random number of this round. A player without an action so far has
    none to repeat: its first action is drawn.
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
