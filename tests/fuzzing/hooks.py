"""Loaded by schemathesis: who asks, how files are sent, and which findings are none."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

import schemathesis
from schemathesis import AuthContext, Case, HookContext, Response, SerializationContext
from schemathesis.core.failures import Failure

from tests.fuzzing.configuration import WORLD_VARIABLE
from tests.fuzzing.exceptions import is_excepted

_world: Final = json.loads(Path(os.environ[WORLD_VARIABLE]).read_text(encoding="utf-8"))
_TOKENS: Final[Mapping[str, list[str]]] = _world["tokens"]
_rng: Final = Random(_world["seed"])


class _Bearer:
    """The key of an experimenter, or the token of a participant who can do what the operation is about."""

    def get(self, case: Case[Any], context: AuthContext) -> str:
        path: str = case.operation.path
        if not path.startswith("/v1/me"):
            return str(_world["key"])
        for part, bearers in (
            ("/leave", "leaving"),
            ("/threads", "talking"),
            ("/messages", "talking"),
            ("/asks", "asked"),
        ):
            if part in path:
                return _rng.choice(_TOKENS[bearers])
        return _rng.choice(_TOKENS["any"])

    def set(self, case: Case[Any], data: str, context: AuthContext) -> None:
        case.headers["Authorization"] = f"Bearer {data}"


schemathesis.auth(refresh_interval=None)(_Bearer)


# The first of these names is the one that schemathesis takes for all of them.
@schemathesis.serializer("text/yaml", "application/yaml")
def _as_it_is(context: SerializationContext, value: Any) -> bytes:
    """The text of a file; schemathesis would send the text's own YAML, which is another file."""
    return value.encode("utf-8", "replace") if isinstance(value, str) else json.dumps(value).encode()


@schemathesis.hook
def filter_case(context: HookContext, case: Case[Any]) -> bool:
    """Not with the key revoked that all requests come with."""
    return bool((case.path_parameters or {}).get("key_id") != _world["key_id"])


@schemathesis.hook
def filter_failure(context: HookContext, failure: Failure, case: Case[Any], response: Response) -> bool:
    return not is_excepted(failure, case, response)
