"""What schemathesis is told about one world: which ids there are, and which of them may be used up."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.fuzzing.world import World

WORLD_VARIABLE: Final = "PARLEY_FUZZING_WORLD"
"""Names the file with the world to schemathesis' own process."""
_FIXED: Final = Path(__file__).with_name("schemathesis.toml")
_SHARE: Final = 0.85
"""Of the ids that are sent; the others are made up."""
_QUERY: Final = ("stage", "persona")
_BODY: Final = ("cohort_id",)
_USED_UP: Final = {
    "experiment_id": (
        "DELETE /v1/experiments/{experiment_id}",
        "PUT /v1/experiments/{experiment_id}/file",
        *(f"POST /v1/experiments/{{experiment_id}}/{command}" for command in ("start", "pause", "resume", "end")),
    ),
    "member_id": tuple(
        f"POST /v1/members/{{member_id}}/{command}" for command in ("remove", "pause", "resume", "transfer")
    ),
    "cohort_id": ("POST /v1/cohorts/{cohort_id}/lock", "POST /v1/cohorts/{cohort_id}/unlock"),
    "key_id": ("DELETE /v1/keys/{key_id}",),
    "persona_id": ("DELETE /v1/personas/{persona_id}",),
}
"""The operations after which the others would find nothing any more: they take the ids that begin with `doomed_`."""


def configuration(world: World) -> str:
    """The whole configuration, as TOML."""
    return "\n".join([_FIXED.read_text(encoding="utf-8"), *_of_this_world(world)])


def _of_this_world(world: World) -> Iterator[str]:
    for name, values in world.ids.items():
        yield f"[dictionaries.{name}]\nvalues = {json.dumps(values)}\n"
    yield "[parameters]"
    for name in world.ids:
        if not name.startswith("doomed_"):
            yield _drawn("query" if name in _QUERY else "path", name, name)
    for name in _BODY:
        yield _drawn("body", name, name)
    for name, operations in _USED_UP.items():
        for operation in operations:
            yield f"\n[[operations]]\ninclude-name = {json.dumps(operation)}\n[operations.parameters]"
            yield _drawn("path", name, f"doomed_{name}")


def _drawn(place: str, parameter: str, dictionary: str) -> str:
    return f'"{place}.{parameter}" = {{ dictionary = "{dictionary}", probability = {_SHARE} }}'
