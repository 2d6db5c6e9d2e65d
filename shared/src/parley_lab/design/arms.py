"""Checks one arm: unknown names, and what its replacements make of stages and personas."""

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import ValidationError

from parley_lab.base import variables as texts
from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import unknown
from parley_lab.contracts.experiment import Persona, StageConfig, Treatment
from parley_lab.contracts.named_providers import read_providers
from parley_lab.design import conditions, references, sequences, stand_ins
from parley_lab.design import treatments as arm
from parley_lab.design.complaints import translate
from parley_lab.design.document import json_schema
from parley_lab.kinds.questions.rows import fill_stage, filled_by_rows
from parley_lab.kinds.stages import parts_of, read_stage

Json = Any

_FIXED_FIELDS = ("id", "kind")


class Arms:
    """Checks the arms of one experiment.

    stages, personas: those that are valid in themselves, by position. known: the ids of all, by `stages` and
    `personas`. An arena has thousands of arms, most with the same personas: each result is checked once.
    """

    def __init__(
        self,
        stages: Mapping[int, StageConfig],
        personas: Mapping[int, Persona],
        known: Mapping[str, Collection[str]],
    ) -> None:
        self._stages = stages
        self._personas = personas
        self._known = known
        self._valid = list(stages.values())
        self._is_whole = len(stages) == len(known["stages"])
        self._usual_lacks = frozenset(self._lacks(self._valid, None)) if self._is_whole else frozenset()
        self._checked_values: set[str] = set()
        self._unchanged: set[str] = set()
        self._columns: dict[tuple[str, str], tuple[bool, str]] = {}
        """By stage and column: whether the lab says it of answers, and the first arm that has it."""

    def problems(self, values: Mapping[str, Json], treatment: Treatment | None, index: int) -> list[Problem]:
        """The problems of the arm of `treatment`, the one at `index`, or of the experiment without treatments.

        `values`: the variables of the arm.
        """
        where = f"treatments[{index}]"
        bad = [] if treatment is None else [*_bad_names(self._valid, treatment, where, self._known)]
        # An arm needs no values for the texts of a stage that it leaves out.
        other = set() if treatment is None else _made_other(treatment) | {*treatment.leave_out}
        of_stages = [
            problem
            for number, stage in self._stages.items()
            if stage.id not in other and (treatment is None or stage.id not in treatment.leave_out)
            for problem in _stage(number, stage, treatment, values, where)
        ]
        of_personas = [
            problem
            for number, persona in self._unchecked(values, treatment)
            if persona.id not in other
            for problem in _persona(number, persona, self._valid, treatment, values, where)
        ]
        if bad or not self._is_whole:
            return [*bad, *of_stages, *of_personas]
        return [*of_stages, *of_personas, *self._sequence(treatment, where)]

    def _sequence(self, treatment: Treatment | None, where: str) -> Iterator[Problem]:
        """What a stage lacks after replacements, omissions and moves; what it lacks in any case is not told again."""
        if treatment is None:
            return
        try:
            present = [read_stage(arm.stage_fields(stage, treatment)) for stage in arm.in_order(self._valid, treatment)]
        except ValidationError:
            # Reported at the place of the replacement.
            return
        yield from self._two_things(present, treatment, where)
        for stage_id, problem in self._lacks(present, treatment):
            if _first(problem.where) in treatment.stages.get(stage_id, {}):
                yield replace(problem, where=f"{where}.stages.{stage_id}.{problem.where}")
            elif (stage_id, problem) not in self._usual_lacks:
                why = ", which this arm leaves out," if problem.found in map(repr, treatment.leave_out) else ""
                yield Problem(
                    where, f"{problem.found}{why} in {problem.where} of the stage {stage_id}", problem.expected
                )

    def _two_things(self, stages: Sequence[StageConfig], treatment: Treatment, where: str) -> Iterator[Problem]:
        """Columns that are answers in one arm, and in another one what the lab says of them, such as an order."""
        for stage in stages:
            if stage.id not in treatment.stages:
                if stage.id in self._unchanged:
                    continue
                self._unchanged.add(stage.id)
            for column in parts_of(stage).data.columns():
                place = (stage.id, column.name)
                is_derived, arm_id = self._columns.setdefault(place, (column.derived, treatment.id))
                if is_derived != column.derived:
                    found = f"a column {stage.id}.{column.name} that is something else in the arm {arm_id!r}"
                    yield Problem(f"{where}.stages.{stage.id}", found, "another id of the question with that name")

    def _lacks(self, stages: Sequence[StageConfig], treatment: Treatment | None) -> Iterator[tuple[str, Problem]]:
        yield from ((stages[index].id, problem) for index, problem in sequences.problems(stages))
        scripted = stand_ins.scripted_in(self._personas.values(), treatment)
        for stage in stages:
            yield from ((stage.id, problem) for problem in stand_ins.problems(stage, self._known["personas"], scripted))

    def _unchecked(self, values: Mapping[str, Json], treatment: Treatment | None) -> list[tuple[int, Persona]]:
        """The personas, by position, that no earlier arm has in the same form."""
        numbered = list(self._personas.items())
        if treatment is None or treatment.model:
            return numbered
        key = json.dumps(values, sort_keys=True)
        if key in self._checked_values:
            return [(number, persona) for number, persona in numbered if persona.id in treatment.personas]
        self._checked_values.add(key)
        return numbered


def _made_other(treatment: Treatment) -> set[str]:
    """The parts whose id or kind is replaced, and that cannot be checked."""
    replaced = {**treatment.stages, **treatment.personas}
    return {part_id for part_id, fields in replaced.items() if any(name in fields for name in _FIXED_FIELDS)}


def _bad_names(
    stages: Sequence[StageConfig], treatment: Treatment, where: str, known: Mapping[str, Collection[str]]
) -> Iterator[Problem]:
    stage_ids = [*known["stages"]]
    yield from _unknown(f"{where}.stages.{{}}", treatment.stages, stage_ids, "stage")
    yield from _unknown(f"{where}.personas.{{}}", treatment.personas, known["personas"], "persona")
    for number, stage_id in enumerate(treatment.leave_out):
        yield from _unknown(f"{where}.leave_out[{number}]", [stage_id], stage_ids, "stage")
    if stage_ids and set(stage_ids) <= set(treatment.leave_out):
        yield Problem(f"{where}.leave_out", "every stage", "at least one stage that is left")
    yield from _fixed_fields(treatment.stages, f"{where}.stages")
    yield from _fixed_fields(treatment.personas, f"{where}.personas")
    if len(stages) == len(stage_ids):
        yield from _bad_orders(stages, treatment, f"{where}.order")


def _unknown(
    template: str, names: Sequence[str] | Mapping[str, Json], known: Collection[str], what: str
) -> Iterator[Problem]:
    for name in names:
        if name not in known:
            yield unknown(template.format(name), name, known, what)


def _fixed_fields(replaced: Mapping[str, Mapping[str, Json]], where: str) -> Iterator[Problem]:
    for part_id, fields in replaced.items():
        for name in _FIXED_FIELDS:
            if name in fields:
                yield Problem(f"{where}.{part_id}.{name}", repr(fields[name]), f"nothing: a treatment keeps the {name}")


def _bad_orders(stages: Sequence[StageConfig], treatment: Treatment, where: str) -> Iterator[Problem]:
    blocks = sorted({stage.block for stage in stages if stage.block is not None})
    yield from _unknown(f"{where}.{{}}", treatment.order, blocks, "block")
    for block, order in treatment.order.items():
        members = [stage.id for stage in stages if stage.block == block]
        if block in blocks and sorted(order) != sorted(members):
            yield Problem(f"{where}.{block}", ", ".join(order) or "nothing", f"each of {', '.join(members)} once")


def _stage(
    number: int, stage: StageConfig, treatment: Treatment | None, values: Mapping[str, Json], where: str
) -> Iterator[Problem]:
    fields = arm.stage_fields(stage, treatment)
    replaced = treatment.stages.get(stage.id, {}) if treatment else {}
    # What readers have answered may be nothing.
    nothing = {name: "" for _, name in texts.places(fields) if texts.is_of_reader(name)}
    filled = fill_stage(fields, {**values, **nothing})
    found = [*texts.problems(fields, values, filled=filled_by_rows(fields)), *_unset(fields, values)]
    try:
        read_stage(filled)
    except ValidationError as error:
        found += translate(error, filled, _schema(), inside=("stages", 0))
    for problem in found:
        is_replaced = _first(problem.where) in replaced
        place = f"{where}.stages.{stage.id}" if is_replaced else f"stages[{number}]"
        yield replace(problem, where=f"{place}.{problem.where}")


def _unset(fields: Json, values: Mapping[str, Json]) -> Iterator[Problem]:
    """Variables in rules that have no value."""
    for place, one in conditions.compared(fields):
        if one.variable is not None and one.variable.partition(".")[0] not in values and one.variable not in values:
            yield unknown(f"{place}.variable", one.variable, values, "variable")


def _persona(
    number: int,
    persona: Persona,
    stages: Sequence[StageConfig],
    treatment: Treatment | None,
    values: Mapping[str, Json],
    where: str,
) -> Iterator[Problem]:
    fields = arm.persona_fields(persona, treatment)
    replaced = treatment.personas.get(persona.id, {}) if treatment else {}
    filled = arm.filled_persona(persona, treatment, values)
    found = texts.problems({name: part for name, part in fields.items() if name != "model"}, values)
    try:
        valid = Persona.model_validate(filled)
        found += _unknown("model.provider", [valid.model.provider], _providers(), "provider")
        found += references.problems(valid, stages)
    except ValidationError as error:
        found += translate(error, filled, _schema(), inside=("personas", 0))
    for problem in found:
        first = _first(problem.where)
        if first in replaced:
            place = f"{where}.personas.{persona.id}."
        elif first == "model" and treatment is not None and treatment.model:
            place = f"{where}."
        else:
            place = f"personas[{number}]."
        yield replace(problem, where=f"{place}{problem.where}")


def _first(path: str) -> str:
    return path.replace("[", ".").partition(".")[0]


@cache
def _schema() -> dict[str, Any]:
    return json_schema()


def _providers() -> list[str]:
    """Those that a file may name: the operator's are in the environment, as their keys are."""
    return sorted({name.partition("/")[0] for name in read_providers(os.environ)})
