"""What all kinds of conversations have in common: the shape of replies, the rule for late ones, the page."""

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from parley_lab.base.errors import Problem
from parley_lab.kinds import Blocked, Json, OwnView, PageContent, Reason
from parley_lab.kinds.chat import replies
from parley_lab.kinds.chat.config import TalkStage
from parley_lab.kinds.parts import Talk
from parley_lab.kinds.talk import Lateness, Utterance

GOES_ON = Blocked((Reason("The conversation goes on.", "goes_on"),))


class ChatTalk(Talk):
    """A conversation whose agents reply with Deliberate Lab's fields."""

    def reply_model(self, purpose: str) -> type[BaseModel]:
        return replies.reply_model(purpose)

    def utterance(self, purpose: str, reply: Json) -> Utterance:
        return replies.utterance(replies.reply_model(purpose).model_validate(reply))


def lateness(stage: TalkStage) -> Lateness | None:
    return Lateness(stage.max_behind, stage.quiet_seconds) if stage.late_replies == "said" else None


def post_limit(stage: TalkStage) -> tuple[int, float] | None:
    limit = stage.post_limit
    return None if limit is None else (limit.posts, limit.seconds)


class ShownProfile(BaseModel):
    name: str
    avatar: str
    pronouns: str


class Person(BaseModel):
    """A member on the page of a conversation; it does not tell who is an agent."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    id: UUID
    kind: Literal["participant", "mediator"]
    profile: ShownProfile
    is_you: bool


class ChatPage(PageContent):
    """The fields of all pages of conversations."""

    time_limit_seconds: float | None
    minimum_seconds: float | None
    replies_and_reactions: bool
    """Whether messages may reply to one another, and members may react to them."""
    people: list[Person]
    is_open: bool
    has_ended: bool


def chat_fields(view: OwnView) -> dict[str, Json]:
    """The fields of `ChatPage` that the configuration does not have."""
    thread = view.thread
    return {
        "people": people_of(view),
        "is_open": thread is not None and not thread.ended,
        "has_ended": thread is not None and thread.ended,
    }


def is_over_for(view: OwnView) -> bool:
    """Whether the conversation is over, or the reader is ready to end it."""
    thread = view.thread
    own = thread.speaker(view.me.id) if thread else None
    return thread is not None and (thread.ended or (own is not None and own.ready))


def people_of(view: OwnView) -> list[Person]:
    return [
        Person(
            id=member.id,
            kind=member.kind,
            profile=ShownProfile(name=member.name, avatar=member.profile.avatar, pronouns=member.profile.pronouns),
            is_you=member.id == view.me.id,
        )
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
