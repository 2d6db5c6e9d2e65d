"""A small game in rounds for tests. It takes the place of `info`, and uses what kinds with a shared state need."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from random import Random
from types import MappingProxyType
from typing import Any, Final
from unittest.mock import patch
from uuid import UUID

import orjson
from pydantic import BaseModel
from pydantic import Field as ModelField

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.base.replies import Reply, whole_number
from parley_lab.kinds import (
    PAGE,
    Ask,
    Block,
    Blocked,
    Column,
    Completion,
    Data,
    Done,
    Draws,
    Field,
    Form,
    Json,
    LabView,
    Member,
    OwnView,
    Parts,
    Question,
    Questions,
    StageKind,
    Substitute,
    UnusableReply,
    form,
    heading,
    stages,
)
from parley_lab.kinds.parts import Scripts
from parley_lab.kinds.stages.info.config import InfoStage
from parley_lab.kinds.stages.info.rules import InfoPage
from parley_lab.kinds.view import View

LOWEST: Final = 0
HIGHEST: Final = 99
FALLBACK: Final = -1


class NumberReply(Reply):
    number: whole_number(ModelField(ge=LOWEST, le=HIGHEST)) = ModelField(description="Your number.")  # type: ignore[valid-type]


class Rounds(StageKind[InfoStage]):
    """Everybody who has come names a number, round after round, and then sees everybody's; the line says how often."""

    config_model = InfoStage

    def page(self, stage: InfoStage, view: OwnView) -> InfoPage:
        """Its lines are the rounds so far, as JSON."""
        rounds = view.state.get("rounds", [])
        lines = [orjson.dumps(one, option=orjson.OPT_SORT_KEYS).decode() for one in rounds]
        return InfoPage(**heading(stage), lines=lines, media=[])

    def prompt(self, stage: InfoStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        seen = [f"Seen: {sorted(named.values())}" for named in view.state.get("rounds", [])]
        own = [f"Own: {value}" for _, value in sorted(view.own.items())]
        return [Block("\n".join([*seen, *own, "Name a number."]))]

    def completion(self, stage: InfoStage, view: OwnView) -> Completion:
        rounds = view.state.get("rounds", [])
        if len(rounds) < _count(stage):
            return Blocked(("The game goes on.",))
        return Done({"sum": sum(named.get(str(view.me.id), 0) for named in rounds)})

    def parts(self, stage: InfoStage) -> Parts:
        return Parts(
            questions=RoundQuestions(stage),
            draws=RoundDraws(),
            state=lambda view: _state(stage, view),
            data=RoundData(),
            scripts=RoundScripts(stage),
        )

    def example(self) -> InfoStage:
        return InfoStage(id="game", lines=("3",))


def _state(stage: InfoStage, view: LabView) -> dict[str, Json]:
    rounds = []
    for number in range(1, _count(stage) + 1):
        key = key_of(number)
        named = {
            str(one.id): view.answers[one.id][key] for one in _players(view) if key in view.answers.get(one.id, {})
        }
        if len(named) < len(_players(view)) or not named:
            break
        rounds.append(named)
    return {"rounds": rounds}


class RoundDraws(Draws):
    """Who plays: everybody who has come."""

    def draw(self, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        return {**drawn, **{str(one.id): "plays" for one in members}}


class RoundQuestions(Questions):
    def __init__(self, stage: InfoStage) -> None:
        self._stage = stage

    def due(self, view: OwnView) -> list[Ask]:
        number, me = len(view.state.get("rounds", [])) + 1, view.me
        is_asked = str(me.id) in view.draws
        if number > _count(self._stage) or not is_asked or key_of(number) in view.own:
            return []
        return [Ask(me.id, key_of(number), "number")]

    def question(self, view: OwnView, ask: Ask) -> Question | None:
        return None if ask.key == PAGE else NumberQuestion(ask)


class NumberQuestion(Question):
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def form(self) -> Form:
        schema = form.number("Your number", minimum=LOWEST, maximum=HIGHEST, is_whole=True)
        return Form((Field("number", schema),), is_bare=True)

    def task(self) -> str:
        return f"This is {self._ask.key}."

    def reply_model(self) -> type[BaseModel]:
        return NumberReply

    def answer_from_reply(self, reply: BaseModel) -> Json:
        assert isinstance(reply, NumberReply)
        return reply.number

    def check(self, answer: Json) -> Json:
        if not isinstance(answer, int) or isinstance(answer, bool) or not LOWEST <= answer <= HIGHEST:
            raise InvalidInput("This is no number.", [Problem("number", repr(answer)[:40], f"{LOWEST} to {HIGHEST}")])
        return answer

    def without_answer(self, replies: Sequence[UnusableReply]) -> Substitute:
        return Substitute(FALLBACK)


class RoundScripts(Scripts):
    def __init__(self, stage: InfoStage) -> None:
        self._stage = stage

    def problems(self, given: Mapping[str, Json] | None) -> list[Problem]:
        return []

    def play(self, view: LabView, rng_of: Callable[[str], Random]) -> dict[tuple[UUID, str], Json]:
        number = len(view.state["rounds"]) + 1
        if number > _count(self._stage):
            return {}
        scripted = [one for one in _players(view) if one.player == "script" and one.present]
        return {(one.id, key_of(number)): rng_of(f"{one.path}/{key_of(number)}").randint(0, 9) for one in scripted}


class RoundData(Data):
    def columns(self) -> list[Column]:
        return [Column("sum", "Sum", "integer")]


def key_of(number: int) -> str:
    return f"round:{number}/number"


def _count(stage: InfoStage) -> int:
    return int(stage.lines[0])


def _players(view: View) -> list[Member]:
    return [one for one in view.members if str(one.id) in view.draws]


@contextmanager
def rounds_for_info(kind: StageKind[Any] | None = None) -> Iterator[StageKind[Any]]:
    """Until the block ends, every stage of kind `info` is this game, or one of `kind`."""
    kind = kind or Rounds()
    with patch.object(stages, "_KINDS", MappingProxyType({**stages.kinds(), "info": kind})):
        yield kind
