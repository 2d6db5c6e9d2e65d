"""The question to a model whose agent is offered a move to another group, and the shape of its reply."""

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

TRANSFER: Final = "transfer"
"""The purpose of the ask."""
TASK: Final = (
    "You are offered a place in another group. If you accept, you leave the people with whom you are now, and go on "
    "with others in the same place of the study. If you decline, your part in the study is over. Decide as the person "
    "you are would."
)


class TransferReply(BaseModel):
    """A decision about a move to another group."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    explanation: str = Field(default="", description="Why you decide so, in a sentence.")
    accept: bool = Field(description="true: you go to the other group. false: your part in the study is over.")
