"""What an experiment file says about a conversation of the whole cohort."""

from typing import Literal

from pydantic import Field

from shared.chat.config import LONGEST_TALK_SECONDS, TalkProgress, TalkStage
from shared.contracts.experiment import Document, Slug


class TopicItem(Document):
    """One of the things that a topic compares."""

    id: Slug
    name: str = Field(min_length=1)


class Topic(Document):
    """A part of a conversation; the next one begins when all who take part are done with this one."""

    id: Slug
    name: str = Field(min_length=1)
    """The heading that everybody sees."""
    description: str = ""
    """What is to be talked about."""
    items: tuple[TopicItem, ...] = ()
    """What is to be compared; left out: a free topic."""


class GroupChatStage(TalkStage):
    """A conversation of the whole cohort; mediators talk in it, too."""

    kind: Literal["group_chat"] = "group_chat"
    progress: TalkProgress = TalkProgress()
    time_limit_seconds: float | None = Field(default=None, gt=0, le=LONGEST_TALK_SECONDS)
    """How long the conversation may last from its opening, at most 30 days; left out: until all are ready to end it."""
    minimum_seconds: float | None = Field(default=None, gt=0, le=LONGEST_TALK_SECONDS)
    """How long nobody may leave the conversation, counted from the first message of a member; left out: they may."""
    turn_taking: Literal["race", "select", "round"] = "race"
    """Who speaks next. `race`: every agent who may speak thinks, and the first reply is said. `select`: one agent is
    drawn before any model is called, and speaks; who has spoken least or was addressed by name is likelier drawn.
    `round`: one after another, people too: first the mediators, then the participants in a drawn order.
    """
    ready_check_every: int | None = Field(default=None, ge=1)
    """Once in so many messages an agent who is not asked to speak is asked whether it is ready to end: in `race` who
    wrote the last message, in `select` and `round` who has not been asked anything for the longest time. Left out: as
    many as there are agents.
    """
    max_agent_run: int = Field(default=20, ge=1)
    """After this many agents' messages in a row, without a person between, no agent is asked to speak any more."""
    wake_up_after_seconds: float | None = Field(default=None, gt=0, le=LONGEST_TALK_SECONDS)
    """When nobody has spoken for so long after all agents declined, they are asked once more; left out: never."""
    max_wake_ups: int = Field(default=1, ge=1, le=100)
    """How often one silence is broken so at most."""
    replies_and_reactions: bool = True
    """Whether people may answer a certain message, which is then quoted, and react to messages."""
    topics: tuple[Topic, ...] = ()
    """What is talked about, one after another; left out: the conversation has no parts."""
