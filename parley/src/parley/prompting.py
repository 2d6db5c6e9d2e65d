"""`parley prompt`: what a persona of a file would be shown, without a lab."""

import json
from pathlib import Path
from uuid import UUID

from parley.experiment_file import read_file
from parley.library import look_up
from prompt_builder.examples import example_context
from prompt_builder.previews import as_asked
from prompt_builder.rendering import render
from shared.contracts.prompts import Prompt

_NO_EXPERIMENT = UUID(int=0)
"""Ids are in no prompt; paths, which decide what is drawn, are those of the experiment."""


def shown(file: Path, *, persona_id: str, stage_id: str, treatment_id: str | None, data_dir: Path) -> str:
    """The messages and the schema of the reply, as text; the library of `data_dir` is looked at if the file needs it.

    Raises:
        InvalidInput: the file has problems.
        NotFound: no such persona sits in it, there is no such stage, or nothing is asked of a model there.
    """
    experiment_file = read_file(file)
    experiment = experiment_file.sketch()
    if experiment_file.named:
        experiment = experiment_file.experiment(look_up(data_dir, experiment_file.named))
    context = example_context(
        experiment, _NO_EXPERIMENT, persona_id=persona_id, stage_id=stage_id, treatment_id=treatment_id
    )
    return _as_text(render(as_asked(context)))


def _as_text(prompt: Prompt) -> str:
    parts = [f"=== {message.role} ===\n\n{message.content}\n" for message in prompt.messages]
    schema = json.dumps(prompt.reply_schema, ensure_ascii=False, indent=2)
    return "\n".join([*parts, f"=== schema of the reply ({prompt.reply_name}) ===\n\n{schema}"])
