"""The rules of a free conversation."""

from collections.abc import Sequence
from random import Random
from uuid import UUID

from shared.chat import display
from shared.chat.kind import GOES_ON, Conversation, is_over_for, people_of, time_problems, up_to_calls
from shared.chat.speaking import too_early
from shared.contracts.experiment import StageConfig
from shared.errors import Problem
from shared.stage import (
    MEDIATE,
    READY,
    SPEAK,
    WAKE,
    Ask,
    Block,
    Json,
    Lateness,
    OwnView,
    Thread,
    Wave,
    heading,
)
from shared.stages.group_chat import turns
from shared.stages.group_chat.config import GroupChatStage, Topic

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


class GroupChat(Conversation[GroupChatStage]):
    config_model = GroupChatStage

    def problems(self, stage: GroupChatStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        return [*time_problems(stage.time_limit_seconds, stage.minimum_seconds), *_topic_problems(stage)]

    def public_view(self, stage: GroupChatStage, view: OwnView) -> dict[str, Json]:
        thread = view.thread
        own = thread.speaker(view.me.id) if thread else None
        return {
            **heading(stage),
            "time_limit_seconds": stage.time_limit_seconds,
            "minimum_seconds": stage.minimum_seconds,
            "replies_and_reactions": stage.replies_and_reactions,
            "turn_taking": stage.turn_taking,
            "whose_turn": _whose_turn(thread),
            "topics": [topic.model_dump(mode="json") for topic in stage.topics],
            "topic": stage.topics[thread.topic if thread else 0].id if stage.topics else None,
            "is_done_with_topic": own is not None and own.done,
            "people": people_of(view),
            "is_open": view.thread is not None and not view.thread.ended,
            "has_ended": view.thread is not None and view.thread.ended,
            "is_ready": own is not None and own.ready,
        }

    def describe(
        self, stage: GroupChatStage, view: OwnView, *, with_answers: bool, ask: Ask | None = None
    ) -> list[Block]:
        """The transcript is shown with and without answers: it is what the stage consists of."""
        return display.of_a_group(view, {topic.id: _about(topic) for topic in stage.topics}, is_over=ask is None)

    def task(self, stage: GroupChatStage, ask: Ask, view: OwnView) -> str:
        if ask.purpose == SPEAK and view.me.kind == "mediator":
            return _MEDIATE_IN_TURN
        return {MEDIATE: _MEDIATE, SPEAK: _SPEAK, WAKE: _WAKE, READY: _READY}.get(ask.purpose, _TALK)

    def blocked_by(self, stage: GroupChatStage, view: OwnView) -> list[str]:
        """A person may leave after the minimum time; an agent stays until it is ready or the conversation is over."""
        if view.me.player == "person":
            early = None if view.thread is None else self.too_early(stage, view.thread)
            return [early] if early else []
        return [] if is_over_for(view) else [GOES_ON]

    def example(self) -> GroupChatStage:
        return GroupChatStage(
            id="talk",
            name="The conversation",
            description="Talk about whether the night bus should be free.",
            time_limit_seconds=600,
        )

    def turn_taking(self, stage: GroupChatStage) -> str:
        return stage.turn_taking

    def message_cost(self, stage: GroupChatStage, participants: int, mediators: int) -> str | None:
        readiness = f", and one about readiness in {stage.ready_check_every or participants} messages"
        more = readiness if participants > 1 else ""
        if stage.turn_taking != "race":
            return f"1 call for each message of an agent{more}"
        again = "" if stage.late_replies == "said" else "; asks anew whenever somebody speaks during a call"
        return f"{up_to_calls(participants + mediators)} for each message, to everybody who may speak{more}{again}"

    def lateness(self, stage: GroupChatStage) -> Lateness | None:
        """In turns nobody speaks between a turn and its reply."""
        return None if stage.turn_taking == "round" else super().lateness(stage)

    def has_replies_and_reactions(self, stage: GroupChatStage) -> bool:
        return stage.replies_and_reactions

    def time_limit_seconds(self, stage: GroupChatStage) -> float | None:
        return stage.time_limit_seconds

    def too_early(self, stage: GroupChatStage, thread: Thread) -> str | None:
        return too_early(stage.minimum_seconds, thread)

    def topics(self, stage: GroupChatStage) -> Sequence[tuple[str, str]]:
        return [(topic.id, topic.name) for topic in stage.topics]

    def may_not_speak(self, stage: GroupChatStage, thread: Thread, member_id: UUID) -> str | None:
        """In turns, whoever is not the holder of the turn waits for it."""
        if stage.turn_taking != "round" or thread.holder == member_id:
            return None
        holder = thread.speaker(thread.holder)
        return f"It is the turn of {holder.member.name}." if holder else "It is nobody's turn yet."

    def next_wave(self, stage: GroupChatStage, thread: Thread, rng: Random) -> Wave:
        return turns.next_wave(stage, thread, rng)


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


def _whose_turn(thread: Thread | None) -> str | None:
    return None if thread is None or thread.ended or thread.holder is None else str(thread.holder)


KIND = GroupChat()
