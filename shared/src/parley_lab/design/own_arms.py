"""Checks a file in which each participant has an own arm: members of one cohort may differ only where they are alone.

Where members wait, meet, or read of each other, there is one stage for all of them: the arms may not replace what they
have in common, leave it out, or bring it into another order. What is shown above its content, and what a kind says is
read alone (`StageKind.in_common`), may differ.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from pydantic import ValidationError

from parley_lab.base import variables as texts
from parley_lab.base.errors import Problem
from parley_lab.contracts.experiment import CohortPlan, Persona, StageConfig, Treatment
from parley_lab.design import treatments as arm
from parley_lab.kinds.parts import plays_together
from parley_lab.kinds.questions.rows import filled_by_rows
from parley_lab.kinds.reads import of_everybody
from parley_lab.kinds.stages import kind_of, parts_of, read_of_everybody, read_stage

Json = Any

_ALIKE: Final = "the same in all arms: say what differs in `variables`, or allocate the arms `by: cohort`"
_SHOWN_ABOVE: Final = ("name", "description", "info")
_ABOVE: Final = f"the name in {', '.join(_SHOWN_ABOVE)} of this stage only: the rest is the same for all members"
_OF_MEDIATORS: Final = ("text", "role", "goal", "backstory", "attributes", "prompts")
"""What an arm may change of a mediator, for the talks in private with participants of the arm."""


@dataclass(frozen=True)
class Allocating:
    """The valid parts of the file by position, and the values of its variables that all arms have."""

    stages: Mapping[int, StageConfig]
    personas: Mapping[int, Persona]
    cohorts: Mapping[int, CohortPlan]
    treatments: Mapping[int, Treatment]
    values: Mapping[str, Json]

    @property
    def in_order(self) -> list[StageConfig]:
        return list(self.stages.values())


def problems(file: Allocating) -> Iterator[Problem]:
    """What arms change where members of a cohort are together."""
    shared = {stage.id: why for stage in file.in_order if (why := why_shared(stage, file.in_order)) is not None}
    for index, treatment in file.treatments.items():
        yield from _of_arm(f"treatments[{index}]", file, treatment, shared)
    yield from _unfilled(file, shared)


def named_by_cohort(cohorts: Mapping[int, CohortPlan]) -> Iterator[Problem]:
    """Arms of seats in a file in which cohorts have the arms."""
    for index, plan in cohorts.items():
        for number, seat in enumerate(plan.seats):
            if seat.treatment is not None:
                expected = "`allocation: {by: participant}` beside it; or `treatment` of the whole cohort"
                yield Problem(f"cohorts[{index}].seats[{number}].treatment", repr(seat.treatment), expected)


def why_shared(stage: StageConfig, stages: Sequence[StageConfig]) -> str | None:
    """Why the stage is one for all members of a cohort, in words after its name; None: each is alone there."""
    parts = parts_of(stage)
    if parts.has_thread:
        return "where members talk"
    if plays_together(parts):
        return "where members play together"
    if parts.result is not None:
        return "which has one result of all answers"
    if parts.names_others:
        return "which names the others"
    if stage.progress.wait_for_all or stage.progress.min_participants or of_everybody(parts.reads):
        return "where members wait for each other"
    if stage.audience != "private":
        return "whose answers others read"
    if stage.id in read_of_everybody(stages):
        return "whose answers a later stage reads of all"
    return "for which the lab draws" if parts.draws is not None and not parts.is_each_alone else None


def _of_arm(where: str, file: Allocating, treatment: Treatment, shared: Mapping[str, str]) -> Iterator[Problem]:
    by_id = {stage.id: stage for stage in file.in_order}
    for stage_id in treatment.stages:
        if stage_id in by_id and (why := _why_alike(file, by_id[stage_id], treatment, shared.get(stage_id))):
            yield Problem(f"{where}.stages.{stage_id}", f"a change of the stage {stage_id!r}, {why}", _ALIKE)
    for number, stage_id in enumerate(treatment.leave_out):
        if stage_id in shared:
            yield Problem(f"{where}.leave_out[{number}]", f"the stage {stage_id!r}, {shared[stage_id]}", _ALIKE)
    yield from _order(where, file, treatment, shared)
    mediators = {persona_id for plan in file.cohorts.values() for persona_id in plan.mediators}
    for persona_id, fields in treatment.personas.items():
        if persona_id in mediators:
            yield from _of_mediator(f"{where}.personas.{persona_id}", file, persona_id, fields)


def _why_alike(file: Allocating, stage: StageConfig, treatment: Treatment, why: str | None) -> str | None:
    """Why the stage may not be as it is in this arm; None: it may. One that is invalid there is reported elsewhere.

    why: why the stage is one for all members.
    """
    try:
        changed = read_stage(arm.stage_fields(stage, treatment))
    except ValidationError:
        return None
    if why is not None:
        return why if _in_common(changed) != _in_common(stage) else None
    return why_shared(changed, [changed if one.id == stage.id else one for one in file.in_order])


def _in_common(stage: StageConfig) -> dict[str, Json]:
    """What is one for all members who are together on the stage."""
    fields = kind_of(stage).in_common(stage).model_dump(mode="json")
    return {name: part for name, part in fields.items() if name not in _SHOWN_ABOVE}


def _order(where: str, file: Allocating, treatment: Treatment, shared: Collection[str]) -> Iterator[Problem]:
    """Stages for all members keep their order, and the stage after one whose answers all read keeps its place."""
    stage_ids = {stage.id for stage in file.in_order}
    if not treatment.order or any(one not in stage_ids for order in treatment.order.values() for one in order):
        return
    try:
        moved = arm.in_order(file.in_order, treatment)
    except (KeyError, StopIteration):
        return
    usual = [stage.id for stage in file.in_order if stage.id in shared and stage.id not in treatment.leave_out]
    found = [stage.id for stage in moved if stage.id in shared]
    if found != usual:
        expected = f"{', '.join(usual)} in all arms: members of other arms would wait there for each other"
        yield Problem(f"{where}.order", f"{', '.join(found)}, where members wait or meet", expected)
        return
    after = {one.id: later.id for one, later in pairwise(file.in_order) if one.audience == "cohort"}
    for one, later in pairwise(moved):
        if after.get(one.id, later.id) != later.id:
            yield Problem(f"{where}.order", f"{later.id!r} after {one.id!r}", f"{after[one.id]!r} there in all arms")


def _of_mediator(where: str, file: Allocating, persona_id: str, fields: Mapping[str, Json]) -> Iterator[Problem]:
    """A mediator has no arm: in private it speaks in words of the participant's, in a group the same to all."""
    if meets := [stage.id for stage in _seats_of(file, persona_id) if not parts_of(stage).is_private]:
        found = f"a change of a mediator of {meets[0]!r}, where members of all arms are"
        yield Problem(
            where, found, f"one that sits only where participants talk in private (`mediates_in`); else {_ALIKE}"
        )
        return
    for name in fields:
        if name not in _OF_MEDIATORS:
            expected = (
                f"one of {', '.join(_OF_MEDIATORS)}: the mediator is the same for all arms but for what it is told"
            )
            yield Problem(f"{where}.{name}", f"a change of {name} of a mediator", expected)


def _seats_of(file: Allocating, persona_id: str) -> list[StageConfig]:
    """The stages in which the mediator sits."""
    chosen = next((one.mediates_in for one in file.personas.values() if one.id == persona_id), None)
    return [stage for stage in file.in_order if parts_of(stage).has_thread and (chosen is None or stage.id in chosen)]


def _unfilled(file: Allocating, shared: Mapping[str, str]) -> Iterator[Problem]:
    """Names in what the whole cohort reads that have a value only in arms: mediators and the lab would have none."""
    expected = "a name with a value in `variables` of the experiment, for those who have no arm: mediators and the lab"
    for number, stage in file.stages.items():
        if stage.id in shared and not parts_of(stage).is_private:
            fields = stage.model_dump(mode="json")
            filled = filled_by_rows(fields)
            for problem in texts.problems(fields, file.values, f"stages[{number}]", filled=filled):
                yield Problem(problem.where, problem.found, expected)
    differing = {name for treatment in file.treatments.values() for name in treatment.variables}
    for number, stage in file.stages.items():
        fields = _in_common(stage) if stage.id in shared else {}
        for where, name in texts.places(fields, f"stages[{number}]"):
            if name.partition(".")[0] in differing:
                yield Problem(where, f"`{{{{{name}}}}}`, which arms change, {shared[stage.id]}", _ABOVE)
    mediators = {persona_id for plan in file.cohorts.values() for persona_id in plan.mediators}
    for number, persona in file.personas.items():
        meets = persona.id in mediators and any(not parts_of(stage).is_private for stage in _seats_of(file, persona.id))
        if meets:
            fields = {name: part for name, part in persona.model_dump(mode="json").items() if name != "model"}
            for problem in texts.problems(fields, file.values, f"personas[{number}]"):
                yield Problem(problem.where, problem.found, expected)
