"""What an experiment file says about a free conversation, and the shape of an agent's words in it."""

from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from shared.contracts.experiment import Progress, StageConfig
from shared.replies import Reply, Text, Truth

LONGEST_TALK_SECONDS: Final = 30 * 24 * 60 * 60
"""Thirty days: a limit beyond the longest study is a mistake in its unit, and beyond the calendar cannot be kept."""


class ChatProgress(Progress):
    """When the conversation opens; by default when everybody of the cohort is there."""

    wait_for_all: bool = True
    """The stage opens when everybody who is still in the cohort has arrived at it; open seats are waited for."""


class GroupChatStage(StageConfig):
    """A free conversation of the whole cohort; mediators talk in it, too."""

    kind: Literal["group_chat"] = "group_chat"
    progress: ChatProgress = ChatProgress()
    time_limit_seconds: float | None = Field(default=None, gt=0, le=LONGEST_TALK_SECONDS)
    """How long the conversation may last from its opening, at most 30 days; left out: until all are ready to end it."""
    turn_taking: Literal["race", "select"] = "race"
    """Who speaks next. `race`: every agent who may speak thinks, and the first reply is said. `select`: one agent is
    drawn before any model is called, and speaks; who has spoken least or was addressed by name is likelier drawn.
    """
    max_agent_run: int = Field(default=20, ge=1)
    """After this many agents' messages in a row, without a person between, no agent is asked to speak any more."""
    replies_and_reactions: bool = True
    """Whether people may answer a certain message, which is then quoted, and react to messages."""


_BLANK: Final = "it says nothing, although you chose to speak"


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError(_BLANK)
    return text


class SpeakReply(Reply):
    """What an agent says whose turn it is."""

    model_config = ConfigDict(validate_by_alias=True, validate_by_name=True, serialize_by_alias=True)

    explanation: Text = Field(description="Why you say this now, in one or two sentences; nobody sees it.")
    response: Annotated[Text, AfterValidator(_not_blank)] = Field(
        description="What you say, exactly as the others will read it."
    )
    ready_to_end: Truth = Field(
        alias="readyToEndChat",
        description="Whether you have nothing more to say in this conversation and want to leave it for good.",
    )


class TalkReply(Reply):
    """What an agent does with its chance to speak. The reasons come first, so that a model thinks before it decides."""

    model_config = ConfigDict(validate_by_alias=True, validate_by_name=True, serialize_by_alias=True)

    explanation: Text = Field(description="Why you speak or stay silent now, in one or two sentences; nobody sees it.")
    should_respond: Truth = Field(alias="shouldRespond", description="Whether you say something now.")
    response: Text = Field(description="What you say, exactly as the others will read it; empty when you say nothing.")
    ready_to_end: Truth = Field(
        alias="readyToEndChat",
        description="Whether you have nothing more to say in this conversation and want to leave it for good.",
    )

    @model_validator(mode="after")
    def _says_what_it_wants_to_say(self) -> Self:
        """Silence is a decision; a blank message is a mistake, and the model is told so."""
        if self.should_respond:
            _not_blank(self.response)
        return self
