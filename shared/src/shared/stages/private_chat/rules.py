"""The rules of a private conversation with the mediators."""

from collections.abc import Sequence
from random import Random
from uuid import UUID

from shared.chat import display
from shared.chat.kind import GOES_ON, Conversation, is_over_for, people_of, time_problems, up_to_calls
from shared.chat.speaking import too_early
from shared.contracts.experiment import StageConfig
from shared.errors import Problem
from shared.stage import MEDIATE, Ask, Block, Json, OwnView, Thread, Wave, heading
from shared.stages.private_chat import turns
from shared.stages.private_chat.config import PrivateChatStage

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
_WAIT = "Please wait for the reply."
_NO_TURNS = "You have written all the messages that this conversation has."


class PrivateChat(Conversation[PrivateChatStage]):
    config_model = PrivateChatStage
    has_private_threads = True

    def problems(self, stage: PrivateChatStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        problems = time_problems(stage.time_limit_seconds, stage.minimum_seconds)
        if stage.max_turns is not None and stage.max_turns < stage.min_turns:
            problems.append(
                Problem("max_turns", str(stage.max_turns), f"at least min_turns, which is {stage.min_turns}")
            )
        return problems

    def public_view(self, stage: PrivateChatStage, view: OwnView) -> dict[str, Json]:
        thread = view.thread
        own = thread.speaker(view.me.id) if thread else None
        is_waiting = thread is not None and own is not None and turns.waits_for_reply(thread, own)
        return {
            **heading(stage),
            "time_limit_seconds": stage.time_limit_seconds,
            "minimum_seconds": stage.minimum_seconds,
            "turn_based": stage.turn_based,
            "min_turns": stage.min_turns,
            "max_turns": stage.max_turns,
            "turns": own.spoken if own else 0,
            "replies_and_reactions": stage.replies_and_reactions,
            "is_waiting_for_reply": is_waiting,
            "may_call_off": stage.allow_call_off and is_waiting,
            "people": people_of(view),
            "is_open": thread is not None and not thread.ended,
            "has_ended": thread is not None and thread.ended,
        }

    def describe(
        self, stage: PrivateChatStage, view: OwnView, *, with_answers: bool, ask: Ask | None = None
    ) -> list[Block]:
        """The transcript is shown with and without answers: it is what the stage consists of."""
        return display.in_private(view, is_over=ask is None)

    def task(self, stage: PrivateChatStage, ask: Ask, view: OwnView) -> str:
        return _MEDIATE if ask.purpose == MEDIATE else _TALK

    def blocked_by(self, stage: PrivateChatStage, view: OwnView) -> list[str]:
        """An agent stays until it is ready or the conversation is over; a person has turns and time to keep."""
        if is_over_for(view):
            return []
        if view.me.player != "person":
            return [GOES_ON]
        thread = view.thread
        own = thread.speaker(view.me.id) if thread else None
        missing = stage.min_turns - (own.spoken if own else 0)
        reasons = [f"Please write {missing} more message{'s' if missing > 1 else ''}."] if missing > 0 else []
        if thread is not None and own is not None:
            reasons += [early] if (early := self.too_early(stage, thread)) else []
            reasons += [_WAIT] if stage.turn_based and turns.waits_for_reply(thread, own) else []
        return reasons

    def example(self) -> PrivateChatStage:
        return PrivateChatStage(
            id="questions",
            name="Your questions",
            description="Ask the guide what you would like to know.",
            min_turns=1,
            max_turns=10,
        )

    def turn_taking(self, stage: PrivateChatStage) -> str:
        return "private"

    def message_cost(self, stage: PrivateChatStage, participants: int, mediators: int) -> str | None:
        return f"{up_to_calls(mediators)} for each message of the participant"

    def has_replies_and_reactions(self, stage: PrivateChatStage) -> bool:
        return stage.replies_and_reactions

    def time_limit_seconds(self, stage: PrivateChatStage) -> float | None:
        return stage.time_limit_seconds

    def outlasts_its_limit(self, stage: PrivateChatStage, thread: Thread) -> bool:
        return any(s.member.kind == "participant" and s.spoken < stage.min_turns for s in thread.speakers)

    def too_early(self, stage: PrivateChatStage, thread: Thread) -> str | None:
        return too_early(stage.minimum_seconds, thread)

    def may_not_speak(self, stage: PrivateChatStage, thread: Thread, member_id: UUID) -> str | None:
        own = thread.speaker(member_id)
        if own is None:
            return None
        if stage.max_turns is not None and own.spoken >= stage.max_turns:
            return _NO_TURNS
        return _WAIT if stage.turn_based and turns.waits_for_reply(thread, own) else None

    def may_call_off(self, stage: PrivateChatStage, thread: Thread, member_id: UUID) -> bool:
        own = thread.speaker(member_id)
        return stage.allow_call_off and own is not None and turns.waits_for_reply(thread, own)

    def next_wave(self, stage: PrivateChatStage, thread: Thread, rng: Random) -> Wave:
        return turns.next_wave(stage, thread)


KIND = PrivateChat()
