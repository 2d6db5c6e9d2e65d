"""What every kind of conversation answers alike: words stand in its thread, and its page takes no answer."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeVar

from pydantic import BaseModel

from shared.chat import replies
from shared.chat.config import TalkStage
from shared.errors import InvalidInput, Problem
from shared.stage import Ask, Column, Json, Lateness, Member, OwnView, StageKind, Unanswered, Utterance

GOES_ON = "The conversation goes on."

TalkT = TypeVar("TalkT", bound=TalkStage)


class Conversation(StageKind[TalkT]):
    """A kind whose content is what is said in its thread."""

    thread = "conversation"

    def draw(self, stage: TalkT, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        return dict(drawn)

    def check_answer(self, stage: TalkT, ask: Ask, answer: Json, view: OwnView) -> Json:
        """What is said stands in the thread; the page itself has the empty answer."""
        if answer:
            raise InvalidInput(
                "A conversation takes no answer.", [Problem("", "an answer", "nothing: say it in the conversation")]
            )
        return {}

    def next_asks(self, stage: TalkT, view: OwnView) -> list[Ask]:
        """None: what agents say is wanted by the thread, not asked of one of them."""
        return []

    def reply_model(self, stage: TalkT, ask: Ask, view: OwnView) -> type[BaseModel] | None:
        return replies.reply_model(ask.purpose)

    def answer_from_reply(self, stage: TalkT, ask: Ask, reply: BaseModel) -> Json:
        return {}

    def utterance(self, stage: TalkT, purpose: str, reply: Json) -> Utterance:
        return replies.utterance(replies.reply_model(purpose).model_validate(reply))

    def on_unanswered(self, stage: TalkT, ask: Ask, reason: str) -> Unanswered:
        return "pass"

    def lateness(self, stage: TalkT) -> Lateness | None:
        return Lateness(stage.max_behind, stage.quiet_seconds) if stage.late_replies == "said" else None

    def post_limit(self, stage: TalkT) -> tuple[int, float] | None:
        limit = stage.post_limit
        return None if limit is None else (limit.posts, limit.seconds)

    def columns(self, stage: TalkT) -> list[Column]:
        return []

    def cells(self, stage: TalkT, answer: Json) -> dict[str, Json]:
        return {}


def is_over_for(view: OwnView) -> bool:
    """Whether the conversation is over, or the reader is ready to end it."""
    thread = view.thread
    own = thread.speaker(view.me.id) if thread else None
    return thread is not None and (thread.ended or (own is not None and own.ready))


def people_of(view: OwnView) -> list[dict[str, Json]]:
    """The people of a conversation as its page shows them; who is an agent is not in it."""
    return [
        {
            "id": str(member.id),
            "kind": member.kind,
            "profile": {**member.profile.model_dump(), "name": member.name},
            "is_you": member.id == view.me.id,
        }
        for member in view.members
    ]


def time_problems(limit_seconds: float | None, minimum_seconds: float | None) -> list[Problem]:
    if limit_seconds is None or minimum_seconds is None or minimum_seconds <= limit_seconds:
        return []
    return [
        Problem("minimum_seconds", f"{minimum_seconds:g}", f"at most time_limit_seconds, which is {limit_seconds:g}")
    ]


def up_to_calls(most: int) -> str:
    return "no call" if most == 0 else "1 call" if most == 1 else f"up to {most} calls"
