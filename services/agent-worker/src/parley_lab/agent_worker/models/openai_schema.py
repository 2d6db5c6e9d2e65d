"""Translates a JSON Schema into the subset that OpenAI's strict mode accepts."""

from collections.abc import Mapping
from typing import Any, Final

# Strict mode refuses these keywords. The validation of the reply checks their rules.
_REFUSED: Final = frozenset({"default", "minLength", "maxLength", "uniqueItems", "discriminator", "examples", "title"})
_NAMED_SCHEMAS: Final = frozenset({"properties", "$defs", "definitions"})
_VALUES: Final = frozenset({"enum", "const", "required"})


def to_strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` without the keywords that strict mode refuses, and with anyOf in place of oneOf."""
    strict: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in _REFUSED:
            continue
        name = "anyOf" if keyword == "oneOf" else keyword
        if keyword in _NAMED_SCHEMAS:
            strict[name] = {key: _strict_part(part) for key, part in value.items()}
        else:
            strict[name] = value if keyword in _VALUES else _strict_part(value)
    return strict


def _strict_part(value: Any) -> Any:
    if isinstance(value, Mapping):
        return to_strict(value)
    if isinstance(value, list | tuple):
        return [_strict_part(part) for part in value]
    return value
