"""The shape of a model's reply: as a schema, and in words for the end of a prompt."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

import orjson
from pydantic import BaseModel

Schema = Mapping[str, Any]

_OPENING: Final = (
    "Reply with one JSON object and nothing else: no text before or after it, no code fence. It has exactly these "
    "fields, in this order:"
)
_WORDS: Final = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
}


@dataclass(frozen=True, slots=True)
class ReplyFormat:
    """A reply's JSON Schema, and the same in words."""

    schema: dict[str, Any]
    instruction: str


# Making a schema takes longer than all the rest of a prompt; the shapes of conversations are always the same.
_known: WeakKeyDictionary[type[BaseModel], ReplyFormat] = WeakKeyDictionary()


def reply_format(model: type[BaseModel]) -> ReplyFormat:
    """The format of replies that are validated by `model`."""
    known = _known.get(model)
    if known is None:
        schema = model.model_json_schema()
        known = _known[model] = ReplyFormat(schema, instruction(schema))
    return known


def instruction(schema: Schema) -> str:
    """What a model is told about the form of its reply: every field with its type and meaning."""
    fields: Schema = schema.get("properties", {})
    return "\n".join([_OPENING, *(_field(name, part, schema) for name, part in fields.items())])


def _field(name: str, part: Schema, root: Schema) -> str:
    description = part.get("description", "")
    return f'- "{name}" ({_type(part, root)}){f": {description}" if description else ""}'


def _type(part: Schema, root: Schema) -> str:
    """A type in words; a complicated type as JSON Schema."""
    part = _resolved(part, root)
    if "const" in part or "enum" in part:
        values = part.get("enum", [part.get("const")])
        return f"{'one of ' if len(values) > 1 else ''}{', '.join(_json(value) for value in values)}"
    if "anyOf" in part:
        return " or ".join(_type(option, root) for option in part["anyOf"])
    if part.get("type") == "array" and isinstance(part.get("items"), Mapping):
        different = "different " if part.get("uniqueItems") else ""
        return f"list of {different}values{_between(part, 'minItems', 'maxItems')}, each {_type(part['items'], root)}"
    if part.get("type") in _WORDS:
        return f"{_WORDS[part['type']]}{_between(part, 'minimum', 'maximum')}"
    return f"as in this JSON Schema: {_json(_written_out(part, root))}"


def _between(part: Schema, least: str, most: str) -> str:
    low, high = part.get(least), part.get(most)
    if low is None and high is None:
        return ""
    if low is None:
        return f", at most {_json(high)}"
    return f", at least {_json(low)}" if high is None else f", {_json(low)} to {_json(high)}"


def _resolved(part: Schema, root: Schema) -> Schema:
    while "$ref" in part:
        part = root["$defs"][part["$ref"].rpartition("/")[2]]
    return part


def _written_out(part: Any, root: Schema, depth: int = 0) -> Any:
    """The schema with its references replaced, as deep as a reply can sensibly be."""
    if isinstance(part, Mapping) and depth < 20:
        return {key: _written_out(value, root, depth + 1) for key, value in _resolved(part, root).items()}
    return [_written_out(value, root, depth + 1) for value in part] if isinstance(part, list) else part


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
