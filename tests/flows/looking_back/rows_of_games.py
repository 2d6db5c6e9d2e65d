"""The rows of the games that are played in rounds."""

from collections.abc import Mapping
from typing import ClassVar

from tests.flows.looking_back.cast import PROFILES, Cast, Json, Reader, word
from tests.flows.looking_back.row import Row


class MatrixGameRow(Row):
    has_last_ask = True
    stage: ClassVar[Mapping[str, Json]] = {"chat": True, "memory": "full", "horizon": {"type": "fixed", "rounds": 2}}
    not_over = ("You are playing round", "again and again", "has been played yet", "SCORES: You: 0 | Opponent: 0")

    def is_asked(self, reader: Reader) -> bool:
        return not reader.is_mediator

    def answer(self, key: str, stage_id: str) -> Json:
        return {"message": word("ana", stage_id)} if key.endswith("/message") else {"action": "C"} if key else None

    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        if reader.is_mediator:
            return ["Two participants played a game here. It is over. You took no part in it"]
        if is_over:
            return ["You played 2 rounds of this game with one opponent. It is over.", "PAYOFF MATRIX:"]
        return ["of an iterated Prisoner's Dilemma game."]

    def before(self, reader: Reader) -> list[str]:
        return [] if reader.is_mediator else ["No round of this game was played. It is over."]

    def said(self, reader: Reader, stage_id: str) -> list[str]:
        if reader.is_mediator:
            return []
        (other,) = (name for name in reader.cast.participants if name != reader.name)
        both = f'You said: "{word(reader.name, stage_id)}" Opponent said: "{word(other, stage_id)}"'
        return [f"Round 1: {both}\nRound 2: {both}", "Round 2: You=C, Opponent=C", "SCORES: You: 6 | Opponent: 6"]

    def known(self, reader: Reader, stage_id: str) -> set[str]:
        return set() if reader.is_mediator else {word(name, stage_id) for name in reader.cast.participants}

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        assert (view["is_player"], view["opponent"]) == (True, "Ben")
        assert (view["status"], view["round"], len(view["rounds"])) == (
            ("over", None, 2) if is_over else ("playing", 1, 0)
        )
        assert view["wants"] == (None if is_over else "message")


class BeautyContestRow(Row):
    has_last_ask = True
    stage: ClassVar[Mapping[str, Json]] = {"chat": True, "rounds": 2}
    not_over = ("You play a", "This is round", "everybody guesses", "You have won 0")

    def is_asked(self, reader: Reader) -> bool:
        return not reader.is_mediator

    def answer(self, key: str, stage_id: str) -> Json:
        return {"message": word("ana", stage_id)} if key.endswith("/message") else {"guess": 50} if key else None

    def listed(self, reader: Reader, stage_id: str, *, is_over: bool) -> list[str]:
        if reader.is_mediator:
            return ["The participants played a guessing game here. You took no part in it"]
        others = ", ".join(PROFILES[name]["name"] for name in reader.cast.participants if name != reader.name)
        played = "2 rounds were played. It is over." if is_over else "This is round "
        return [f"You play{'ed' * is_over} a guessing game with {others}.", played]

    def before(self, reader: Reader) -> list[str]:
        return [] if reader.is_mediator else ["No round of the guessing game here was played. It is over."]

    def said(self, reader: Reader, stage_id: str) -> list[str]:
        if reader.is_mediator:
            return []
        called = {name: "You" if name == reader.name else PROFILES[name]["name"] for name in reader.cast.participants}
        words = " ".join(f'{called[name]}: "{word(name, stage_id)}"' for name in reader.cast.participants)
        closest = ", ".join(f"{called[name].replace('You', 'you')} with 50" for name in reader.cast.participants)
        result = f"Round 2: mean 50, target 33.33; you guessed 50; closest: {closest}; your prize is "
        return [f"Round 1: {words}\nRound 2: {words}", result]

    def known(self, reader: Reader, stage_id: str) -> set[str]:
        return set() if reader.is_mediator else {word(name, stage_id) for name in reader.cast.participants}

    def check_page(self, view: Json, cast: Cast, stage_id: str, *, is_over: bool) -> None:
        assert (view["is_player"], view["players"]) == (True, [PROFILES[name]["name"] for name in cast.participants])
        state = (view["status"], view["round"], view["wants"], len(view["rounds"]))
        assert state == (("over", None, None, 2) if is_over else ("playing", 1, "message", 0))
