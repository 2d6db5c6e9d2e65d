"""What the scripts of personas refer to, and what the kinds of the stages make of them."""

from collections.abc import Iterator, Sequence

from shared.contracts.experiment import Persona, StageConfig
from shared.errors import Problem
from shared.experiment.complaints import one_of
from shared.stages import kind_of


def problems(persona: Persona, stages: Sequence[StageConfig]) -> Iterator[Problem]:
    """Names that lead nowhere, and scripts that their stages cannot read; `where` is relative to the persona."""
    known = [*(stage.id for stage in stages), *(stage.kind for stage in stages)]
    for written in persona.script:
        if written not in known:
            yield Problem(f"script.{written}", repr(written), one_of(written, known, "stage"))
    for stage in stages:
        name = next((name for name in (stage.id, stage.kind) if name in persona.script), None)
        if name is None and persona.player == "agent":
            continue
        place = f"script.{name or stage.id}"
        for problem in kind_of(stage).script_problems(stage, None if name is None else persona.script[name]):
            yield Problem(f"{place}.{problem.where}" if problem.where else place, problem.found, problem.expected)
