"""What is wrong with one arm: names that lead nowhere, and what its replacements make of stages and personas."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from pydantic import ValidationError

from shared import variables as texts
from shared.contracts.experiment import Persona, StageConfig, Treatment
from shared.contracts.providers import PROVIDERS
from shared.errors import Problem
from shared.experiment import references
from shared.experiment import treatments as arm
from shared.experiment.complaints import one_of, translate
from shared.experiment.document import json_schema
from shared.stages import kind_of, read_stage

Json = Any

_FIXED_FIELDS = ("id", "kind")
_PROVIDERS: Final = sorted({name.partition("/")[0] for name in PROVIDERS})


class Arms:
    """Checks the arms of one experiment.

    stages, personas: those that are right in themselves, by their position. known: the ids of all, by `stages` and
    `personas`. An arena has thousands of arms that make the same of most personas: what was checked once is not checked
    again.
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
        self._usual_lacks = frozenset(_lacks(self._valid)) if self._is_whole else frozenset()
        self._checked_values: set[str] = set()

    def problems(self, values: Mapping[str, Json], treatment: Treatment | None, index: int) -> list[Problem]:
        """The problems of the arm of `treatment`, the one at `index`, or of the experiment as it stands.

        `values` are the variables of the arm.
        """
        where = f"treatments[{index}]"
        bad = [] if treatment is None else [*_bad_names(self._valid, treatment, where, self._known)]
        other = set() if treatment is None else _made_other(treatment)
        of_stages = [
            problem
            for number, stage in self._stages.items()
            if stage.id not in other
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
        return [*of_stages, *of_personas, *_sequence(self._valid, self._usual_lacks, treatment, where)]

    def _unchecked(self, values: Mapping[str, Json], treatment: Treatment | None) -> list[tuple[int, Persona]]:
        """The personas, by position, of which this arm makes something that no arm before it has made."""
        numbered = list(self._personas.items())
        if treatment is None or treatment.model:
            return numbered
        key = json.dumps(values, sort_keys=True)
        if key in self._checked_values:
            return [(number, persona) for number, persona in numbered if persona.id in treatment.personas]
        self._checked_values.add(key)
        return numbered


def _made_other(treatment: Treatment) -> set[str]:
    """The parts whose id or kind is replaced: nothing can be said of what becomes of them."""
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
            yield Problem(template.format(name), repr(name), one_of(name, known, what))


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
    filled = texts.fill(fields, values)
    found = texts.problems(fields, values)
    try:
        read_stage(filled)
    except ValidationError as error:
        found += translate(error, filled, _schema(), inside=("stages", 0))
    for problem in found:
        is_replaced = _first(problem.where) in replaced
        place = f"{where}.stages.{stage.id}" if is_replaced else f"stages[{number}]"
        yield Problem(f"{place}.{problem.where}", problem.found, problem.expected)


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
        found += _unknown("model.provider", [valid.model.provider], _PROVIDERS, "provider")
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
        yield Problem(f"{place}{problem.where}", problem.found, problem.expected)


def _sequence(
    stages: Sequence[StageConfig], usual: Collection[tuple[str, Problem]], treatment: Treatment | None, where: str
) -> Iterator[Problem]:
    """What a stage lacks once others are replaced, left out or moved; what it lacks anyway is `usual`."""
    if treatment is None:
        return
    try:
        present = [read_stage(arm.stage_fields(stage, treatment)) for stage in arm.in_order(stages, treatment)]
    except ValidationError:
        # Said where the replacement stands.
        return
    for stage_id, problem in _lacks(present):
        if _first(problem.where) in treatment.stages.get(stage_id, {}):
            yield Problem(f"{where}.stages.{stage_id}.{problem.where}", problem.found, problem.expected)
        elif (stage_id, problem) not in usual:
            yield Problem(where, f"{problem.found} in {problem.where} of the stage {stage_id}", problem.expected)


def _lacks(stages: Sequence[StageConfig]) -> Iterator[tuple[str, Problem]]:
    for index, stage in enumerate(stages):
        for problem in kind_of(stage).problems(stage, stages[:index]):
            yield stage.id, problem


def _first(path: str) -> str:
    return path.replace("[", ".").partition(".")[0]


@cache
def _schema() -> dict[str, Any]:
    return json_schema()
