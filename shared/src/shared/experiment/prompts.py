"""What the prompts of a persona refer to: stages, and the questions of show-if rules."""

from collections.abc import Iterator, Mapping, Sequence

from shared import rules
from shared.contracts.experiment import Persona, StageConfig
from shared.contracts.prompt_items import ALL_STAGES, THIS_STAGE, Item, StageContext, walk
from shared.errors import Problem
from shared.experiment.complaints import one_of
from shared.stages import kind_of, kinds


def problems(persona: Persona, stages: Sequence[StageConfig]) -> Iterator[Problem]:
    """Names that lead nowhere; `where` is relative to the persona."""
    by_id = {stage.id: stage for stage in stages}
    for key, items in persona.prompts.items():
        if key not in by_id and key not in kinds():
            yield Problem(f"prompts.{key}", repr(key), one_of(key, [*by_id, *kinds()], "stage or kind"))
        for where, item in walk(items, f"prompts.{key}"):
            yield from _item(item, where, by_id, key)


def _item(item: Item, where: str, by_id: Mapping[str, StageConfig], here: str) -> Iterator[Problem]:
    if isinstance(item, StageContext) and item.stage not in (THIS_STAGE, ALL_STAGES, *by_id):
        expected = one_of(item.stage, [THIS_STAGE, ALL_STAGES, *by_id], "stage")
        yield Problem(f"{where}.stage", repr(item.stage), expected)
    if item.show_if is None:
        return
    for place, comparison in rules.comparisons(item.show_if, f"{where}.show_if"):
        target = comparison.stage or here
        if target in by_id:
            yield from _question(comparison.question, f"{place}.question", by_id[target])
        elif comparison.stage is not None:
            yield Problem(f"{place}.stage", repr(comparison.stage), one_of(comparison.stage, by_id, "stage"))


def _question(question: str, where: str, stage: StageConfig) -> Iterator[Problem]:
    """A question is known by its columns: one of its name, or several that begin with it."""
    columns = [column.name for column in kind_of(stage).columns(stage) if not column.derived]
    if not any(name == question or name.startswith(f"{question}.") for name in columns):
        yield Problem(where, repr(question), f"a question of the stage {stage.id!r}")
