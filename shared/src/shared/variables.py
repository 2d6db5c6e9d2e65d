"""Variables in texts: `{{name}}` or `{{name.key}}`, replaced by its value; nothing else is computed.

A value is put in as it is: braces inside it are not looked at again, and a text has no quotes added.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from shared.errors import Problem

Json = Any

_PLACE: Final = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_UNDEFINED: Final = object()


def merged(*layers: Mapping[str, Json]) -> dict[str, Json]:
    """The variables of all layers; a later layer wins, name by name."""
    return {name: value for layer in layers for name, value in layer.items()}


def fill(value: Json, variables: Mapping[str, Json]) -> Json:
    """`value` with the variables filled into every text in it, keys excepted; an undefined name is left standing."""
    if isinstance(value, str):
        return _PLACE.sub(lambda place: _filled(place, variables), value) if "{{" in value else value
    if isinstance(value, Mapping):
        return {key: fill(part, variables) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [fill(part, variables) for part in value]
    return value


def problems(value: Json, variables: Mapping[str, Json], where: str = "") -> list[Problem]:
    """The places in the texts of `value` that no variable can fill."""
    return [
        Problem(path, f"`{{{{{name}}}}}`", _expected(name, variables))
        for path, text in _texts(value, where)
        for name in _PLACE.findall(text)
        if not _NAME.fullmatch(name) or _look_up(name, variables) is _UNDEFINED
    ]


def as_text(value: Json) -> str:
    """How a value stands in a text: texts as they are, nothing for null, everything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _filled(place: re.Match[str], variables: Mapping[str, Json]) -> str:
    value = _look_up(place[1], variables) if _NAME.fullmatch(place[1]) else _UNDEFINED
    return place[0] if value is _UNDEFINED else as_text(value)


def _look_up(name: str, variables: Mapping[str, Json]) -> Json:
    value: Json = variables
    for key in name.split("."):
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list | tuple) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return _UNDEFINED
    return value


def _expected(name: str, variables: Mapping[str, Json]) -> str:
    if not _NAME.fullmatch(name):
        return "the name of a variable between the braces"
    return "one of the variables " + ", ".join(sorted(variables)) if variables else "a variable that is set"


def _texts(value: Json, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _texts(part, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _texts(part, f"{where}[{index}]")
