"""What experiment files say alike about every kind of conversation."""

from typing import Final, Literal

from pydantic import Field

from shared.contracts.experiment import Document, Progress, StageConfig

LONGEST_TALK_SECONDS: Final = 30 * 24 * 60 * 60
"""Thirty days: a limit beyond the longest study is a mistake in its unit, and beyond the calendar cannot be kept."""


class TalkProgress(Progress):
    """When a conversation opens; by default when everybody of the cohort is there."""

    wait_for_all: bool = True
    """The stage opens when everybody who is still in the cohort has arrived at it; open seats are waited for."""


class PostLimit(Document):
    """How many messages a person may post in one conversation within a time."""

    posts: int = Field(default=10, ge=1, le=1000)
    seconds: float = Field(default=5.0, gt=0, le=3600)


class TalkStage(StageConfig):
    """What every conversation has in which people and agents talk."""

    late_replies: Literal["said", "dropped"] = "said"
    """What becomes of an agent's reply when others have said something since the message that it answers. `said`: it is
    said all the same, and an agent with a call in flight is asked again only after it. `dropped`: it is dropped, and
    every message asks everybody anew, at full price.
    """
    max_behind: int = Field(default=10, ge=0)
    """With `said`: how many messages of members may have come after the one that a reply answers; with more it is
    dropped.
    """
    quiet_seconds: float = Field(default=0.5, ge=0, le=60)
    """With `said`, in pace `live`: a person's message asks agents at once; what people say within so many seconds of it
    is asked about together at their end. 0: every message asks at once.
    """
    post_limit: PostLimit | None = PostLimit()
    """How many messages each person may post here within a time; more are refused, with the seconds to wait. null: any
    number.
    """
