"""The configuration of a page to read."""

from typing import Literal

from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.media import Medium
from parley_lab.contracts.texts import Lines


class InfoStage(StageConfig):
    """A page to read; agents move on by themselves."""

    kind: Literal["info"] = "info"
    lines: Lines
    """The text in markdown, line by line."""
    media: tuple[Medium, ...] = ()
    """Images, sound, films and links below the text."""
