"""`parley prompt`: the prompt of a persona of a file, without a lab."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from parley_lab.base import seeds
from parley_lab.base.errors import NotFound
from parley_lab.cli.experiment_file import read_file
from parley_lab.cli.library import look_up
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.prompts import Prompt
from parley_lab.kinds.stages import parts_of
from parley_lab.prompt_builder.examples import example_context
from parley_lab.prompt_builder.previews import as_asked
from parley_lab.prompt_builder.rendering import render

_NO_EXPERIMENT = UUID(int=0)
"""Prompts hold no ids; the paths, which decide the draws, are those of the experiment."""


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """A prompt as text; `drawn_seed`: the seed that was drawn for it, None when the caller gave one."""

    text: str
    drawn_seed: int | None


def shown(
    file: Path, *, persona_id: str, stage_id: str, treatment_id: str | None, seed: int | None, data_dir: Path
) -> ShownPrompt:
    """The messages and the schema of the reply, as text; reads the library in `data_dir` if the file needs it.

    Raises:
        InvalidInput: the file has problems.
        NotFound: no seat has this persona, there is no such stage, or the stage asks models nothing.
    """
    experiment_file = read_file(file)
    experiment = experiment_file.sketch()
    if experiment_file.named:
        experiment = experiment_file.experiment(look_up(data_dir, experiment_file.named))
    given = experiment.seed if seed is None else seed
    used = seeds.fresh() if given is None else given

    def prompt_of(stage: str) -> Prompt:
        context = example_context(
            experiment, _NO_EXPERIMENT, seed=used, persona_id=persona_id, stage_id=stage, treatment_id=treatment_id
        )
        return render(as_asked(context))

    try:
        prompt = prompt_of(stage_id)
    except NotFound as error:
        if stage_id not in [stage.id for stage in experiment.stages]:
            raise
        others = [stage.id for stage in experiment.stages if _is_asked(prompt_of, stage.id)]
        elsewhere = f" {persona_id!r} is asked on: {', '.join(others)}." if others else ""
        raise NotFound(f"{error.message}{_later(experiment.stages, stage_id)}{elsewhere}") from error
    return ShownPrompt(_as_text(prompt), used if given is None else None)


def _later(stages: Sequence[StageConfig], stage_id: str) -> str:
    """That answers of others may lead to questions, where the kind makes a state of them."""
    is_game = any(parts_of(one).state is not None for one in stages if one.id == stage_id)
    return " It has just opened: what others' answers lead to is in model_calls.csv of a run." if is_game else ""


def _is_asked(prompt_of: Callable[[str], Prompt], stage_id: str) -> bool:
    try:
        prompt_of(stage_id)
    except NotFound:
        return False
    return True


def _as_text(prompt: Prompt) -> str:
    parts = [f"=== {message.role} ===\n\n{message.content}\n" for message in prompt.messages]
    if prompt.is_text:
        return "\n".join(parts)
    schema = json.dumps(prompt.reply_schema, ensure_ascii=False, indent=2)
    return "\n".join([*parts, f"=== schema of the reply ({prompt.reply_name}) ===\n\n{schema}"])
