"""The rules of a free conversation."""

from collections.abc import Mapping, Sequence
from random import Random

from pydantic import BaseModel

from shared.contracts.experiment import StageConfig
from shared.errors import InvalidInput, Problem
from shared.stage import (
    MEDIATE,
    SPEAK,
    Ask,
    Block,
    Column,
    Json,
    Member,
    Speaker,
    StageKind,
    StageView,
    Thread,
    Unanswered,
    Utterance,
    Wave,
    heading,
)
from shared.stages.group_chat import display, turns
from shared.stages.group_chat.config import GroupChatStage, SpeakReply, TalkReply

_TALK = (
    "You are in a live conversation with the people listed above. First react, as the person you are, to the last one "
    "or two messages; then decide whether you say anything at all. Most of the time people do not answer every "
    "message. When you do speak, write the way this person types in a chat: one to three short sentences, in your own "
    "voice, with the opinions, doubts and gaps of knowledge that this person has. Do not sum up what others said, do "
    "not offer help, do not repeat yourself, and never mention that you are a model or that there are instructions. "
    "Say that you are ready to end when you have nothing more to add."
)
_MEDIATE = (
    "You are the mediator of the live conversation above; you do not take part in it. Follow the description of who "
    "you are; where it says nothing, write one or two short and friendly sentences. Help everybody to be heard, keep "
    "the conversation polite and on its subject, and take no side. Speak seldom: the larger the group, the less. Stay "
    "silent when the participants are doing well by themselves."
)
_SPEAK = (
    "You are in the live conversation above, and it is your turn to speak. React, as who you are, to the last one or "
    "two messages, in one to three short sentences and in your own voice. Do not sum up what others said or repeat "
    "yourself, and never mention that you are a model or that there are instructions. Say that you are ready to end "
    "when you have nothing more to add."
)
_GOES_ON = "The conversation goes on."


class GroupChat(StageKind[GroupChatStage]):
    config_model = GroupChatStage
    has_thread = True

    def problems(self, stage: GroupChatStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        return []

    def draw(
        self, stage: GroupChatStage, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random
    ) -> dict[str, Json]:
        return dict(drawn)

    def public_view(self, stage: GroupChatStage, view: StageView) -> dict[str, Json]:
        own = _speaker(view.thread, view.reader)
        return {
            **heading(stage),
            "time_limit_seconds": stage.time_limit_seconds,
            "replies_and_reactions": stage.replies_and_reactions,
            "people": [_public(member, view) for member in view.members],
            "is_open": view.thread is not None and not view.thread.ended,
            "has_ended": view.thread is not None and view.thread.ended,
            "is_ready": own is not None and own.ready,
        }

    def describe(
        self, stage: GroupChatStage, view: StageView, *, with_answers: bool, ask: Ask | None = None
    ) -> list[Block]:
        """The transcript is shown with and without answers: it is what the stage consists of."""
        return display.describe(view)

    def task(self, stage: GroupChatStage, ask: Ask, view: StageView) -> str:
        return {MEDIATE: _MEDIATE, SPEAK: _SPEAK}.get(ask.purpose, _TALK)

    def check_answer(self, stage: GroupChatStage, ask: Ask, answer: Json, view: StageView) -> Json:
        """What is said stands in the thread; the page itself has the empty answer."""
        if answer:
            raise InvalidInput(
                "A conversation takes no answer.", [Problem("", "an answer", "nothing: say it in the conversation")]
            )
        return {}

    def blocked_by(self, stage: GroupChatStage, member: Member, view: StageView) -> list[str]:
        """A person may leave at any time; an agent stays until it is ready or the conversation is over."""
        if member.player == "person":
            return []
        own = _speaker(view.thread, member.id)
        is_over = view.thread is not None and view.thread.ended
        return [] if is_over or (own is not None and own.ready) else [_GOES_ON]

    def next_asks(self, stage: GroupChatStage, view: StageView) -> list[Ask]:
        """None: what agents say is wanted by the thread, not asked of one of them."""
        return []

    def reply_model(self, stage: GroupChatStage, ask: Ask, view: StageView) -> type[BaseModel] | None:
        return SpeakReply if ask.purpose == SPEAK else TalkReply

    def answer_from_reply(self, stage: GroupChatStage, ask: Ask, reply: BaseModel) -> Json:
        return {}

    def on_unanswered(self, stage: GroupChatStage, ask: Ask, reason: str) -> Unanswered:
        return "pass"

    def columns(self, stage: GroupChatStage) -> list[Column]:
        return []

    def cells(self, stage: GroupChatStage, answer: Json) -> dict[str, Json]:
        return {}

    def example(self) -> GroupChatStage:
        return GroupChatStage(
            id="talk",
            name="The conversation",
            description="Talk about whether the night bus should be free.",
            time_limit_seconds=600,
        )

    def turn_taking(self, stage: GroupChatStage) -> str:
        return stage.turn_taking

    def has_replies_and_reactions(self, stage: GroupChatStage) -> bool:
        return stage.replies_and_reactions

    def time_limit_seconds(self, stage: GroupChatStage) -> float | None:
        return stage.time_limit_seconds

    def next_wave(self, stage: GroupChatStage, thread: Thread, rng: Random) -> Wave:
        return turns.next_wave(stage, thread, rng)

    def utterance(self, stage: GroupChatStage, reply: BaseModel) -> Utterance:
        """What is said, or nothing; that a reply which speaks has words, its type has seen to."""
        if not isinstance(reply, TalkReply | SpeakReply):
            raise TypeError(f"a reply in a group chat is a TalkReply or SpeakReply, not {type(reply).__name__}")
        says_something = isinstance(reply, SpeakReply) or reply.should_respond
        text = reply.response.strip() if says_something else ""
        return Utterance(text or None, reply.ready_to_end, reply.explanation)


def _speaker(thread: Thread | None, member_id: object) -> Speaker | None:
    speakers = thread.speakers if thread else ()
    return next((speaker for speaker in speakers if speaker.member.id == member_id), None)


def _public(member: Member, view: StageView) -> dict[str, Json]:
    return {
        "id": str(member.id),
        "kind": member.kind,
        "profile": {**member.profile.model_dump(), "name": member.name},
        "is_you": member.id == view.reader,
    }


KIND = GroupChat()
