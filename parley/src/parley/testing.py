"""The command line as its users call it, for tests; imported by tests only."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from formats.testing.workbooks import base_values, task_row, with_setting, xlsx_of

OURS: Final = ("PARLEY_", "LLM_", "OPENAI_", "GATEWAY_", "AGENT_WORKER_", "ORCHESTRATOR_")
COMMAND: Final = [sys.executable, "-m", "parley.cli"]

Parley = Callable[..., "subprocess.CompletedProcess[str]"]
BeginParley = Callable[..., "subprocess.Popen[str]"]

NO_SHOW: Final = """
parley: 1
name: A group
seed: 0
stages:
  - {id: welcome, kind: info, lines: [Welcome]}
  - {id: bye, kind: info, lines: [Bye], progress: {wait_for_all: true}}
personas: [{id: ada, profile: {name: Ada}}]
cohorts:
  - seats: [{persona: ada}, {open: true}]
"""
"""An agent waits for a person who does not come."""

MANY: Final = """
parley: 1
name: Many answers
seed: 0
model_mode: real
stages:
  - {id: q, kind: survey, ask: sequential, questions: [
      {id: view, kind: scale, title: Your view, lower: 1, upper: 7}, {id: yes, kind: check, title: Yes}]}
personas: [{id: ada, profile: {name: Ada}}]
cohorts: [{seats: [{persona: ada, count: 12}]}]
"""
"""Twelve agents with two questions each: 24 calls."""

_PAID: Final = """
parley: 1
name: {name}
seed: 0
model_mode: real
stages:
  - id: page
    kind: survey
    ask: sequential
    questions:
{questions}
personas: [{{id: ada, profile: {{name: Ada}}}}]
cohorts: [{{seats: [{{persona: ada}}]}}]
"""


def paid(name: str, *, questions: int = 40) -> str:
    """A file of one agent who is asked so many questions, one by one, by a real model."""
    lines = "\n".join(f"      - {{id: q{n}, kind: text, title: Question {n}}}" for n in range(questions))
    return _PAID.format(name=name, questions=lines)


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """A clean environment with these variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return {**kept, "NO_COLOR": "1", **more}


def written(folder: Path, content: str, name: str = "experiment.yaml") -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def workbook_of_two_permutations(folder: Path) -> None:
    """Writes `twice.xlsx`: two experiments of twelve calls each."""
    values = with_setting(base_values(), experiment_id="twice")
    values["constants"].append(["tokens", "[5, 10]"])
    values["interview_prompts"][2] = task_row(
        "t1", llm_text="You own {{tokens}} tokens. How many do you give?", response_options="(0, {{tokens}})",
        var_name="give", var_type="integer", validate_response=1,
    )  # fmt: skip
    (folder / "twice.xlsx").write_bytes(xlsx_of(values))


def line_with(process: "subprocess.Popen[str]", text: str) -> str:
    """The next line in which `text` stands; a process that ends without one fails the test with all it said."""
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if text in line:
            return line
    raise AssertionError(f"{text!r} was never said:\n{''.join(said)}")


def listed(parley: Parley, data_dir: Path) -> dict[str, list[str]]:
    """The runs by their names: id, state and the rest of their lines."""
    result = parley("runs", "--data-dir", data_dir)
    assert result.returncode == 0, result.stderr
    lines = [[part.strip() for part in line.split("  ") if part.strip()] for line in result.stdout.splitlines()]
    return {line[2]: line for line in lines if len(line) > 2}
