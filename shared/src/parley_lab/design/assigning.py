"""Which value of an assigned variable a cohort or a participant has, and which draw gave it. Pure.

All chance is that of Deliberate Lab, from the experiment's seed and the place of the variable.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from parley_lab.base.deliberate_lab_draws import drawn, uniform_numbers
from parley_lab.base.errors import Problem
from parley_lab.base.latin import order_at
from parley_lab.base.meant_names import unknown
from parley_lab.base.variables import OF_READER
from parley_lab.contracts.assigned import Assigned, Balanced, ByCohort, ByPersona, Permutation
from parley_lab.design.allocation import CohortAssignment

Json = Any
Given = dict[str, Json]
"""`value` and the path of the `draw` that gave it."""

_ONE: TypeAdapter[Assigned] = TypeAdapter(Assigned)
_ALL: TypeAdapter[tuple[Assigned, ...]] = TypeAdapter(tuple[Assigned, ...])


def read(stored: Json) -> tuple[Assigned, ...]:
    """The variables in the document of an experiment."""
    return _ALL.validate_python(stored or ())


def of_cohort(variables: Iterable[Assigned], seed: int, path: str, plan_id: str | None) -> dict[str, Given]:
    """What everybody of a cohort of this plan has: values by cohort, and orders of the cohort or of the whole
    experiment."""
    found: dict[str, Given] = {}
    for one in variables:
        if isinstance(one, ByCohort):
            found[one.id] = _given(one.cohorts.get(plan_id or "", one.value), f"{path}/variable:{one.id}")
        elif isinstance(one, Permutation) and one.scope != "participant":
            found.update(_ordered(one, seed, path if one.scope == "cohort" else ""))
    return found


def of_participant(
    variables: Iterable[Assigned], seed: int, path: str, persona_id: str | None = None
) -> dict[str, Given]:
    """What one participant has, but for what follows the order of arrival; `persona_id`: of an agent."""
    found: dict[str, Given] = {}
    for one in variables:
        if isinstance(one, ByPersona) and persona_id is not None:
            found[one.id] = _given(one.personas.get(persona_id), f"persona:{persona_id}/{one.id}")
        if isinstance(one, Permutation) and one.scope == "participant" and one.order == "drawn":
            found.update(_ordered(one, seed, path))
        elif isinstance(one, Balanced) and one.order == "random":
            place = f"{path}/variable:{one.id}"
            number = next(uniform_numbers(f"{seed}/{place}"))
            found[one.id] = _given(one.cycle[int(number * len(one.cycle))], place)
    return found


def by_arrival(variables: Iterable[Assigned]) -> list[Balanced | Permutation]:
    """The variables whose values follow the order of arrival."""
    return [
        one
        for one in variables
        if (isinstance(one, Balanced) and one.order == "round_robin")
        or (isinstance(one, Permutation) and one.order == "latin")
    ]


def of_seat(variables: Iterable[Assigned], seed: int, cohort: CohortAssignment, place: int) -> dict[str, Json]:
    """The values of the participant on one seat, by its place in the cohort, if no other cohort has arrived before."""
    path = cohort.seats[place].path
    arrived = (at_place(one, cohort.path, place + 1) for one in by_arrival(variables))
    own = {name: given for layer in arrived for name, given in layer.items()}
    shared = of_cohort(variables, seed, cohort.path, cohort.plan_id)
    return values_of(shared, of_participant(variables, seed, path, cohort.seats[place].persona_id), own)


def at_place(variable: Balanced | Permutation, cohort_path: str, number: int) -> dict[str, Given]:
    """What the participant has who came as number so many, from 1, among those over whom is counted."""
    if isinstance(variable, Permutation):
        order = [variable.values[one] for one in order_at(len(variable.values), number - 1)]
        return _placed(variable, order[: variable.taken], f"variable:{variable.id}/{number}")
    place = f"{cohort_path}/variable:{variable.id}" if variable.across == "cohort" else f"variable:{variable.id}"
    cycle = variable.cycle
    return {variable.id: _given(cycle[(number - 1) % len(cycle)], f"{place}/{number}")}


def values_of(*layers: Mapping[str, Given]) -> dict[str, Json]:
    """The values alone; a later layer wins."""
    return {name: given["value"] for layer in layers for name, given in layer.items()}


def problems(value: Mapping[str, Json]) -> Iterator[Problem]:
    """What is wrong with the assigned variables of a file, apart from their types."""
    cohorts = [one.get("id") for one in _list(value.get("cohorts")) if isinstance(one, Mapping)]
    seen: dict[str, int] = {}
    for index, one in _valid(value):
        where = f"assigned[{index}]"
        if one.id in OF_READER:
            yield Problem(f"{where}.id", repr(one.id), f"another name: {one.id!r} is what is known of each reader")
        for name in one.names:
            if name in seen:
                yield Problem(f"{where}.id", f"{name!r}, as in assigned[{seen[name]}]", "a name of its own")
            seen.setdefault(name, index)
        yield from _amiss(one, where, [cohort for cohort in cohorts if isinstance(cohort, str)])


def names(value: Mapping[str, Json]) -> set[str]:
    """The names that have a value by the assigned variables of a file, as far as they can be read."""
    return {name for _, one in _valid(value) for name in one.names}


def by_persona(value: Mapping[str, Json]) -> list[ByPersona]:
    """The variables of a file whose values belong to personas, as far as they can be read."""
    return [one for _, one in _valid(value) if isinstance(one, ByPersona)]


def _amiss(one: Assigned, where: str, cohorts: Collection[str]) -> Iterator[Problem]:
    if isinstance(one, Balanced) and one.weights and len(one.weights) != len(one.values):
        yield Problem(f"{where}.weights", f"{len(one.weights)} weights", f"{len(one.values)}, one for each value")
    elif isinstance(one, Permutation) and one.take is not None and one.take > len(one.values):
        yield Problem(f"{where}.take", str(one.take), f"at most {len(one.values)}, the number of values")
    elif isinstance(one, Permutation) and one.order == "latin" and (one.scope != "participant" or one.seed_text):
        name = "seed_text" if one.seed_text else "scope"
        expected = "nothing beside `order: latin`: each participant has the next order of the square"
        yield Problem(f"{where}.{name}", repr(getattr(one, name)), expected)
    elif isinstance(one, Permutation) and one.order == "latin" and len(one.values) == 1:
        yield Problem(f"{where}.order", "'latin' with one value", "two values or more; or leave out `order`")
    elif isinstance(one, ByCohort):
        for cohort in one.cohorts:
            if cohort not in cohorts:
                nothing = "a cohort, which needs an id in the file"
                yield unknown(f"{where}.cohorts.{cohort}", cohort, cohorts, "cohort", if_none=nothing)


def _valid(value: Mapping[str, Json]) -> Iterator[tuple[int, Assigned]]:
    for index, one in enumerate(_list(value.get("assigned"))):
        try:
            yield index, _ONE.validate_python(one)
        except ValidationError:
            continue


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()


def _ordered(one: Permutation, seed: int, path: str) -> dict[str, Given]:
    place = f"{path}/variable:{one.id}".removeprefix("/")
    return _placed(one, drawn(one.values, one.taken, one.seed_text or f"{seed}/{place}"), place)


def _placed(one: Permutation, order: Sequence[Json], place: str) -> dict[str, Given]:
    if not one.split:
        return {one.id: _given(order, place)}
    return {
        name: _given(value, f"{place}/{number}")
        for number, (name, value) in enumerate(zip(one.names, order, strict=True), 1)
    }


def _given(value: Json, draw: str) -> Given:
    return {"value": value, "draw": draw}
