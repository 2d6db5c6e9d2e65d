"""What the types cannot say about an experiment: references, ids, seats, and what every treatment makes of it.

Works on the values of the file and leaves out the parts that are wrong in themselves, so that one mistake does not hide
the others.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from shared import variables as texts
from shared.contracts.experiment import CohortPlan, Persona, StageConfig, Treatment
from shared.errors import Problem
from shared.experiment import arms
from shared.experiment.complaints import one_of
from shared.experiment.document import MAX_MEMBERS
from shared.stages import kind_of, read_stage

Json = Any
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of a file that are right in themselves, by position; the ids of all that have one."""

    stages: Mapping[int, StageConfig]
    personas: Mapping[int, Persona]
    cohorts: Mapping[int, CohortPlan]
    treatments: Mapping[int, Treatment]
    ids: Mapping[str, Sequence[tuple[int, str]]]
    counts: Mapping[str, int]

    def known(self, what: str) -> list[str]:
        return [part_id for _, part_id in self.ids[what]]

    def is_whole(self, what: str, parts: Mapping[int, object]) -> bool:
        return len(parts) == self.counts[what]


def problems(value: Mapping[str, Json]) -> list[Problem]:
    """All problems of the file that stand between its parts."""
    parts = _split(value)
    found = [*_unread_table(value), *_repeated_ids(parts), *_cohort_problems(parts), *_stage_problems(parts)]
    if parts.is_whole("stages", parts.stages) and parts.is_whole("personas", parts.personas):
        found += _arm_problems(parts, value.get("variables"))
    return _once(found)


def _split(value: Mapping[str, Json]) -> _Parts:
    lists = {name: _list(value.get(name)) for name in ("stages", "personas", "cohorts", "treatments")}
    return _Parts(
        stages=_valid(lists["stages"], read_stage),
        personas=_valid(lists["personas"], Persona.model_validate),
        cohorts=_valid(lists["cohorts"], CohortPlan.model_validate),
        treatments=_valid(lists["treatments"], Treatment.model_validate),
        ids={name: list(_ids(parts)) for name, parts in lists.items()},
        counts={name: len(parts) for name, parts in lists.items()},
    )


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
                yield from _unknown_persona(f"{place}.persona", seat.persona, parts.known("personas"))
        for number, persona_id in enumerate(plan.mediators):
            if persona_id in scripted:
                yield Problem(
                    f"{where}.mediators[{number}]", "a persona that acts by script", "one that a model speaks for"
                )
            yield from _unknown_persona(f"{where}.mediators[{number}]", persona_id, parts.known("personas"))
        if plan.treatment is not None:
            yield from _unknown(f"{where}.treatment", plan.treatment, parts.known("treatments"), "treatment")
    members = sum(_members(plan) for plan in parts.cohorts.values())
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


def _members(plan: CohortPlan) -> int:
    return plan.count * (len(plan.mediators) + sum(seat.count for seat in plan.seats))


def _unknown(where: str, name: str, known: Sequence[str], what: str) -> Iterator[Problem]:
    if name not in known:
        yield Problem(where, repr(name), one_of(name, known, what))


def _unknown_persona(where: str, name: str, known: Sequence[str]) -> Iterator[Problem]:
    """One that the library has stands among the known ones already."""
    if name not in known:
        of_file = one_of(name, known, "persona") if known else "a persona that the file defines"
        yield Problem(where, repr(name), f"{of_file}, or one that the persona library has")


def _stage_problems(parts: _Parts) -> Iterator[Problem]:
    earlier: list[StageConfig] = []
    for index in range(parts.counts["stages"]):
        stage = parts.stages.get(index)
        if stage is None:
            # What the later ones refer to cannot be told any more.
            return
        for problem in kind_of(stage).problems(stage, earlier):
            yield Problem(f"stages[{index}].{problem.where}", problem.found, problem.expected)
        earlier.append(stage)


def _arm_problems(parts: _Parts, variables: Json) -> Iterator[Problem]:
    values = variables if isinstance(variables, Mapping) else {}
    stages, personas = list(parts.stages.values()), list(parts.personas.values())
    for index, treatment in parts.treatments.items():
        yield from arms.problems(stages, personas, texts.merged(values, treatment.variables), treatment, index)
    if not parts.counts["treatments"]:
        yield from arms.problems(stages, personas, values, None, 0)


def _once(found: Iterable[Problem]) -> list[Problem]:
    """Every problem at its place once, though several arms have it."""
    return list({(problem.where, problem.found): problem for problem in found}.values())
