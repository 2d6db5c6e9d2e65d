"""The configuration of a page to read."""

from typing import Literal

from shared.contracts.experiment import StageConfig
from shared.contracts.media import Medium
from shared.contracts.texts import Lines


class InfoStage(StageConfig):
    """A page to read; agents move on by themselves."""

    kind: Literal["info"] = "info"
    lines: Lines
    """The text in markdown, line by line."""
    media: tuple[Medium, ...] = ()
    """Images, sound, films and links below the text."""
