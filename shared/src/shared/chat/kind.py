"""What every kind of conversation answers alike: words stand in its thread, and its page takes no answer."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeVar
from uuid import UUID

from pydantic import BaseModel

from shared.chat import replies
from shared.chat.config import TalkStage
from shared.errors import InvalidInput, Problem
from shared.stage import Ask, Column, Json, Lateness, Member, StageKind, StageView, Thread, Unanswered, Utterance

GOES_ON = "The conversation goes on."

TalkT = TypeVar("TalkT", bound=TalkStage)


class Conversation(StageKind[TalkT]):
    """A kind whose content is what is said in its thread."""

    thread = "conversation"

    def draw(self, stage: TalkT, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        return dict(drawn)

    def check_answer(self, stage: TalkT, ask: Ask, answer: Json, view: StageView) -> Json:
        """What is said stands in the thread; the page itself has the empty answer."""
        if answer:
            raise InvalidInput(
                "A conversation takes no answer.", [Problem("", "an answer", "nothing: say it in the conversation")]
            )
        return {}

    def next_asks(self, stage: TalkT, view: StageView) -> list[Ask]:
        """None: what agents say is wanted by the thread, not asked of one of them."""
        return []

    def reply_model(self, stage: TalkT, ask: Ask, view: StageView) -> type[BaseModel] | None:
        return replies.reply_model(ask.purpose)

    def answer_from_reply(self, stage: TalkT, ask: Ask, reply: BaseModel) -> Json:
        return {}

    def utterance(self, stage: TalkT, reply: BaseModel) -> Utterance:
        return replies.utterance(reply)

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


def is_over_for(thread: Thread | None, member_id: UUID) -> bool:
    """Whether the conversation is over, or this member is ready to end it."""
    own = thread.speaker(member_id) if thread else None
    return thread is not None and (thread.ended or (own is not None and own.ready))


def shown_to(members: Sequence[Member], reader: UUID | None) -> list[dict[str, Json]]:
    """The people of a conversation as its page shows them; who is an agent is not in it."""
    return [
        {
            "id": str(member.id),
            "kind": member.kind,
            "profile": {**member.profile.model_dump(), "name": member.name},
            "is_you": member.id == reader,
        }
        for member in members
    ]


def time_problems(limit_seconds: float | None, minimum_seconds: float | None) -> list[Problem]:
    if limit_seconds is None or minimum_seconds is None or minimum_seconds <= limit_seconds:
        return []
    return [
        Problem("minimum_seconds", f"{minimum_seconds:g}", f"at most time_limit_seconds, which is {limit_seconds:g}")
    ]


def up_to_calls(most: int) -> str:
    return "no call" if most == 0 else "1 call" if most == 1 else f"up to {most} calls"
