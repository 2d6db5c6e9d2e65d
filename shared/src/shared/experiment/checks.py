"""What the types cannot say about an experiment: references, ids, seats, and what every treatment makes of it.

Works on the values of the file and leaves out the parts that are wrong in themselves, so that one mistake does not hide
the others.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from shared import variables as texts
from shared.contracts.experiment import CohortPlan, Persona, StageConfig, Treatment
from shared.errors import Problem
from shared.experiment.arms import Arms
from shared.experiment.complaints import one_of, without_unknown
from shared.experiment.document import MAX_MEMBERS
from shared.stages import kind_of, read_stage

Json = Any
T = TypeVar("T")


@dataclass(frozen=True)
class _Parts:
    """The parts of a file that are right in themselves, by position; the ids of all that have one."""

    stages: Mapping[int, StageConfig]
    personas: Mapping[int, Persona]
    cohorts: Mapping[int, CohortPlan]
    treatments: Mapping[int, Treatment]
    ids: Mapping[str, Sequence[tuple[int, str]]]
    known: Mapping[str, Collection[str]]
    """The same ids, to look one up among many."""
    counts: Mapping[str, int]
    unread: Collection[str]
    """How complaints show the ids of stages that are wrong in themselves."""


def problems(value: Mapping[str, Json]) -> list[Problem]:
    """All problems of the file that stand between its parts."""
    parts = _split(value)
    found = [
        *_unread_table(value),
        *_repeated_ids(parts),
        *_cohort_problems(parts),
        *_stage_problems(parts),
        *_arm_problems(parts, value),
    ]
    # Those parts are there, though nothing is known of them.
    return [problem for problem in _once(found) if problem.found not in parts.unread]


def _split(value: Mapping[str, Json]) -> _Parts:
    lists = {name: _list(value.get(name)) for name in ("stages", "personas", "cohorts", "treatments")}
    ids = {name: list(_ids(parts)) for name, parts in lists.items()}
    stages = _valid(lists["stages"], _read_stage)
    return _Parts(
        stages=stages,
        personas=_valid(lists["personas"], _read_persona),
        cohorts=_valid(lists["cohorts"], CohortPlan.model_validate),
        treatments=_valid(lists["treatments"], Treatment.model_validate),
        ids=ids,
        known={name: {part_id: None for _, part_id in found}.keys() for name, found in ids.items()},
        counts={name: len(parts) for name, parts in lists.items()},
        unread={repr(stage_id) for index, stage_id in ids["stages"] if index not in stages},
    )


def _read_stage(value: Json) -> StageConfig:
    """The stage; one with unknown fields as if it had none of them, which is told elsewhere."""
    try:
        return read_stage(value)
    except ValidationError as error:
        return read_stage(without_unknown(value, error))


def _read_persona(value: Json) -> Persona:
    try:
        return Persona.model_validate(value)
    except ValidationError as error:
        return Persona.model_validate(without_unknown(value, error))


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _valid(values: Sequence[Json], read: Callable[[Json], T]) -> dict[int, T]:
    valid: dict[int, T] = {}
    for index, value in enumerate(values):
        try:
            valid[index] = read(value)
        except ValidationError:
            continue
    return valid


def _ids(values: Sequence[Json]) -> Iterator[tuple[int, str]]:
    for index, value in enumerate(values):
        if isinstance(value, Mapping) and isinstance(value.get("id"), str):
            yield index, value["id"]


def _unread_table(value: Mapping[str, Json]) -> Iterator[Problem]:
    """What is left of a table that nobody has read; the command line puts its rows in their places first."""
    if value.get("personas_from") is not None:
        yield Problem("personas_from", "a table", "`personas`: only the command line reads tables")


def _repeated_ids(parts: _Parts) -> Iterator[Problem]:
    for what, ids in parts.ids.items():
        first: dict[str, int] = {}
        for index, part_id in ids:
            if part_id in first:
                yield Problem(f"{what}[{index}].id", f"{part_id!r}, as in {what}[{first[part_id]}]", "an id of its own")
            first.setdefault(part_id, index)


def _cohort_problems(parts: _Parts) -> Iterator[Problem]:
    scripted = {persona.id for persona in parts.personas.values() if persona.player == "script"}
    for index, plan in parts.cohorts.items():
        where = f"cohorts[{index}]"
        yield from _wrong_size(where, plan, parts)
        for number, seat in enumerate(plan.seats):
            place = f"{where}.seats[{number}]"
            if seat.each_row:
                yield Problem(f"{place}.each_row", "true", "a table in `personas_from`, and no `persona` beside it")
            elif seat.open == (seat.persona is not None):
                found = "a persona and `open: true`" if seat.open else "neither a persona nor `open: true`"
                yield Problem(place, found, "one of the two: a persona plays the seat, or a person who joins")
            elif seat.persona is not None:
                yield from _unknown_persona(f"{place}.persona", seat.persona, parts.known["personas"])
        for number, persona_id in enumerate(plan.mediators):
            if persona_id in scripted:
                yield Problem(
                    f"{where}.mediators[{number}]", "a persona that acts by script", "one that a model speaks for"
                )
            yield from _unknown_persona(f"{where}.mediators[{number}]", persona_id, parts.known["personas"])
        if plan.treatment is not None:
            yield from _unknown(f"{where}.treatment", plan.treatment, parts.known["treatments"], "treatment")
    members = sum(plan.members for plan in parts.cohorts.values())
    if members > MAX_MEMBERS:
        yield Problem("cohorts", f"{members} participants and mediators", f"at most {MAX_MEMBERS}")


def _wrong_size(where: str, plan: CohortPlan, parts: _Parts) -> Iterator[Problem]:
    """A stage that is for so many players, in a cohort that has more or fewer."""
    if any(seat.each_row for seat in plan.seats):
        return
    found = sum(seat.count for seat in plan.seats)
    for stage in parts.stages.values():
        players = kind_of(stage).players
        if players is not None and players != found:
            yield Problem(f"{where}.seats", f"{found} participants", f"{players}, for the stage {stage.id!r}")


def _unknown(where: str, name: str, known: Collection[str], what: str) -> Iterator[Problem]:
    if name not in known:
        yield Problem(where, repr(name), one_of(name, known, what))


def _unknown_persona(where: str, name: str, known: Collection[str]) -> Iterator[Problem]:
    """One that the library has stands among the known ones already."""
    if name not in known:
        of_file = one_of(name, known, "persona") if known else "a persona that the file defines"
        yield Problem(where, repr(name), f"{of_file}, or one that the persona library has")


def _stage_problems(parts: _Parts) -> Iterator[Problem]:
    earlier: list[StageConfig] = []
    for index in range(parts.counts["stages"]):
        stage = parts.stages.get(index)
        if stage is None:
            continue
        for problem in kind_of(stage).problems(stage, earlier):
            yield Problem(f"stages[{index}].{problem.where}", problem.found, problem.expected)
        earlier.append(stage)


def _arm_problems(parts: _Parts, value: Mapping[str, Json]) -> Iterator[Problem]:
    variables = value.get("variables")
    values = variables if isinstance(variables, Mapping) else {}
    arms = Arms(parts.stages, parts.personas, parts.known)
    for index, treatment in parts.treatments.items():
        merged = texts.merged(values, treatment.variables)
        yield from arms.problems(merged, treatment, index)
        yield from _unfilled(parts, value, merged)
    if not parts.counts["treatments"]:
        yield from arms.problems(values, None, 0)
        yield from _unfilled(parts, value, values)


def _unfilled(parts: _Parts, value: Mapping[str, Json], values: Mapping[str, Json]) -> Iterator[Problem]:
    """Texts with unknown variables in stages and personas that are wrong in themselves."""
    for what, valid in (("stages", parts.stages), ("personas", parts.personas)):
        for index, part in enumerate(_list(value.get(what))):
            if index not in valid and isinstance(part, Mapping):
                texts_of = {name: field for name, field in part.items() if name != "model"}
                yield from texts.problems(texts_of, values, f"{what}[{index}]")


def _once(found: Iterable[Problem]) -> list[Problem]:
    """Every problem at its place once, though several arms have it."""
    return list({(problem.where, problem.found): problem for problem in found}.values())
