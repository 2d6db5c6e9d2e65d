"""What experiment files say alike about every kind of conversation."""

from typing import Final

from shared.contracts.experiment import Progress

LONGEST_TALK_SECONDS: Final = 30 * 24 * 60 * 60
"""Thirty days: a limit beyond the longest study is a mistake in its unit, and beyond the calendar cannot be kept."""


class TalkProgress(Progress):
    """When a conversation opens; by default when everybody of the cohort is there."""

    wait_for_all: bool = True
    """The stage opens when everybody who is still in the cohort has arrived at it; open seats are waited for."""
