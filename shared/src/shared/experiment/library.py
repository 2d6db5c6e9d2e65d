"""Personas that an experiment names without defining them: which those are, and the experiment with them in it. Pure.

What is stored and run has all its personas in it, as they were then: a later change of the library changes nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from shared.contracts.experiment import Persona, Slug
from shared.errors import Problem
from shared.experiment.pairings import players_of

Json = Any
_SLUG: TypeAdapter[str] = TypeAdapter(Slug)
_CLOSE: Final = 0.75
"""How alike two names are, from 0 to 1, of which one is a slip: `anna` and `ana` are 0.86, `ben` and `bob` 0.33."""
_MOST_COMPARED: Final = 2_000
_DIGITS: Final = re.compile(r"\d+")


def named_personas(value: Json) -> list[str]:
    """The ids of the personas that seats, mediators and pairs name and the experiment does not define, sorted."""
    if not isinstance(value, Mapping):
        return []
    defined = {persona.get("id") for persona in _list(value.get("personas")) if isinstance(persona, Mapping)}
    named = {name for plan in _list(value.get("cohorts")) for name in _named(plan) if _is_id(name)}
    return sorted((named | players_of(value)) - defined)


def misspelt_personas(value: Json) -> set[str]:
    """Those of the named personas that are nearly one which the experiment defines: `anna` where there is an `ana`.

    Names that differ in their numbers only are different on purpose.
    """
    named = named_personas(value)
    if not named:
        return set()
    personas = [persona.get("id") for persona in _list(value.get("personas")) if isinstance(persona, Mapping)]
    defined = [one for one in personas if isinstance(one, str)][:_MOST_COMPARED]
    return {
        name
        for name in named
        for close in get_close_matches(name, defined, n=1, cutoff=_CLOSE)
        if _DIGITS.sub("", close) != _DIGITS.sub("", name)
    }


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
