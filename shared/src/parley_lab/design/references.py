"""Checks the references of personas: stages, their kinds, questions of show-if rules; and their scripts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from parley_lab.base import rules
from parley_lab.base.errors import IN_WORDS, Problem
from parley_lab.base.meant_names import one_of, unknown
from parley_lab.contracts.experiment import Persona, StageConfig
from parley_lab.contracts.prompt_items import ALL_STAGES, THIS_STAGE, Item, StageContext, walk
from parley_lab.design import sequences
from parley_lab.design.complaints import translate
from parley_lab.kinds.stages import kinds, parts_of

_OF_ANSWERS: Final = "a rule over answers, with `stage` and `question`: prompts know no other"
_OF_ARM: Final = (
    "a rule over answers; or in the text of the item a variable, which is empty in other arms; or `prompts` of this "
    "persona in `personas` of the treatment"
)
_OTHERS: Final = {
    **dict.fromkeys(("treatment", "factor", "variable"), _OF_ARM),
    "role": "`question: role`, with the `stage` that gives the roles, and the role as `value`",
}
"""How to say in a prompt what a rule over more than answers says elsewhere."""


def problems(persona: Persona, stages: Sequence[StageConfig]) -> Iterator[Problem]:
    """Unknown names, and scripts that their stages cannot read; `where` is relative to the persona."""
    yield from sequences.unknown_names(persona.model_dump(mode="json", exclude={"model"}), stages)
    yield from _in_prompts(persona, stages)
    yield from _by_stage(persona, stages)
    yield from _as_mediator(persona, stages)
    yield from _in_mock(persona, stages)
    yield from _in_scripts(persona, stages)


def _in_prompts(persona: Persona, stages: Sequence[StageConfig]) -> Iterator[Problem]:
    by_id = {stage.id: stage for stage in stages}
    for key, items in persona.prompts.items():
        if key not in by_id and key not in kinds():
            yield unknown(f"prompts.{key}", key, [*by_id, *kinds()], "stage or kind")
        for where, item in walk(items, f"prompts.{key}"):
            yield from _item(item, where, by_id, key)


def _by_stage(persona: Persona, stages: Sequence[StageConfig]) -> Iterator[Problem]:
    known = [stage.id for stage in stages]
    for stage_id, settings in persona.by_stage.items():
        where = f"by_stage.{stage_id}"
        if stage_id not in known:
            yield unknown(where, stage_id, known, "stage")
        if "provider" in settings.model:
            yield Problem(f"{where}.model.provider", repr(settings.model["provider"]), "nothing: the provider stays")
        yield from _replaced(persona.chat, settings.chat, f"{where}.chat")
        yield from _replaced(persona.model, settings.model, f"{where}.model")


def _replaced(settings: BaseModel, fields: Mapping[str, Any], where: str) -> Iterator[Problem]:
    """What is wrong with settings once these fields are replaced."""
    value = {**settings.model_dump(mode="json"), **fields}
    try:
        type(settings).model_validate(value)
    except ValidationError as error:
        for problem in translate(error, value, type(settings).model_json_schema()):
            yield replace(problem, where=f"{where}.{problem.where}")


def _as_mediator(persona: Persona, stages: Sequence[StageConfig]) -> Iterator[Problem]:
    talks = [stage.id for stage in stages if parts_of(stage).has_thread]
    known = [stage.id for stage in stages]
    for index, stage_id in enumerate(persona.mediates_in or ()):
        if stage_id not in talks:
            found = (
                f"{stage_id!r}, where members do not talk" if stage_id in known else f"{stage_id!r}, which is no stage"
            )
            expected = one_of(stage_id, talks, "stage with a conversation")
            nothing = "nothing: no stage of the experiment has a conversation, so a mediator has no place"
            yield Problem(f"mediates_in[{index}]", found, expected if talks else nothing)


def _item(item: Item, where: str, by_id: Mapping[str, StageConfig], here: str) -> Iterator[Problem]:
    if isinstance(item, StageContext) and item.stage not in (THIS_STAGE, ALL_STAGES, *by_id):
        expected = one_of(item.stage, [THIS_STAGE, ALL_STAGES, *by_id], "stage")
        yield Problem(f"{where}.stage", repr(item.stage), expected)
    if item.show_if is None:
        return
    for place, comparison in rules.comparisons(item.show_if, f"{where}.show_if"):
        target = comparison.stage or here
        if comparison.question is None:
            found = f"a rule over a {comparison.subject}"
            yield Problem(place, found, _OTHERS.get(comparison.subject, _OF_ANSWERS))
        elif target in by_id:
            yield from _question(comparison.question, f"{place}.question", by_id[target])
        elif comparison.stage is not None:
            yield unknown(f"{place}.stage", comparison.stage, by_id, "stage")


def _question(question: str, where: str, stage: StageConfig) -> Iterator[Problem]:
    """A question exists if it has columns: one with its name, or several with its name as a prefix."""
    columns = [column.name for column in parts_of(stage).data.columns() if not column.derived]
    if not any(name == question or name.startswith(f"{question}.") for name in columns):
        yield Problem(where, repr(question), f"a question of the stage {stage.id!r}")


def _in_scripts(persona: Persona, stages: Sequence[StageConfig]) -> Iterator[Problem]:
    known = [*(stage.id for stage in stages), *(stage.kind for stage in stages)]
    for written in persona.script:
        if written not in known:
            yield unknown(f"script.{written}", written, known, "stage")
    for stage in stages:
        name = next((name for name in (stage.id, stage.kind) if name in persona.script), None)
        if name is None and persona.player == "agent":
            continue
        place = f"script.{name or stage.id}"
        parts = parts_of(stage)
        scripts = parts.scripts
        # A stage that asks no one anything, such as one that draws names, leaves a script nothing to do: no harm.
        if scripts is None and name is not None and (parts.questions is not None or parts.talk is not None):
            yield _no_script(place, stage.kind)
        for problem in () if scripts is None else scripts.problems(None if name is None else persona.script[name]):
            yield replace(problem, where=f"{place}.{problem.where}" if problem.where else place)


def _no_script(where: str, kind: str) -> Problem:
    wrong = f"a stage of the kind {kind} follows no script"
    hint = "Take the script out, and let a model speak for the persona."
    return Problem(where, "a script", "no script for this stage", wrong, hint, code=IN_WORDS)


def _in_mock(persona: Persona, stages: Sequence[StageConfig]) -> Iterator[Problem]:
    if persona.mock is None:
        return
    talks = [stage.id for stage in stages if parts_of(stage).talk is not None]
    for stage_id in persona.mock.stage_lines:
        if stage_id not in talks:
            place = f"mock.stage_lines.{stage_id}"
            yield unknown(place, stage_id, talks, "stage with a conversation")
    known = [stage.id for stage in stages]
    for number, failure in enumerate(persona.mock.failures):
        for index, stage_id in enumerate(failure.stages):
            if stage_id not in known:
                place = f"mock.failures[{number}].stages[{index}]"
                yield unknown(place, stage_id, known, "stage")
