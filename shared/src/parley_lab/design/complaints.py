"""Turns pydantic's errors into sentences with a place in the file. It knows nothing of experiments."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import missing_field, unknown, unknown_field
from parley_lab.contracts.models import ADDRESS_EXPECTED, ADDRESS_PATTERN

Json = Any
Loc = tuple[int | str, ...]

LANGUAGE_EXPECTED: Final = "the tag of a language, such as en, de or pt-BR"
_LONGEST_FOUND: Final = 60
_MOST_FIELDS: Final = 20
_WITH_A_COMMA: Final = re.compile(r"(?P<whole>[+-]?\d+),(?P<decimals>\d+)")
_OF_A_THOUSAND: Final = 3
"""So many digits after a comma may be decimals, or the rest of a thousand."""
_TAG_FIELDS: Final = ("kind", "type")
"""The discriminator fields of unions."""
_EXPECTED: Final[Mapping[str, str]] = {
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a number with an end",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "names with values, each written as `name: value`",
    "literal_error": "{expected}",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "string_too_short": "text of at least {min_length} characters",
    "string_too_long": "text of at most {max_length} characters",
    "too_short": "a list with {min_length} or more entries",
    "too_long": "a list with at most {max_length} entries",
    "union_tag_invalid": "one of {expected_tags}",
    "decimal_type": "an amount, such as 2.50",
    "decimal_parsing": "an amount, such as 2.50",
    "decimal_max_places": "an amount with at most {decimal_places} decimals",
    "union_tag_not_found": "an object with a {discriminator}",
}
_WRITTEN: Final[Mapping[str, tuple[str, str]]] = {
    "string": ("text", "a text"),
    "integer": ("1", "a whole number"),
    "number": ("1.5", "a number"),
    "boolean": ("true", "true or false"),
    "array": ("[...]", "a list, whose entries begin with `- `"),
    "object": ("{...}", "an object with fields"),
}
"""How a value of a type is written, and what it is, by the type in a schema."""
_ADDED: Final[Mapping[str, str]] = {
    "id": "a short name such as talk",
    "name": "a short text for people",
    "title": "the words that readers see",
    "text": "the words that readers see",
}
"""What is to be typed for a missing field of this name."""
_PATTERNS: Final[Mapping[str, str]] = {
    "https?://": "an address that begins with http:// or https://, without spaces",
    "[A-Za-z0-9_-]{0,63}": "an id of letters, digits, `-` and `_`, at most 64, starting with a letter or digit",
    "[A-Z]{3}|points": "the code of a currency in capitals, such as EUR, CHF or JPY, or points",
    "{2,8}(-[": LANGUAGE_EXPECTED,
    "[A-Za-z0-9_.-]{0,63}": "a name of letters, digits, `_`, `.` and `-`, at most 64, starting with a letter or digit",
}
"""Texts that follow a pattern, by a part of it."""
_SLUG_EXPECTED: Final = "an id of small letters, digits, `-` and `_`, at most 64, starting with a letter or digit"


def translate(error: ValidationError, value: Json, schema: Mapping[str, Any], *, inside: Loc = ()) -> list[Problem]:
    """All problems in `value`, relative to it; `inside` is the place of such a value in `schema`."""
    problems: dict[str, Problem] = {}
    for detail in error.errors(include_url=False, include_context=True):
        if _counts_valid_parts_only(detail):
            continue
        problem = _problem(detail, value, schema, inside)
        before = problems.get(problem.where)
        problems[problem.where] = problem if before is None else _either(before, problem)
    return list(problems.values())


def _either(before: Problem, problem: Problem) -> Problem:
    """One problem for both: every branch of a union complains about the same value."""
    if before.expected == problem.expected or with_a_point(problem.found.strip('"')) == problem.expected:
        return problem
    if with_a_point(before.found.strip('"')) == before.expected:
        return before
    return Problem(problem.where, before.found, f"{before.expected} or {problem.expected}")


def without_unknown(value: Json, error: ValidationError) -> Json:
    """A copy without unknown fields; other mistakes in it stay."""
    copy = deepcopy(value)
    for detail in error.errors(include_url=False, include_context=False):
        if detail["type"] != "extra_forbidden":
            continue
        part = copy
        for step in detail["loc"][:-1]:
            is_there = step in part if isinstance(part, dict) else isinstance(step, int) and isinstance(part, list)
            # Otherwise it is the name of a union's branch.
            part = part[step] if is_there else part
        if isinstance(part, dict):
            part.pop(detail["loc"][-1], None)
    return copy


def found(value: Json) -> str:
    """A short description of a value."""
    if isinstance(value, Mapping):
        return object_with(map(str, value))
    if value is None:
        return "no value"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}" if value else "an empty list"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_FOUND else f"{text[:_LONGEST_FOUND]}..."


def object_with(fields: Iterable[str]) -> str:
    """An object with these fields, in words."""
    names = list(fields)
    if not 0 < len(names) <= _MOST_FIELDS:
        return "an object with fields"
    return f"an object with the field{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _problem(detail: ErrorDetails, value: Json, schema: Mapping[str, Any], inside: Loc) -> Problem:
    loc, kind = detail["loc"], detail["type"]
    where = path_of(loc, value, is_missing=kind == "missing")
    if kind == "missing":
        return _missing(where, loc, schema, inside)
    if kind == "extra_forbidden":
        known = sorted(known_fields(schema, inside + loc[:-1]))
        return unknown_field(where, known, of_others=_kinds_with(str(loc[-1]), schema, inside + loc[:-1]))
    if kind == "union_tag_invalid" and _tag_of(detail) is not None:
        return _unknown_kind(detail, where)
    if kind.startswith("union_tag") and isinstance(detail["input"], Mapping):
        field = _discriminator(detail)
        return missing_field(f"{where}.{field}".lstrip("."), f"one of {', '.join(_kinds_at(schema, inside + loc))}")
    if kind == "string_pattern_mismatch" and detail["ctx"]["pattern"].startswith("^[a-z0-9]["):
        return Problem(where, found(detail["input"]), _SLUG_EXPECTED)
    if kind == "string_pattern_mismatch" and detail["ctx"]["pattern"] == ADDRESS_PATTERN:
        # The value may hold a password.
        return Problem(where, "an address that cannot be used", ADDRESS_EXPECTED)
    if kind == "string_pattern_mismatch" and (expected := _patterned(detail["ctx"]["pattern"])) is not None:
        return Problem(where, found(detail["input"]), expected)
    if kind in ("model_type", "model_attributes_type"):
        return Problem(where, found(detail["input"]), _object(schema, inside + loc))
    if kind == "string_type" and (quoted := _in_quotes(detail["input"])) is not None:
        return Problem(where, found(detail["input"]), f"text, in quotes because of its colon: {quoted}")
    if kind == "string_type" and isinstance(detail["input"], int | float):
        return Problem(where, found(detail["input"]), _text_of(detail["input"]))
    number = with_a_point(str(detail["input"])) if kind in ("decimal_parsing", "float_parsing") else None
    if number is not None:
        return Problem(where, found(detail["input"]), number)
    template = _EXPECTED.get(kind)
    return Problem(
        where, found(detail["input"]), _sentence(detail, template) if template else _in_own_words(detail["msg"])
    )


def _tag_of(detail: ErrorDetails) -> Json:
    given = detail["input"]
    return given.get(_discriminator(detail)) if isinstance(given, Mapping) else None


def _unknown_kind(detail: ErrorDetails, where: str) -> Problem:
    tags = [tag.strip("' ") for tag in str(detail["ctx"]["expected_tags"]).split(",")]
    field, name = _discriminator(detail), str(_tag_of(detail))
    problem = unknown(f"{where}.{field}".lstrip("."), name, tags, field)
    return replace(problem, found=found(name))


def _missing(where: str, loc: Loc, schema: Mapping[str, Any], inside: Loc) -> Problem:
    name = str(loc[-1])
    node = next((fields[name] for fields in _fields_at(schema, inside + loc[:-1]) if name in fields), None)
    example = None if node is None else _example(node, schema)
    if example is None:
        return missing_field(where, _ADDED.get(name, "a value"))
    written, what = example
    return missing_field(where, _ADDED.get(name, what), written=written)


def _kinds_at(schema: Mapping[str, Any], loc: Loc) -> list[str]:
    """The kinds that the object at `loc` may have."""
    return sorted({str(tag) for fields in _fields_at(schema, loc) for tag in _tags(fields)})


def _kinds_with(name: str, schema: Mapping[str, Any], loc: Loc) -> list[str]:
    """The kinds that have a field of this name, where the object at `loc` is of another kind."""
    if not loc or not isinstance(loc[-1], str):
        return []
    kinds = [(tag, fields) for fields in _fields_at(schema, loc[:-1]) for tag in _tags(fields)]
    is_kind = any(tag == loc[-1] for tag, _ in kinds)
    return sorted({str(tag) for tag, fields in kinds if name in fields}) if is_kind else []


def _tags(fields: Mapping[str, Any]) -> Iterator[str]:
    yield from (fields[field]["const"] for field in _TAG_FIELDS if "const" in fields.get(field, {}))


def _example(node: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[str, str] | None:
    """How a value of this type is written, and what it is."""
    for one in _alternatives(node, root):
        if "const" in one:
            return str(one["const"]), str(one["const"])
        if one.get("enum"):
            return str(one["enum"][0]), f"one of {', '.join(map(str, one['enum']))}"
        if (written := _WRITTEN.get(str(one.get("type")))) is not None:
            return written
    return None


def _in_quotes(value: Json) -> str | None:
    """The text that YAML has read as an object, since it has a colon; None: it was none."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return None
    key, text = next(iter(value.items()))
    if isinstance(text, Mapping | list | tuple):
        return None
    said = f"{key}: {text if isinstance(text, str) else json.dumps(text)}" if text is not None else f"{key}:"
    if len(said) > _LONGEST_FOUND:
        said = f"{said[:_LONGEST_FOUND]}..."
    return f"'{said}'" if '"' in said and "'" not in said else json.dumps(said, ensure_ascii=False)


def _text_of(value: Json) -> str:
    """How to write a text that YAML has read as another value. Of decimals the writing in the file is not known."""
    return "text, in quotes" if isinstance(value, float) else f'text, in quotes: "{json.dumps(value)}"'


def with_a_point(text: str) -> str | None:
    """What is to be typed for a number with a comma; None: it is none."""
    number = _WITH_A_COMMA.fullmatch(text)
    if number is None:
        return None
    whole, decimals = number["whole"], number["decimals"]
    if len(decimals) == _OF_A_THOUSAND:
        return f"{whole}{decimals} or {whole}.{decimals}: both can be meant"
    return f"{whole}.{decimals}, with a point"


def _object(schema: Mapping[str, Any], loc: Loc) -> str:
    """How an object at `loc` is written: with its fields that are needed, or else those that it may have."""
    needed = {tuple(node.get("required", ())) for node in _objects_at(schema, loc)}
    names = needed.pop() if len(needed) == 1 else ()
    if not names:
        return object_with(sorted(known_fields(schema, loc)))
    return f"an object, such as {{{', '.join(f'{name}: ...' for name in names)}}}"


def _patterned(pattern: str) -> str | None:
    """What a text of this pattern is, in words; None: they are not known."""
    return next((words for part, words in _PATTERNS.items() if part in pattern), None)


def _discriminator(detail: ErrorDetails) -> str:
    return str(detail["ctx"]["discriminator"]).strip("'")


def _counts_valid_parts_only(detail: ErrorDetails) -> bool:
    """pydantic counts a list of invalid parts as empty; the parts have their own complaints."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def _in_own_words(message: str) -> str:
    return message.removeprefix("Value error, ").removeprefix("Input should be ")


def _sentence(detail: ErrorDetails, template: str) -> str:
    return template.format(**{name: _plain(value) for name, value in detail.get("ctx", {}).items()})


def _plain(value: Json) -> Json:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def path_of(loc: Sequence[int | str], value: Json, *, is_missing: bool = False) -> str:
    """`loc` as a path in the file, without the names of union branches that pydantic inserts."""
    path = ""
    may_be_tag = True
    for position, step in enumerate(loc):
        if isinstance(step, int) and isinstance(value, list | tuple) and step < len(value):
            path, value, may_be_tag = f"{path}[{step}]", value[step], True
            continue
        if isinstance(value, Mapping) and may_be_tag and any(value.get(field) == step for field in _TAG_FIELDS):
            may_be_tag = False
            continue
        is_field = isinstance(value, Mapping) and step in value
        if is_field or (is_missing and position == len(loc) - 1):
            path = f"{path}.{step}" if path else str(step)
            value, may_be_tag = (value[step] if is_field else None), False
    return path


def known_fields(schema: Mapping[str, Any], loc: Loc) -> set[str]:
    """The names of the fields of an object at `loc`."""
    return {name for fields in _fields_at(schema, loc) for name in fields}


def _fields_at(schema: Mapping[str, Any], loc: Loc) -> list[Mapping[str, Any]]:
    """The schemas of the fields of an object at `loc`, one mapping for each form that it may have."""
    return [node["properties"] for node in _objects_at(schema, loc)]


def _objects_at(schema: Mapping[str, Any], loc: Loc) -> list[Mapping[str, Any]]:
    """The schemas of an object at `loc`, one for each form that it may have."""
    nodes = list(_alternatives(schema, schema))
    for step in loc:
        # A field of one kind may have the name of another kind, such as `info`.
        branches = [node for node in nodes if isinstance(step, str) and _is_branch(node, step)]
        nodes = [
            after for node in branches or nodes for part in _step(node, step) for after in _alternatives(part, schema)
        ]
    return [node for node in nodes if "properties" in node]


def _step(node: Mapping[str, Any], step: int | str) -> Iterator[Mapping[str, Any]]:
    if isinstance(step, int):
        if isinstance(node.get("items"), Mapping):
            yield node["items"]
    elif step in node.get("properties", {}) and not _is_branch(node, step):
        yield node["properties"][step]
    elif _is_branch(node, step) or step.startswith("<") or "[" in step:
        # The name of a union's branch, such as `dict[str,Level]`, leads to the branch.
        yield node
    elif isinstance(node.get("additionalProperties"), Mapping):
        yield node["additionalProperties"]
    else:
        yield from node.get("patternProperties", {}).values()


def _is_branch(node: Mapping[str, Any], step: str) -> bool:
    return any(node.get("properties", {}).get(field, {}).get("const") == step for field in _TAG_FIELDS)


def _alternatives(node: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "$ref" in node:
        yield from _alternatives(root["$defs"][node["$ref"].rpartition("/")[2]], root)
        return
    branches = [*node.get("anyOf", ()), *node.get("oneOf", ())]
    for branch in branches:
        yield from _alternatives(branch, root)
    if not branches or "properties" in node:
        yield node
