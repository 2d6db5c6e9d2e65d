"""The configuration that all kinds of conversations share."""

from typing import Final, Literal

from pydantic import Field

from parley_lab.contracts.experiment import Document, StageConfig

LONGEST_TALK_SECONDS: Final = 30 * 24 * 60 * 60
"""Thirty days: a longer limit is probably a mistake in its unit, and some would exceed the calendar."""


class PostLimit(Document):
    """How many messages a person may post in one conversation within a time."""

    posts: int = Field(default=10, ge=1, le=1000)
    seconds: float = Field(default=5.0, gt=0, le=3600)


class TalkStage(StageConfig):
    """The fields of every conversation between people and agents."""

    late_replies: Literal["said", "dropped"] = "said"
    """What happens to an agent's reply when others have said something since the message that it answers. `said`: it is
    published, and an agent with a call in flight is asked again only after it. `dropped`: it is dropped, and every
    message asks all agents anew, at full price.
    """
    max_behind: int = Field(default=10, ge=0)
    """With `said`: how many messages of members may come after the message that a reply answers; with more the reply is
    dropped.
    """
    quiet_seconds: float = Field(default=0.5, ge=0, le=60)
    """With `said`, in pace `live`: a person's message asks agents at once; about further messages of people within so
    many seconds they are asked together at the end. An agent that has spoken while others thought about the same
    message is asked again after them, at most so much later. 0: every message asks at once.
    """
    post_limit: PostLimit | None = PostLimit()
    """How many messages each person may post here within a time; more are refused, with the seconds to wait. null: no
    limit.
    """
