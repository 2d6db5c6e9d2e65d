"""What readers were given beyond words: the names of fields, and who was told of reactions."""

import json
from collections.abc import Iterator
from typing import Any

from tests.flows.watching import Evidence


def reactions_told(evidence: Evidence) -> Iterator[tuple[str, str]]:
    for (phase, surface), content in evidence.given.items():
        if phase == "live":
            for line in content.decode().splitlines():
                if line.startswith("data: ") and json.loads(line[6:])["type"] == "message.reacted":
                    yield surface.partition(":")[0], json.loads(line[6:])["data"]["reaction"]


TELLING = {"player", "agent", "agent_config", "persona", "persona_id", "provider", "author_kind", "trigger_key"} | {
    "explanation", "model", "draft_id", "actor", "cause",
}  # fmt: skip
"""Fields that only agents have, or that say how something came about."""


def field_names(content: bytes) -> Iterator[str]:
    """The names of all fields in what a reader was given, without the API's own description."""
    for line in content.decode().splitlines():
        start = line.removeprefix("data: ")
        if start.startswith("{") and '"openapi"' not in start and '"$defs"' not in start:
            yield from names_in(json.loads(start))


def names_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for part in value.values():
            yield from names_in(part)
    if isinstance(value, list):
        for part in value:
            yield from names_in(part)
