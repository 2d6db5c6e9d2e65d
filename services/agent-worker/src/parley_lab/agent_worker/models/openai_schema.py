"""Translates a JSON Schema into the subset that a vendor's strict mode accepts."""

from collections.abc import Mapping, Set
from typing import Any, Final

# Strict mode refuses these keywords. The validation of the reply checks their rules.
_REFUSED: Final = frozenset({"default", "minLength", "maxLength", "uniqueItems", "discriminator", "examples", "title"})
_BOUNDS: Final = _REFUSED | {
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "pattern",
    "minItems",
    "maxItems",
}
"""Keywords that Anthropic's structured output refuses."""
_LONGEST_LIST: Final = 101
_NAMED_SCHEMAS: Final = frozenset({"properties", "$defs", "definitions"})
_VALUES: Final = frozenset({"enum", "const", "required"})


def to_strict(schema: Mapping[str, Any], *, refused: Set[str] = _REFUSED) -> dict[str, Any]:
    """`schema` without the keywords that strict mode refuses, and with anyOf in place of oneOf."""
    strict: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in refused:
            continue
        name = "anyOf" if keyword == "oneOf" else keyword
        if keyword in _NAMED_SCHEMAS:
            strict[name] = {key: _strict_part(part, refused) for key, part in value.items()}
        else:
            strict[name] = value if keyword in _VALUES else _strict_part(value, refused)
    return strict


def to_unbounded(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` as Anthropic's structured output accepts it: whole numbers of a short range are listed, other bounds
    are left out."""
    return to_strict(_with_lists(schema), refused=_BOUNDS)


def _with_lists(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_with_lists(part) for part in value]
    if not isinstance(value, Mapping):
        return value
    low, high = value.get("minimum"), value.get("maximum")
    if value.get("type") == "integer" and isinstance(low, int) and isinstance(high, int):
        return value if high - low >= _LONGEST_LIST else {**value, "enum": list(range(low, high + 1))}
    return {name: part if name in _VALUES else _with_lists(part) for name, part in value.items()}


def _strict_part(value: Any, refused: Set[str]) -> Any:
    if isinstance(value, Mapping):
        return to_strict(value, refused=refused)
    if isinstance(value, list | tuple):
        return [_strict_part(part, refused) for part in value]
    return value
