"""The text of a model's reply as an object; whether the object is a valid reply is for its schema to say."""

import re
from typing import Any, Final

import orjson

_FENCED: Final = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)


def parse_object(text: str) -> dict[str, Any] | None:
    """The JSON object in `text`: all of it, in a code fence, or with words around it. None when there is none."""
    whole = _load(text)
    if whole is not None:
        return whole
    fenced = _FENCED.search(text)
    if fenced is not None:
        inside = _load(fenced.group(1))
        if inside is not None:
            return inside
    return _load(text[text.find("{") : text.rfind("}") + 1])


def _load(text: str) -> dict[str, Any] | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
