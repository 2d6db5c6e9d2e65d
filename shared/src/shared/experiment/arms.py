"""What is wrong with one arm: names that lead nowhere, and what its replacements make of stages and personas."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import ValidationError

from shared import variables as texts
from shared.contracts.experiment import Persona, StageConfig, Treatment
from shared.errors import Problem
from shared.experiment import mock_scripts, prompts, scripts
from shared.experiment import treatments as arm
from shared.experiment.complaints import one_of, translate
from shared.experiment.document import json_schema
from shared.stages import kind_of, read_stage

Json = Any

_FIXED_FIELDS = ("id", "kind")


def problems(
    stages: Sequence[StageConfig],
    personas: Sequence[Persona],
    values: Mapping[str, Json],
    treatment: Treatment | None,
    index: int,
) -> list[Problem]:
    """The problems of the arm of `treatment`, the one at `index`, or of the experiment as it stands."""
    where = f"treatments[{index}]"
    if treatment is not None and (found := [*_bad_names(stages, personas, treatment, where)]):
        return found
    return [
        *(problem for number, one in enumerate(stages) for problem in _stage(number, one, treatment, values, where)),
        *(
            problem
            for number, one in enumerate(personas)
            for problem in _persona(number, one, stages, treatment, values, where)
        ),
        *_sequence(stages, treatment, where),
    ]


def _bad_names(
    stages: Sequence[StageConfig], personas: Sequence[Persona], treatment: Treatment, where: str
) -> Iterator[Problem]:
    stage_ids = [stage.id for stage in stages]
    yield from _unknown(f"{where}.stages.{{}}", treatment.stages, stage_ids, "stage")
    yield from _unknown(f"{where}.personas.{{}}", treatment.personas, [one.id for one in personas], "persona")
    for number, stage_id in enumerate(treatment.leave_out):
        yield from _unknown(f"{where}.leave_out[{number}]", [stage_id], stage_ids, "stage")
    if set(stage_ids) <= set(treatment.leave_out):
        yield Problem(f"{where}.leave_out", "every stage", "at least one stage that is left")
    yield from _fixed_fields(treatment.stages, f"{where}.stages")
    yield from _fixed_fields(treatment.personas, f"{where}.personas")
    yield from _bad_orders(stages, treatment, f"{where}.order")


def _unknown(
    template: str, names: Sequence[str] | Mapping[str, Json], known: Sequence[str], what: str
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
        found += [*prompts.problems(valid, stages), *mock_scripts.problems(valid, stages)]
        found += scripts.problems(valid, stages)
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


def _sequence(stages: Sequence[StageConfig], treatment: Treatment | None, where: str) -> Iterator[Problem]:
    """What a stage lacks once others are replaced, left out or moved; what it lacks anyway was said before."""
    if treatment is None:
        return
    usual = set(_lacks(stages))
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
