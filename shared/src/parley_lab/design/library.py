"""Personas that an experiment names without defining them: finds their names, and fills them in. Pure.

A stored experiment contains all its personas: a later change of the library does not affect it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import is_swapped
from parley_lab.contracts.experiment import Persona, PersonaId
from parley_lab.design.pairings import players_of

Json = Any
_PERSONA_ID: TypeAdapter[str] = TypeAdapter(PersonaId)
_CLOSE: Final = 0.75
"""The similarity, from 0 to 1, at which a name counts as misspelt: `anna` and `ana` have 0.86, `ben` and `bob` 0.33."""
_MOST_COMPARED: Final = 2_000
_DIGITS: Final = re.compile(r"\d+")


def named_personas(value: Json) -> list[str]:
    """The ids of the personas that seats, mediators, stages and pairs name without a definition in the file, sorted."""
    if not isinstance(value, Mapping):
        return []
    defined = {persona.get("id") for persona in _list(value.get("personas")) if isinstance(persona, Mapping)}
    named = {name for plan in _list(value.get("cohorts")) for name in _named(plan) if _is_id(name)}
    stages = [*_list(value.get("stages")), *_changed_stages(value)]
    named |= {name for stage in stages for name in _standing_in(stage) if _is_id(name)}
    return sorted((named | players_of(value)) - defined)


def misspelt_personas(value: Json) -> set[str]:
    """The named personas that are close to a defined one: `anna` where there is an `ana`.

    Names that differ only in their numbers count as different.
    """
    named = named_personas(value)
    if not named:
        return set()
    personas = [persona.get("id") for persona in _list(value.get("personas")) if isinstance(persona, Mapping)]
    defined = [one for one in personas if isinstance(one, str)][:_MOST_COMPARED]
    return {
        name for name in named for close in _close(name, defined) if _DIGITS.sub("", close) != _DIGITS.sub("", name)
    }


def _close(name: str, defined: Sequence[str]) -> list[str]:
    swapped = [one for one in defined if is_swapped(name, one)]
    return swapped[:1] or get_close_matches(name, defined, n=1, cutoff=_CLOSE)


def with_library(value: Json, library: Mapping[str, Persona]) -> Json:
    """The experiment with missing personas from the library; the file's own definitions override it."""
    found = [library[name] for name in named_personas(value) if name in library]
    own = value.get("personas") if isinstance(value, Mapping) else None
    if not found or not isinstance(own, list | None):
        # What is no list is told as it is.
        return value
    return {**value, "personas": [*_list(value.get("personas")), *(one.model_dump(mode="json") for one in found)]}


def placed(problems: Sequence[Problem], value: Json, completed: Json) -> list[Problem]:
    """The problems of the `completed` experiment with places in `value`, which lacks the library's personas."""
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
        fitting = seat.get("persona_for") if isinstance(seat, Mapping) else None
        if isinstance(fitting, Mapping):
            yield from (one for one in fitting.values() if isinstance(one, str))
    yield from (one for one in _list(plan.get("mediators")) if isinstance(one, str))


def _changed_stages(value: Mapping[str, Json]) -> Iterator[Json]:
    """The fields of stages that treatments and levels of factors replace."""
    factors = value.get("factors")
    levels = factors.values() if isinstance(factors, Mapping) else ()
    arms = [
        *_list(value.get("treatments")),
        *(one for each in levels if isinstance(each, Mapping) for one in each.values()),
    ]
    for arm in arms:
        changed = arm.get("stages") if isinstance(arm, Mapping) else None
        yield from changed.values() if isinstance(changed, Mapping) else ()


def _standing_in(stage: Json) -> Iterator[str]:
    """Who takes places in this stage."""
    if isinstance(stage, Mapping):
        progress = stage.get("progress")
        named = stage.get("stand_in"), progress.get("fill_with") if isinstance(progress, Mapping) else None
        yield from (one for one in named if isinstance(one, str))


def _is_id(value: str) -> bool:
    try:
        return bool(_PERSONA_ID.validate_python(value))
    except ValidationError:
        return False


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
