"""What an experiment file says about a participant's own conversation with the mediators."""

from typing import Literal

from pydantic import Field

from shared.chat.config import LONGEST_TALK_SECONDS, TalkProgress, TalkStage


class PrivateChatStage(TalkStage):
    """Every participant talks with the mediators of the cohort, and nobody else reads it."""

    kind: Literal["private_chat"] = "private_chat"
    progress: TalkProgress = TalkProgress()
    time_limit_seconds: float | None = Field(default=None, gt=0, le=LONGEST_TALK_SECONDS)
    """How long the conversation may last from its opening; it goes on until `min_turns` are reached. Left out: no
    limit.
    """
    minimum_seconds: float | None = Field(default=None, gt=0, le=LONGEST_TALK_SECONDS)
    """How long the participant may not leave, counted from the first message of a member; left out: they may."""
    turn_based: bool = True
    """The participant waits for a reply before writing again, for two minutes at most."""
    min_turns: int = Field(default=0, ge=0)
    """How many messages the participant has to write before leaving."""
    max_turns: int | None = Field(default=None, ge=1)
    """After so many messages of the participant, and the reply to the last, the conversation is over. Left out: never.
    """
    allow_call_off: bool = True
    """Whether the participant may call off a reply that takes too long, and write again."""
    max_agent_run: int = Field(default=20, ge=1)
    """After this many agents' messages in a row, without a person between, no agent is asked to speak any more."""
    replies_and_reactions: bool = False
    """Whether the participant may answer a certain message, which is then quoted, and react to messages."""
