"""The configuration of terms to accept."""

from typing import Final, Literal

from pydantic import Field

from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.texts import Lines

USUAL_BOX: Final = "I have read this and agree."
"""Pages say it in their language."""


class TermsOfServiceStage(StageConfig):
    """Terms that participants accept, or decline and are out; agents accept unless their script says otherwise."""

    kind: Literal["terms_of_service"] = "terms_of_service"
    lines: Lines
    """The text in markdown, line by line."""
    box: str = Field(default=USUAL_BOX, min_length=1)
    """The text beside the box to tick."""
    delete_when_declined: bool = False
    """Whether answers, messages and profile of a participant who declines are deleted."""
