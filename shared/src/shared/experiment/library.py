"""Personas that an experiment names without defining them: which those are, and the experiment with them in it. Pure.

What is stored and run has all its personas in it, as they were then: a later change of the library changes nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from shared.contracts.experiment import Persona, Slug
from shared.errors import Problem
from shared.experiment.pairings import players_of

Json = Any
_SLUG: TypeAdapter[str] = TypeAdapter(Slug)


def named_personas(value: Json) -> list[str]:
    """The ids of the personas that seats, mediators and pairs name and the experiment does not define, sorted."""
    if not isinstance(value, Mapping):
        return []
    defined = {persona.get("id") for persona in _list(value.get("personas")) if isinstance(persona, Mapping)}
    named = {name for plan in _list(value.get("cohorts")) for name in _named(plan) if _is_id(name)}
    return sorted((named | players_of(value)) - defined)


def with_library(value: Json, library: Mapping[str, Persona]) -> Json:
    """The experiment with those of its missing personas that the library has; what a file defines itself wins."""
    found = [library[name] for name in named_personas(value) if name in library]
    if not found:
        return value
    return {**value, "personas": [*_list(value.get("personas")), *(one.model_dump(mode="json") for one in found)]}


def placed(problems: Sequence[Problem], value: Json, completed: Json) -> list[Problem]:
    """The problems of the `completed` experiment in words of `value`, which has no place for the library's personas."""
    own = len(_list(value.get("personas"))) if isinstance(value, Mapping) else 0
    added = _list(completed.get("personas"))[own:] if isinstance(completed, Mapping) else []
    names = {f"personas[{own + index}]": f"persona {one['id']!r} of the library" for index, one in enumerate(added)}
    return [_renamed(problem, names) for problem in problems]


def _renamed(problem: Problem, names: Mapping[str, str]) -> Problem:
    place, bracket, rest = problem.where.partition("]")
    name = names.get(place + bracket)
    return problem if name is None else replace(problem, where=f"{name}{rest.replace('.', ': ', 1)}")


def _named(plan: Json) -> Iterator[str]:
    if not isinstance(plan, Mapping):
        return
    for seat in _list(plan.get("seats")):
        if isinstance(seat, Mapping) and isinstance(seat.get("persona"), str):
            yield seat["persona"]
    yield from (one for one in _list(plan.get("mediators")) if isinstance(one, str))


def _is_id(value: str) -> bool:
    try:
        return bool(_SLUG.validate_python(value))
    except ValidationError:
        return False


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
