"""The rules of a conversation of the whole cohort."""

from collections.abc import Sequence
from random import Random
from typing import Literal
from uuid import UUID

from parley_lab.base.errors import Problem
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import Ask, Block, Blocked, Completion, Done, OwnView, Parts, StageKind, heading
from parley_lab.kinds.chat import display
from parley_lab.kinds.chat.kind import (
    GOES_ON,
    ChatPage,
    ChatTalk,
    chat_fields,
    is_over_for,
    lateness,
    post_limit,
    time_problems,
    up_to_calls,
)
from parley_lab.kinds.chat.speaking import too_early
from parley_lab.kinds.stages.group_chat import turns
from parley_lab.kinds.stages.group_chat.config import GroupChatStage, Topic
from parley_lab.kinds.talk import TalkRules, Wave
from parley_lab.kinds.view import MEDIATE, READY, SPEAK, WAKE, Thread

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
_MEDIATE_IN_TURN = (
    "You are the mediator of the live conversation above, and it is your turn to speak; you do not take part in it. "
    "Follow the description of who you are; where it says nothing, write one or two short and friendly sentences: ask "
    "who has not been heard, bring together what was said, or lead back to the subject. Keep the conversation polite, "
    "take no side, do not repeat yourself, and never mention that you are a model or that there are instructions."
)
_WAKE = (
    "You are in the live conversation above, in which nobody has said anything for a while. Decide, as who you are, "
    "whether you break the silence: with a new thought, a question to somebody, or the next step of what you are here "
    "for. If you do, write one to three short sentences in your own voice, and never mention that you are a model or "
    "that there are instructions. Say that you are ready to end when you have nothing more to add."
)
_READY = (
    "You are in the live conversation above; somebody else speaks now. Decide, as who you are, only whether you have "
    "nothing more to say in this conversation and want to leave it for good."
)


class GroupChatPage(ChatPage):
    kind: Literal["group_chat"] = "group_chat"
    turn_taking: str
    """The rule of turn-taking."""
    whose_turn: UUID | None
    """The holder of the turn, in `round`."""
    topics: list[Topic]
    topic: str | None
    """The id of the current topic."""
    is_done_with_topic: bool
    is_ready: bool
    """Whether the reader is ready to end."""


class GroupChat(StageKind[GroupChatStage]):
    config_model = GroupChatStage

    def problems(self, stage: GroupChatStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        return [*time_problems(stage.time_limit_seconds, stage.minimum_seconds), *_topic_problems(stage)]

    def page(self, stage: GroupChatStage, view: OwnView) -> GroupChatPage:
        thread = view.thread
        own = thread.speaker(view.me.id) if thread else None
        return GroupChatPage(
            **heading(stage),
            **chat_fields(view),
            time_limit_seconds=stage.time_limit_seconds,
            minimum_seconds=stage.minimum_seconds,
            replies_and_reactions=stage.replies_and_reactions,
            turn_taking=stage.turn_taking,
            whose_turn=None if thread is None or thread.ended else thread.turns.holder,
            topics=list(stage.topics),
            topic=stage.topics[thread.topic if thread else 0].id if stage.topics else None,
            is_done_with_topic=own is not None and own.done,
            is_ready=own is not None and own.ready,
        )

    def prompt(self, stage: GroupChatStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        return display.of_a_group(view, {topic.id: _about(topic) for topic in stage.topics}, is_over=ask is None)

    def completion(self, stage: GroupChatStage, view: OwnView) -> Completion:
        """A person may leave after the minimum time; an agent stays until it is ready or the conversation is over."""
        if view.me.player != "person":
            return Done() if is_over_for(view) else GOES_ON
        early = None if view.thread is None else too_early(stage.minimum_seconds, view.thread)
        return Done() if early is None else Blocked((early,))

    def parts(self, stage: GroupChatStage) -> Parts:
        return Parts(talk=GroupTalk(stage))

    def example(self) -> GroupChatStage:
        return GroupChatStage(
            id="talk",
            name="The conversation",
            description="Talk about whether the night bus should be free.",
            time_limit_seconds=600,
        )


class GroupTalk(ChatTalk):
    """All members talk in one thread."""

    def __init__(self, stage: GroupChatStage) -> None:
        self._stage = stage
        self.rules = TalkRules(
            turn_taking=stage.turn_taking,
            time_limit_seconds=stage.time_limit_seconds,
            minimum_seconds=stage.minimum_seconds,
            topics=tuple((topic.id, topic.name) for topic in stage.topics),
            replies_and_reactions=stage.replies_and_reactions,
            # With turns, no member speaks between a turn and its reply.
            lateness=None if stage.turn_taking == "round" else lateness(stage),
            post_limit=post_limit(stage),
        )

    def next_wave(self, thread: Thread, rng: Random) -> Wave:
        return turns.next_wave(self._stage, thread, rng)

    def task(self, view: OwnView, purpose: str) -> str:
        if purpose == SPEAK and view.me.kind == "mediator":
            return _MEDIATE_IN_TURN
        return {MEDIATE: _MEDIATE, SPEAK: _SPEAK, WAKE: _WAKE, READY: _READY}.get(purpose, _TALK)

    def too_early(self, thread: Thread) -> str | None:
        return too_early(self._stage.minimum_seconds, thread)

    def may_not_speak(self, thread: Thread, member_id: UUID) -> str | None:
        """With turns, members without the turn wait for it."""
        if self._stage.turn_taking != "round" or thread.turns.holder == member_id:
            return None
        holder = thread.speaker(thread.turns.holder)
        return f"It is the turn of {holder.member.name}." if holder else "It is nobody's turn yet."

    def message_cost(self, participants: int, mediators: int) -> str:
        stage = self._stage
        readiness = f", and one about readiness in {stage.ready_check_every or participants} messages"
        more = readiness if participants > 1 else ""
        if stage.turn_taking != "race":
            return f"1 call for each message of an agent{more}"
        again = "" if stage.late_replies == "said" else "; asks anew whenever a member speaks during a call"
        return f"{up_to_calls(participants + mediators)} for each message, to everybody who may speak{more}{again}"


def _topic_problems(stage: GroupChatStage) -> list[Problem]:
    ids = [topic.id for topic in stage.topics]
    return [
        Problem(f"topics[{place}].id", repr(topic_id), "an id that no other topic has")
        for place, topic_id in enumerate(ids)
        if topic_id in ids[:place]
    ]


def _about(topic: Topic) -> str:
    items = "\n".join(f"- {item.name}" for item in topic.items)
    return "\n\n".join(part for part in (topic.name, topic.description, items) if part)


KIND = GroupChat()
