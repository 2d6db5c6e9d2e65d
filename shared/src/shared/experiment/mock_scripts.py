"""What the mock script of a persona refers to: stages."""

from collections.abc import Iterator, Sequence

from shared.contracts.experiment import Persona, StageConfig
from shared.errors import Problem
from shared.experiment.complaints import one_of
from shared.stages import kind_of


def problems(persona: Persona, stages: Sequence[StageConfig]) -> Iterator[Problem]:
    """Names that lead nowhere; `where` is relative to the persona."""
    if persona.mock is None:
        return
    talks = [stage.id for stage in stages if kind_of(stage).thread == "conversation"]
    for stage_id in persona.mock.stage_lines:
        if stage_id not in talks:
            place = f"mock.stage_lines.{stage_id}"
            yield Problem(place, repr(stage_id), one_of(stage_id, talks, "stage with a conversation"))
    known = [stage.id for stage in stages]
    for number, failure in enumerate(persona.mock.failures):
        for index, stage_id in enumerate(failure.stages):
            if stage_id not in known:
                place = f"mock.failures[{number}].stages[{index}]"
                yield Problem(place, repr(stage_id), one_of(stage_id, known, "stage"))
