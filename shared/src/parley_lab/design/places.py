"""Adds line numbers and ids of parts to the places of problems. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import yaml

from parley_lab.base.errors import Problem

Json = Any
_STEP: Final = re.compile(r"\.?([^.\[\],: ]+)|\[(\d+)\]")


def located(problems: Sequence[Problem], value: Json, text: str | None) -> list[Problem]:
    """The problems with their lines and ids; text: the content of the file, None when it is unknown."""
    root = None if text is None else _nodes(text)
    return [replace(one, at=_at(one, value, root)) if one.where else one for one in problems]


def _nodes(text: str) -> yaml.Node | None:
    """The YAML nodes of the text; also of JSON, as far as that is YAML."""
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None


def _at(problem: Problem, value: Json, root: yaml.Node | None) -> str:
    line = None if root is None else _line([*_steps(problem.where)], root)
    where = problem.place()
    named = _named(where, [*_steps(where)], value)
    if line is None:
        return named if named != problem.where else ""
    return f"line {line}, {named}" if named else f"line {line}"


def _steps(where: str) -> Iterator[tuple[str | int, int]]:
    """The steps of the path at the beginning of `where`, each with its end position."""
    position = 0
    while position < len(where) and (step := _STEP.match(where, position)) is not None:
        position = step.end()
        yield (int(step[2]) if step[2] is not None else step[1]), position


def _line(steps: Sequence[tuple[str | int, int]], node: yaml.Node) -> int | None:
    """The line of the part, or of the innermost one around it that is in the file; None if none is."""
    line = None
    for step, _ in steps:
        if isinstance(step, int) and isinstance(node, yaml.SequenceNode) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line + 1
            continue
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        found = next(((key, part) for key, part in pairs if key.value == step), None)
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line


def _named(where: str, steps: Sequence[tuple[str | int, int]], value: Json) -> str:
    """The path with the id of each part of a list after its number."""
    named, done = "", 0
    for step, end in steps:
        named, done = named + where[done:end], end
        if isinstance(step, int):
            value = value[step] if isinstance(value, list | tuple) and step < len(value) else None
            part_id = value.get("id") if isinstance(value, Mapping) else None
            named += f" ({part_id})" if isinstance(part_id, str) else ""
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return named + where[done:]
