"""The questions to players: a guess in each round, and with chat a message before it."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Final

from pydantic import BaseModel, ValidationError, create_model
from pydantic import Field as Bounds

from parley_lab.base.errors import InvalidInput
from parley_lab.base.numbers import write_number
from parley_lab.base.replies import Reason, Reply, number, text
from parley_lab.contracts.models import HINT_SUGGESTED, Hint
from parley_lab.kinds import (
    PAGE,
    Ask,
    Field,
    Form,
    Json,
    Label,
    OwnView,
    Question,
    Questions,
    Substitute,
    UnusableReply,
    form,
)
from parley_lab.kinds.stages.beauty_contest import telling
from parley_lab.kinds.stages.beauty_contest.config import BeautyContestStage
from parley_lab.kinds.stages.beauty_contest.contest import GUESS, LEFT, MESSAGE, Contest, contest_of, key_of
from parley_lab.kinds.stages.beauty_contest.scripts import planned_guess

LONGEST_MESSAGE: Final = 1_000
_TO_PLAYERS: Final = Label("Your message to the other players", "message_to_players")
"""In characters."""


class ContestQuestions(Questions):
    def __init__(self, stage: BeautyContestStage) -> None:
        self._stage = stage

    def due(self, view: OwnView) -> list[Ask]:
        contest, me = contest_of(self._stage, view), view.me
        if contest.wants is None or me.id not in contest.players:
            return []
        key = key_of(contest.next_round, contest.wants)
        return [] if key in view.own else [Ask(me.id, key, contest.wants)]

    def question(self, view: OwnView, ask: Ask) -> Question | None:
        if ask.key == PAGE:
            return None
        contest = contest_of(self._stage, view)
        return _Message(contest, view) if ask.purpose == MESSAGE else _Guess(contest, view)

    def most_replies(self) -> int:
        return self._stage.rounds * (2 if self._stage.chat else 1)


class MessageReply(Reply):
    spoken: ClassVar[tuple[str, ...]] = ("message",)

    message: text(Bounds(max_length=LONGEST_MESSAGE, description="What you say; empty to say nothing."))  # type: ignore[valid-type]


class GuessReply(Reply):
    """Base of the shapes of a guess, one for each pair of bounds."""

    left_out: ClassVar[Mapping[str, Json]] = MappingProxyType({"reasoning": ""})

    guess: float
    reasoning: Reason = Bounds(description="Why you guess this, in one or two sentences; nobody else sees it.")


@lru_cache
def guess_reply(lower: float, upper: float) -> type[GuessReply]:
    guess: Any = number(
        Bounds(ge=lower, le=upper, description=f"Your guess, from {write_number(lower)} to {write_number(upper)}.")
    )
    return create_model("GuessReply", __base__=GuessReply, guess=(guess, ...))


class _OfARound(Question):
    def __init__(self, contest: Contest, view: OwnView) -> None:
        self._contest = contest
        self._stage = contest.stage
        self._view = view

    def news(self) -> str | None:
        """The rules before the first answer; later the news since the last answer."""
        return telling.news(self._contest, self._view) if self._view.own else None


class _Guess(_OfARound):
    def form(self) -> Form:
        bounds = form.number(Label("Your guess", "guess"), minimum=self._stage.lower, maximum=self._stage.upper)
        return Form((Field(GUESS, bounds),))

    def task(self) -> str:
        return telling.guess_task(self._stage)

    def reply_model(self) -> type[GuessReply]:
        return guess_reply(self._stage.lower, self._stage.upper)

    def answer_from_reply(self, reply: BaseModel) -> Json:
        return reply.model_dump()

    def check(self, answer: Json) -> Json:
        """People are not asked for reasons."""
        given = {"reasoning": "", **answer} if isinstance(answer, Mapping) else answer
        stored = _checked(self.reply_model(), given, "This is no guess.")
        return stored if stored["reasoning"] else {GUESS: stored[GUESS]}

    def without_answer(self, replies: Sequence[UnusableReply]) -> Substitute:
        """The round goes on without a guess of this player, who is asked again in the next one."""
        return Substitute({GUESS: None})

    def passed(self) -> Substitute:
        return Substitute({GUESS: None, LEFT: True})

    def written(self, answer: Json) -> str:
        return str(answer[GUESS])

    def hints(self) -> Mapping[str, Hint]:
        guess = planned_guess(self._contest, self._view.me)
        if guess is None:
            return {}
        why = "The mock guesses by the script of this player."
        return {f"{HINT_SUGGESTED}{GUESS}": guess, f"{HINT_SUGGESTED}reasoning": why}


class _Message(_OfARound):
    def form(self) -> Form:
        return Form(
            (
                Field(
                    MESSAGE,
                    form.text(_TO_PLAYERS, most=LONGEST_MESSAGE),
                ),
            )
        )

    def task(self) -> str:
        return telling.MESSAGE_TASK

    def reply_model(self) -> type[MessageReply]:
        return MessageReply

    def answer_from_reply(self, reply: BaseModel) -> Json:
        return reply.model_dump()

    def check(self, answer: Json) -> Json:
        return _checked(MessageReply, answer, "This is no message.")

    def without_answer(self, replies: Sequence[UnusableReply]) -> Substitute:
        return Substitute({MESSAGE: ""})

    def passed(self) -> Substitute:
        return Substitute({MESSAGE: "", LEFT: True})

    def written(self, answer: Json) -> str:
        return str(answer[MESSAGE])


def _checked(model: type[Reply], given: Json, otherwise: str) -> dict[str, Json]:
    try:
        return model.model_validate(given).model_dump()
    except ValidationError as error:
        raise InvalidInput(otherwise, form.problems_of(error)) from error
