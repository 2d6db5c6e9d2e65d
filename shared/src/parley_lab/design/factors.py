"""Factors, crossed to treatments: each combination of levels is an arm. Pure.

What runs and is stored is an experiment with all its treatments in it; nothing after this knows of factors.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.contracts.allocation import Factor, FactorLevel, NamedLevel
from parley_lab.contracts.experiment import Slug
from parley_lab.contracts.pairings import name_of
from parley_lab.design.complaints import translate
from parley_lab.design.treatments import merged

Json = Any
MAX_ARMS: Final = 1000
_FACTORS: Final[TypeAdapter[dict[str, Factor]]] = TypeAdapter(dict[Slug, Factor])
_SLUG: Final[TypeAdapter[str]] = TypeAdapter(Slug)


def with_factors(value: Json) -> Json:
    """The values of an experiment file with its factors crossed to treatments, if it has any.

    Raises:
        InvalidInput: with all problems of the factors.
    """
    if not has_factors(value):
        return value
    factors = _read(value["factors"])
    if problems := [*_problems(value, factors)]:
        raise InvalidInput("The factors are not described as they should be.", problems)
    return {**without_factors(value), "treatments": [_arm(cell) for cell in _cells(factors)]}


def has_factors(value: Json) -> bool:
    return isinstance(value, Mapping) and bool(value.get("factors"))


def without_factors(value: Mapping[str, Json]) -> dict[str, Json]:
    """What the file says beside them."""
    return {key: part for key, part in value.items() if key != "factors"}


def placed_in_factors(problems: Sequence[Problem], value: Json) -> list[Problem]:
    """The problems of what was crossed in words of `value`, where a level says it; what many arms have is said once."""
    if not has_factors(value):
        return list(problems)
    cells = [*_cells(_read(value["factors"]))]
    placed = (_placed(problem, cells) for problem in problems)
    return list({(one.where, one.found): one for one in placed}.values())


def _placed(problem: Problem, cells: Sequence[Sequence[tuple[str, NamedLevel]]]) -> Problem:
    head, bracket, rest = problem.where.partition("]")
    number = head.removeprefix("treatments[")
    if not bracket or head == number or not number.isdecimal():
        return problem
    path = rest.removeprefix(".")
    first = path.split(".", 1)[0].split("[", 1)[0]
    for factor, level in cells[int(number)]:
        if first and first in level.changes:
            return replace(problem, where=f"factors.{factor}.{level.id}.{path}")
    return replace(problem, where=f"factors: {_id(cells[int(number)])}{rest}")


def _cells(factors: Mapping[str, Sequence[NamedLevel]]) -> Iterator[tuple[tuple[str, NamedLevel], ...]]:
    return product(*([(factor, level) for level in levels] for factor, levels in factors.items()))


def _id(cell: Sequence[tuple[str, NamedLevel]]) -> str:
    return "-".join(level.id for _, level in cell)


def _arm(cell: Sequence[tuple[str, NamedLevel]]) -> dict[str, Json]:
    """The treatment of one combination: the levels' changes, the later factor over the earlier one."""
    fields: dict[str, Json] = {"variables": {factor: level.value for factor, level in cell}}
    left_out: list[str] = []
    kept: list[str] = []
    for _, level in cell:
        changes = {name: part for name, part in level.changes.items() if name not in ("leave_out", "keep", "name")}
        fields = merged(fields, changes)
        left_out += level.changes.get("leave_out", ())
        kept += level.changes.get("keep", ())
    names = [level.changes.get("name") or level.id for _, level in cell]
    levels = {factor: level.id for factor, level in cell}
    found = {**fields, "id": _id(cell), "name": ", ".join(names), "levels": levels, "leave_out": left_out}
    return {**found, "keep": kept} if kept else found


def _read(value: Json) -> dict[str, list[NamedLevel]]:
    try:
        factors = _FACTORS.validate_python(value)
    except ValidationError as error:
        problems = translate(error, value, _FACTORS.json_schema())
        placed = [replace(one, where=f"factors.{one.where}".rstrip(".")) for one in problems]
        raise InvalidInput("The factors are not described as they should be.", placed) from error
    return {name: [*_levels(factor)] for name, factor in factors.items()}


def _levels(factor: Factor) -> Iterator[NamedLevel]:
    if isinstance(factor, Mapping):
        for name, level in factor.items():
            yield NamedLevel(name, name, _changes(level))
        return
    for value in factor:
        yield NamedLevel(name_of(value), value, {})


def _changes(level: FactorLevel) -> dict[str, Json]:
    return level.model_dump(mode="json", exclude_defaults=True)


def _problems(value: Mapping[str, Json], factors: Mapping[str, Sequence[NamedLevel]]) -> Iterator[Problem]:
    if value.get("treatments"):
        yield Problem("factors", "factors beside treatments", "one of the two: factors are crossed to the treatments")
    if value.get("pairings") is not None:
        yield Problem("factors", "factors beside pairings", "the factors of pairings, in `pairings`")
    if (arms := prod(len(levels) for levels in factors.values())) > MAX_ARMS:
        yield Problem("factors", f"{arms} combinations", f"at most {MAX_ARMS}")
    for factor, levels in factors.items():
        if not levels:
            yield Problem(f"factors.{factor}", "no levels", "at least one level")
        for index, level in enumerate(levels):
            if not _is_id(level.id):
                found = f"the level {level.id!r}"
                yield Problem(f"factors.{factor}", found, "levels with a name: an object of names and what they change")
            elif level.id in [other.id for other in levels[:index]]:
                yield Problem(f"factors.{factor}", f"the level {level.id!r} twice", "every level once")


def _is_id(value: str) -> bool:
    try:
        return bool(_SLUG.validate_python(value))
    except ValidationError:
        return False
