"""Variables in texts: `{{name}}` or `{{name.key}}` is replaced by its value; nothing else is evaluated.

A value is inserted unchanged: braces in it are not replaced again, and texts get no quotes. Braces that are meant as
such are written `{{ '{{' }}`.
"""

import json
import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from parley_lab.base.errors import IN_WORDS, Problem
from parley_lab.base.meant_names import meant_by, unknown
from parley_lab.base.numbers import write_number

Json = Any

_PLACE: Final = re.compile(r"\{\{\s*(?:(?P<braces>'\{\{')|(?P<name>[^{}]*?))\s*\}\}")
_BRACES: Final = "{{"
_WRITTEN_BRACES: Final = "{{ '{{' }}"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_NEARLY: Final = re.compile(r"\{{1,2}\s*([A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)\s*\}{1,2}")
_UNDEFINED: Final = object()
OF_READER: Final = ("answers", "results")
"""The prefixes of names whose values differ between readers: `answers.stage.question`."""
OF_ROW: Final = "row"
"""The prefix of names of a row's values, on stages that ask about rows: `row.column`."""


def merged(*layers: Mapping[str, Json]) -> dict[str, Json]:
    """The variables of all layers; later layers override earlier ones."""
    return {name: value for layer in layers for name, value in layer.items()}


def fill(value: Json, variables: Mapping[str, Json]) -> Json:
    """`value` with variables filled into every text in it, except keys; undefined names stay as they are."""
    return _fill(value, variables, _BRACES)


def fill_in_part(value: Json, variables: Mapping[str, Json]) -> Json:
    """Like `fill`, of texts that are filled once more: braces that are meant as such stay as they are written."""
    return _fill(value, variables, _WRITTEN_BRACES)


def fill_before(value: Json, variables: Mapping[str, Json]) -> Json:
    """Like `fill_in_part`, where the next filling must not take braces in values of these variables for its own."""
    return _fill(value, variables, _WRITTEN_BRACES, escaped)


def _fill(
    value: Json, variables: Mapping[str, Json], braces: str, write: Callable[[str], str] = lambda text: text
) -> Json:
    """write: how the text of a value is inserted."""
    if isinstance(value, str):
        return _PLACE.sub(lambda place: _filled(place, variables, braces, write), value) if _BRACES in value else value
    if isinstance(value, Mapping):
        return {key: _fill(part, variables, braces, write) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_fill(part, variables, braces, write) for part in value]
    return value


def problems(
    value: Json, variables: Mapping[str, Json], where: str = "", *, filled: Container[str] = ()
) -> list[Problem]:
    """The placeholders in the texts of `value` that no variable fills, without the reader's own.

    filled: the first parts of names that something else fills.
    """
    return [
        _without_value(path, name, variables)
        for path, name in places(value, where)
        if not is_of_reader(name) and name.partition(".")[0] not in filled and _look_up(name, variables) is _UNDEFINED
    ]


def places(value: Json, where: str = "") -> Iterator[tuple[str, str]]:
    """Every placeholder in the texts of `value`: its path and its name."""
    for path, text in _texts(value, where):
        if _BRACES in text:
            yield from ((path, found["name"]) for found in _PLACE.finditer(text) if not found["braces"])


def places_in_part(value: Json, where: str = "") -> Iterator[tuple[str, str]]:
    """The placeholders that have other words around them in their texts: the path and the name of each."""
    for path, text in _texts(value, where):
        if _BRACES in text and not _PLACE.fullmatch(text.strip()):
            yield from places(text, path)


def escaped(text: str) -> str:
    """The text such that filling leaves it as it is."""
    return text.replace(_BRACES, _WRITTEN_BRACES)


def nearly_places(value: Json, names: Container[str], where: str = "") -> list[Problem]:
    """Names of variables that are nearly in double braces, such as `{name}` or `{{name}`: they stay as they are."""
    return [
        _nearly_place(path, nearly[0], f"`{{{{{nearly[1]}}}}}`")
        for path, text in _texts(value, where)
        for nearly in _NEARLY.finditer(_PLACE.sub("", text) if "{" in text else "")
        if nearly[1].partition(".")[0] in names
    ]


def _nearly_place(where: str, found: str, meant: str) -> Problem:
    wrong, hint = f"`{found}` stays as it is", f"Write {meant} if the variable is meant."
    return Problem(where, f"`{found}`", meant, wrong, hint, code=IN_WORDS)


def is_of_reader(name: str) -> bool:
    """Whether the value of the name differs between readers, as that of an answer does."""
    return name.partition(".")[0] in OF_READER


def value_of(name: str, variables: Mapping[str, Json]) -> Json:
    """The value of this name, or None."""
    found = _look_up(name, variables)
    return None if found is _UNDEFINED else found


def as_text(value: Json) -> str:
    """A value inside a text: texts unchanged, nothing for null, numbers as people write them, all else as JSON."""
    if value is None:
        return ""
    if isinstance(value, float):
        return write_number(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _filled(place: re.Match[str], variables: Mapping[str, Json], braces: str, write: Callable[[str], str]) -> str:
    if place["braces"]:
        return braces
    value = _look_up(place["name"], variables)
    return place[0] if value is _UNDEFINED else write(as_text(value))


def _look_up(name: str, variables: Mapping[str, Json]) -> Json:
    if name in variables:
        return variables[name]
    if not _NAME.fullmatch(name):
        return _UNDEFINED
    value: Json = variables
    for key in name.split("."):
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list | tuple) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return _UNDEFINED
    return value


def _without_value(where: str, name: str, variables: Mapping[str, Json]) -> Problem:
    found = f"`{{{{{name}}}}}`"
    if not _NAME.fullmatch(name):
        return Problem(where, found, "the name of a variable between the braces")
    if name.partition(".")[0] == OF_ROW:
        return Problem(where, found, "`rows` of this stage, which has questions; only these can name a column")
    expected = "one of the variables " + ", ".join(sorted(variables)) if variables else "a variable that is set"
    problem = unknown(where, name, sorted(variables), "variable")
    meant = meant_by(name, variables)
    hint = f"Did you mean {{{{{meant[0]}}}}}?" if meant else f"{problem.hint} Set it in `variables`."
    return replace(problem, found=found, expected=expected, hint=hint)


def _texts(value: Json, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _texts(part, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _texts(part, f"{where}[{index}]")
