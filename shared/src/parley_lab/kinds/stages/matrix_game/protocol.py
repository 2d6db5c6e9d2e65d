"""Messages before the moves: checks a message, and finds its promise. Pure.

A message that breaks the protocol is stored but not delivered; the opponent reads that no message was sent.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final, Literal

from parley_lab.kinds.stages.matrix_game.parser import parse
from parley_lab.kinds.stages.matrix_game.payoffs import Action, Labels

Protocol = Literal["none", "mcp_basic", "mcp_filtered"]
Violation = Literal["format", "prompt_injection"]

LONGEST_MESSAGE: Final = 1000
"""In characters; a message is a sentence or two."""

_MANIPULATION: Final = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruction|rule|prompt|guideline|system|above|previous)",
        r"\b(?:you are|act as|pretend to be|from) now (?:on|an?|the)\b",
        r"\bnew (?:instruction|rule|task|role)s?\b",
        r"\b(?:system|developer|assistant)\s*(?:prompt|message|:)",
        r"</?\s*(?:system|user|assistant|instructions?)\s*>|\[/?(?:INST|SYS)\]|<\|",
        r"\b(?:reveal|show|print|repeat|tell me)\b.{0,40}\b(?:system prompt|your instructions|your prompt)",
        r"\byou (?:must|have to|are required to) (?:answer|reply|respond|output|choose|play)\b",
        r"[{\"']\s*action[\"']?\s*:",
    )
)
"""Phrases that try to manipulate a player."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A message with the result of the check: `delivered` is what the opponent reads."""

    delivered: str
    violation: Violation | None = None


def check(message: str, protocol: Protocol) -> Checked:
    """The message for the opponent, on one line; empty when it breaks the protocol."""
    line = " ".join(message.split())
    if protocol != "none" and not _is_well_formed(message):
        return Checked("", "format")
    if protocol == "mcp_filtered" and _manipulates(line):
        return Checked("", "prompt_injection")
    return Checked(line)


def promise(message: str, labels: Labels) -> Action | None:
    """The action that the message promises; None when it promises none, or both."""
    return parse(message, labels).action


def _is_well_formed(message: str) -> bool:
    """Short, and without characters that only programs write."""
    if len(message) > LONGEST_MESSAGE:
        return False
    return not any(
        unicodedata.category(character) in ("Cc", "Cf", "Co") and not character.isspace() for character in message
    )


def _manipulates(line: str) -> bool:
    plain = unicodedata.normalize("NFKC", line)
    return any(pattern.search(plain) for pattern in _MANIPULATION)
