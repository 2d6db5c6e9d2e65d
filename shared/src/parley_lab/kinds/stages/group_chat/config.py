"""The configuration of a conversation of the whole cohort."""

from typing import Literal

from pydantic import Field

from parley_lab.contracts.experiment import Document, Slug, Together
from parley_lab.kinds.chat.config import LONGEST_TALK_SECONDS, TalkStage


class TopicItem(Document):
    """One of the things that a topic compares."""

    id: Slug
    name: str = Field(min_length=1)


class Topic(Document):
    """A part of a conversation; the next one begins when all who take part are done with this one."""

    id: Slug
    name: str = Field(min_length=1)
    """The heading that all members see."""
    description: str = ""
    """What to talk about."""
    items: tuple[TopicItem, ...] = ()
    """What to compare; left out: a free topic."""


class GroupChatStage(TalkStage):
    """A conversation of the whole cohort, mediators included."""

    kind: Literal["group_chat"] = "group_chat"
    progress: Together = Together()
    time_limit_seconds: float | None = Field(default=None, gt=0, le=LONGEST_TALK_SECONDS)
    """How long the conversation may last from its opening, at most 30 days; left out: until all are ready to end it."""
    minimum_seconds: float | None = Field(default=None, gt=0, le=LONGEST_TALK_SECONDS)
    """How long members have to stay, counted from the first message of a member; left out: they may leave at any
    time."""
    turn_taking: Literal["race", "select", "round"] = "race"
    """Who speaks next. `race`: every agent that may speak is asked, and the first reply is published. `select`: one
    agent is drawn before any model is called, and speaks; one that has spoken least or was addressed by name is more
    likely. `round`: one after another, people too: first the mediators, then the participants in a drawn order.
    """
    ready_check_every: int | None = Field(default=None, ge=1)
    """After so many messages an agent that is not asked to speak is asked whether it is ready to end: in `race` the
    author of the last message, in `select` and `round` the one that has not been asked anything for the longest time.
    Left out: as many as there are agents.
    """
    max_agent_run: int = Field(default=20, ge=1)
    """After so many messages of agents in a row, without a person's in between, no agent is asked to speak any more."""
    wake_up_after_seconds: float | None = Field(default=None, gt=0, le=LONGEST_TALK_SECONDS)
    """After so much silence, once all agents have declined, they are asked once more; left out: never."""
    max_wake_ups: int = Field(default=1, ge=1, le=100)
    """How often agents are asked again in one silence, at most."""
    replies_and_reactions: bool = True
    """Whether people may reply to a particular message, which is then quoted, and react to messages."""
    topics: tuple[Topic, ...] = ()
    """The topics, one after another; left out: the conversation has no parts."""
