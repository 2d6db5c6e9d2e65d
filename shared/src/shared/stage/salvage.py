"""What is left of replies that cannot be used: the answers in them that fit, and why the others are missing."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.stage.view import Json


@dataclass(frozen=True, slots=True)
class UnusableReply:
    """What a model wrote: its text, the object in it when there was one, and what was wrong."""

    raw: str
    parsed: Mapping[str, Json] | None
    error: str


@dataclass(frozen=True, slots=True)
class Salvaged:
    """An answer with null in place of what is missing; `missing` says why, by the field of the answer."""

    value: Json
    missing: Mapping[str, str] = field(default_factory=dict)
