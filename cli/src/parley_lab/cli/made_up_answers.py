"""Answers of made-up people: those that a file says are right, and others by chance. Pure."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

from pydantic import TypeAdapter

from parley_lab.base.fitting import fitted
from parley_lab.base.rules import Rule, holds
from parley_lab.base.schema_filler import fill
from parley_lab.contracts.experiment import StageConfig
from parley_lab.design import Experiment, resolve

Json = Any
RightAnswers = Mapping[str, Sequence[Mapping[str, Json]]]
"""The different right answers to a stage, by its id: each arm may have its own, and no person knows the own arm."""

_AGREEING: Final = 0.9
_CHECKS: Final = "comprehension"
_RULE: Final[TypeAdapter[Any]] = TypeAdapter(Rule)


def fill_in(form: Mapping[str, Json], rng: Random) -> Json:
    """An answer that the form takes: fields that are hidden by the others' answers are left out."""
    properties = form.get("properties")
    if properties is None:
        return fill(form, rng)
    answer: dict[str, Json] = {}
    for name, schema in properties.items():
        rule = schema.get("x-show-if")
        if rule is None or holds(_RULE.validate_python(rule), {"here": answer}, "here"):
            # Most people tick what they are asked to tick.
            is_box = schema.get("type") == "boolean" and "const" not in schema
            answer[name] = rng.random() < _AGREEING if is_box else fill(schema, rng)
    return fitted(form, answer)


def right_answers(experiment: Experiment) -> dict[str, list[dict[str, Json]]]:
    """The answers that checks of what was read take as right, by stage: those of each arm, in the arms' order."""
    checks = [stage.id for stage in experiment.stages if stage.kind == _CHECKS]
    found: dict[str, list[dict[str, Json]]] = {name: [] for name in checks}
    arms: list[str | None] = [treatment.id for treatment in experiment.treatments]
    for arm in arms or [None] if checks else ():
        for stage in resolve(experiment, arm, personas=()).stages:
            if stage.kind == _CHECKS and (right := _all_right(stage)) not in found[stage.id]:
                found[stage.id].append(right)
    return found


def right_for(form: Mapping[str, Json], right: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
    """Each set of right answers, with the fields of the form alone; equal sets appear once."""
    asked = form.get("properties", {})
    found = [{name: value for name, value in one.items() if name in asked} for one in right]
    return [one for number, one in enumerate(found) if one and one not in found[:number]]


def _all_right(stage: StageConfig) -> dict[str, Json]:
    return {
        one.id: _one_right(one.correct, is_number=one.kind == "number")
        # With rows these are the questions of each row, which the stage does not write.
        for one in stage.questions  # type: ignore[attr-defined]  # a comprehension has some
    }


def _one_right(correct: str | float | Sequence[str | float], *, is_number: bool) -> str | float:
    """An answer that is right, as a person types or chooses it; the first where the file lists several."""
    right = correct if isinstance(correct, str | int | float) else correct[0]
    return right if is_number else str(right)
