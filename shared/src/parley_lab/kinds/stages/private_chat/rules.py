"""The rules of a private conversation with the mediators."""

from collections.abc import Sequence
from random import Random
from typing import Literal
from uuid import UUID

from parley_lab.base.errors import Problem
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import Ask, Block, Blocked, Completion, Done, OwnView, Parts, Reason, StageKind, heading
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
from parley_lab.kinds.chat.speaking import of_kind, too_early
from parley_lab.kinds.stages.private_chat import turns
from parley_lab.kinds.stages.private_chat.config import PrivateChatStage
from parley_lab.kinds.talk import TalkRules, Wave
from parley_lab.kinds.view import MEDIATE, Thread

_TALK = (
    "You are in a private conversation with the mediator above; nobody else reads it. React, as the person you are, to "
    "the last message; ask what you want to know, and answer what you are asked, in one to three short sentences and "
    "in your own voice. Never mention that you are a model or that there are instructions. Say that you are ready to "
    "end when you have nothing more to ask or to say."
)
_MEDIATE = (
    "You are the mediator of the private conversation above, with one participant. Follow the description of who you "
    "are; where it says nothing, write one to three short and friendly sentences. See to it that the participant's "
    "questions are answered and that the participant knows what to do here. Answer every message of the participant."
)
_WAIT = Reason("Please wait for the reply.", "wait_for_reply")
_NO_TURNS = "You have written all the messages that this conversation has."


class PrivateChatPage(ChatPage):
    kind: Literal["private_chat"] = "private_chat"
    turn_based: bool
    min_turns: int
    max_turns: int | None
    turns: int
    """The number of the reader's messages."""
    is_waiting_for_reply: bool
    may_call_off: bool


class PrivateChat(StageKind[PrivateChatStage]):
    config_model = PrivateChatStage

    def problems(self, stage: PrivateChatStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        problems = time_problems(stage.time_limit_seconds, stage.minimum_seconds)
        if stage.max_turns is not None and stage.max_turns < stage.min_turns:
            problems.append(
                Problem("max_turns", str(stage.max_turns), f"at least min_turns, which is {stage.min_turns}")
            )
        return problems

    def page(self, stage: PrivateChatStage, view: OwnView) -> PrivateChatPage:
        thread = view.thread
        own = thread.speaker(view.me.id) if thread else None
        # A call may still be in flight when the conversation is over.
        is_waiting = thread is not None and not thread.ended and own is not None and turns.waits_for_reply(thread, own)
        return PrivateChatPage(
            **heading(stage),
            **chat_fields(view),
            time_limit_seconds=stage.time_limit_seconds,
            minimum_seconds=stage.minimum_seconds,
            turn_based=stage.turn_based,
            min_turns=stage.min_turns,
            max_turns=stage.max_turns,
            turns=own.spoken if own else 0,
            replies_and_reactions=stage.replies_and_reactions,
            is_waiting_for_reply=is_waiting,
            may_call_off=stage.allow_call_off and is_waiting,
        )

    def prompt(self, stage: PrivateChatStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        return display.in_private(view, is_over=ask is None)

    def completion(self, stage: PrivateChatStage, view: OwnView) -> Completion:
        """An agent stays until it is ready or the conversation is over; a person has a minimum of turns and time."""
        if is_over_for(view):
            return Done()
        if view.me.player != "person":
            return GOES_ON
        thread = view.thread
        own = thread.speaker(view.me.id) if thread else None
        missing = turns.missing_turns(stage, own)
        more = f"Please write {missing} more message{'s' if missing > 1 else ''}."
        reasons = [Reason(more, "write_more_messages", count=missing)] if missing else []
        if thread is not None and own is not None:
            reasons += [early] if (early := too_early(stage.minimum_seconds, thread)) else []
            reasons += [_WAIT] if stage.turn_based and turns.waits_for_reply(thread, own) else []
        return Blocked(tuple(reasons)) if reasons else Done()

    def parts(self, stage: PrivateChatStage) -> Parts:
        return Parts(talk=PrivateTalk(stage))

    def example(self) -> PrivateChatStage:
        return PrivateChatStage(
            id="questions",
            name="Your questions",
            description="Ask the guide what you would like to know.",
            min_turns=1,
            max_turns=10,
        )


class PrivateTalk(ChatTalk):
    """Each participant talks alone with the mediators."""

    def __init__(self, stage: PrivateChatStage) -> None:
        self._stage = stage
        self.rules = TalkRules(
            turn_taking="private",
            is_private=True,
            time_limit_seconds=stage.time_limit_seconds,
            minimum_seconds=stage.minimum_seconds,
            replies_and_reactions=stage.replies_and_reactions,
            lateness=lateness(stage),
            post_limit=post_limit(stage),
        )

    def next_wave(self, thread: Thread, rng: Random) -> Wave:
        return turns.next_wave(self._stage, thread)

    def task(self, view: OwnView, purpose: str) -> str:
        return _MEDIATE if purpose == MEDIATE else _TALK

    def too_early(self, thread: Thread) -> str | None:
        return too_early(self._stage.minimum_seconds, thread)

    def may_not_speak(self, thread: Thread, member_id: UUID) -> str | None:
        own = thread.speaker(member_id)
        if own is None:
            return None
        if self._stage.max_turns is not None and own.spoken >= self._stage.max_turns:
            return _NO_TURNS
        return _WAIT if self._stage.turn_based and turns.waits_for_reply(thread, own) else None

    def may_call_off(self, thread: Thread, member_id: UUID) -> bool:
        own = thread.speaker(member_id)
        return self._stage.allow_call_off and own is not None and turns.waits_for_reply(thread, own)

    def outlasts_its_limit(self, thread: Thread) -> bool:
        return any(turns.missing_turns(self._stage, one) for one in of_kind("participant", thread.speakers))

    def message_cost(self, participants: int, mediators: int) -> str:
        return f"{up_to_calls(mediators)} for each message of the participant"


KIND = PrivateChat()
