"""A small game in rounds, to test what kinds with shared asks rely on; it takes the place of a page to read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from random import Random
from types import MappingProxyType
from typing import Any, Final
from unittest.mock import patch
from uuid import UUID

from pydantic import BaseModel, Field

from shared import stages
from shared.contracts.experiment import StageConfig
from shared.errors import InvalidInput, Problem
from shared.replies import Reply, whole_number
from shared.stage import Ask, Block, Column, Json, LabView, Member, OwnView, StageKind, Unanswered, View, heading
from shared.stages.info.config import InfoStage

LOWEST: Final = 0
HIGHEST: Final = 99
FALLBACK: Final = -1


class NumberReply(Reply):
    number: whole_number(Field(ge=LOWEST, le=HIGHEST)) = Field(description="Your number.")  # type: ignore[valid-type]


class Rounds(StageKind[InfoStage]):
    """Everybody who is there names a number, round after round, and then sees everybody's; the line says how often."""

    config_model = InfoStage
    has_shared_asks = True

    def problems(self, stage: InfoStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        return []

    def draw(
        self, stage: InfoStage, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random
    ) -> dict[str, Json]:
        return dict(drawn)

    def public_state(self, stage: InfoStage, view: LabView) -> dict[str, Json]:
        rounds = []
        for number in range(1, _count(stage) + 1):
            key = key_of(number)
            named = {
                str(one.id): view.answers[one.id][key] for one in _players(view) if key in view.answers.get(one.id, {})
            }
            if any(one.present and str(one.id) not in named for one in _players(view)) or not named:
                break
            rounds.append(named)
        return {"rounds": rounds}

    def next_asks(self, stage: InfoStage, view: OwnView) -> list[Ask]:
        number, me = len(view.state.get("rounds", [])) + 1, view.me
        is_asked = me.kind == "participant" and me.present and me.player != "script"
        if number > _count(stage) or not is_asked or key_of(number) in view.own:
            return []
        return [Ask(me.id, key_of(number), "number")]

    def play_out(
        self, stage: InfoStage, view: LabView, rng_of: Callable[[str], Random]
    ) -> dict[tuple[UUID, str], Json]:
        number = len(view.state["rounds"]) + 1
        if number > _count(stage):
            return {}
        scripted = [one for one in _players(view) if one.player == "script" and one.present]
        return {(one.id, key_of(number)): rng_of(f"{one.path}/{key_of(number)}").randint(0, 9) for one in scripted}

    def public_view(self, stage: InfoStage, view: OwnView) -> dict[str, Json]:
        return {**heading(stage), "rounds": view.state.get("rounds", [])}

    def describe(self, stage: InfoStage, view: OwnView, *, with_answers: bool, ask: Ask | None = None) -> list[Block]:
        seen = [f"Seen: {sorted(named.values())}" for named in view.state.get("rounds", [])]
        own = [f"Own: {value}" for _, value in sorted(view.own.items())]
        return [Block("\n".join([*seen, *own, "Name a number."]))]

    def task(self, stage: InfoStage, ask: Ask, view: OwnView) -> str:
        return f"This is {ask.key}."

    def check_answer(self, stage: InfoStage, ask: Ask, answer: Json, view: OwnView) -> Json:
        if not isinstance(answer, int) or isinstance(answer, bool) or not LOWEST <= answer <= HIGHEST:
            raise InvalidInput("This is no number.", [Problem("", repr(answer)[:40], f"{LOWEST} to {HIGHEST}")])
        return answer

    def page_answer(self, stage: InfoStage, view: OwnView) -> Json | None:
        rounds = view.state.get("rounds", [])
        if len(rounds) < _count(stage):
            return None
        return {"sum": sum(named.get(str(view.me.id), 0) for named in rounds)}

    def blocked_by(self, stage: InfoStage, view: OwnView) -> list[str]:
        return [] if len(view.state.get("rounds", [])) == _count(stage) else ["The game goes on."]

    def reply_model(self, stage: InfoStage, ask: Ask, view: OwnView) -> type[BaseModel] | None:
        return NumberReply

    def answer_from_reply(self, stage: InfoStage, ask: Ask, reply: BaseModel) -> Json:
        assert isinstance(reply, NumberReply)
        return reply.number

    def on_unanswered(self, stage: InfoStage, ask: Ask, reason: str) -> Unanswered:
        return "default"

    def default_answer(self, stage: InfoStage, ask: Ask, view: OwnView, last_reply: str) -> Json:
        return FALLBACK

    def columns(self, stage: InfoStage) -> list[Column]:
        return [Column("sum", "Sum", "integer")]

    def cells(self, stage: InfoStage, answer: Json) -> dict[str, Json]:
        return {"sum": answer["sum"]} if answer else {}

    def example(self) -> InfoStage:
        return InfoStage(id="game", lines=("3",))


def key_of(number: int) -> str:
    return f"round:{number}/number"


def _count(stage: InfoStage) -> int:
    return int(stage.lines[0])


def _players(view: View) -> list[Member]:
    return [one for one in view.members if one.kind == "participant"]


@contextmanager
def rounds_for_info() -> Iterator[StageKind[Any]]:
    """While this lasts, every stage of kind `info` is such a game."""
    kind = Rounds()
    with patch.object(stages, "_KINDS", MappingProxyType({**stages.kinds(), "info": kind})):
        yield kind
