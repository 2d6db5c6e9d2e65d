"""The configuration of a private conversation with the mediators."""

from typing import Literal

from pydantic import Field

from parley_lab.contracts.experiment import Together
from parley_lab.kinds.chat.config import LONGEST_TALK_SECONDS, TalkStage


class PrivateChatStage(TalkStage):
    """Every participant talks with the mediators of the cohort; no other member reads it."""

    kind: Literal["private_chat"] = "private_chat"
    progress: Together = Together()
    time_limit_seconds: float | None = Field(default=None, gt=0, le=LONGEST_TALK_SECONDS)
    """How long the conversation may last from its opening; it goes on until `min_turns` are reached. Left out: no
    limit.
    """
    minimum_seconds: float | None = Field(default=None, gt=0, le=LONGEST_TALK_SECONDS)
    """How long the participant has to stay, counted from the first message of a member; left out: no minimum."""
    turn_based: bool = True
    """The participant waits for a reply before writing again, for two minutes at most."""
    min_turns: int = Field(default=0, ge=0)
    """How many messages the participant has to write before leaving."""
    max_turns: int | None = Field(default=None, ge=1)
    """After so many messages of the participant, and the reply to the last, the conversation is over. Left out: no
    limit.
    """
    allow_call_off: bool = True
    """Whether the participant may cancel a reply that takes too long, and write again."""
    max_agent_run: int = Field(default=20, ge=1)
    """After so many messages of agents in a row, without a person's in between, no agent is asked to speak any more."""
    replies_and_reactions: bool = False
    """Whether the participant may reply to a particular message, which is then quoted, and react to messages."""
