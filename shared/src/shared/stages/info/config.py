"""What an experiment file says about a page to read."""

from typing import Literal

from pydantic import Field

from shared.contracts.experiment import StageConfig


class InfoStage(StageConfig):
    """A page to read; agents move on by themselves."""

    kind: Literal["info"] = "info"
    lines: tuple[str, ...] = Field(min_length=1)
    """The text in markdown, line by line."""
