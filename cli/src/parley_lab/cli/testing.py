"""A running lab in one fixture, for anybody's tests, and the command line as users call it; only tests import it.

`pytest_plugins = ["parley_lab.cli.testing"]` in a `conftest.py` brings the fixture `lab`.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from parley_lab.formats.testing.workbooks import base_values, task_row, with_setting, xlsx_of

if TYPE_CHECKING:
    from parley_lab.cli.forked import Begun
    from parley_lab.cli.lab_for_tests import ParleyLab

OURS: Final = ("PARLEY_", "LLM_", "OPENAI_", "GATEWAY_", "AGENT_WORKER_", "ORCHESTRATOR_")
COMMAND: Final = [sys.executable, "-m", "parley_lab.cli.main"]

Parley = Callable[..., "subprocess.CompletedProcess[str]"]
BeginParley = Callable[..., "Begun"]
BeginFreshParley = Callable[..., "subprocess.Popen[str]"]

TINY: Final = """
parley: 1
name: A tiny talk
seed: 0
pace: fast
stages:
  - {id: welcome, kind: info, lines: [Welcome]}
  - {id: talk, kind: group_chat}
personas:
  - {id: ada, profile: {name: Ada}, chat: {max_responses: 2}}
  - {id: ben, profile: {name: Ben}, chat: {max_responses: 2}}
cohorts:
  - seats: [{persona: ada}, {persona: ben}]
"""
"""Two agents talk."""

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
    """A file with one agent and so many single questions for a real model."""
    lines = "\n".join(f"      - {{id: q{n}, kind: text, title: Question {n}}}" for n in range(questions))
    return _PAID.format(name=name, questions=lines)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator["ParleyLab"]:
    """A running lab with a scripted model, one for all tests; see `parley_lab.cli.lab_for_tests`."""
    from parley_lab.cli.lab_for_tests import running_lab

    with running_lab(tmp_path_factory.mktemp("lab"), os.environ) as lab:
        yield lab


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """A clean environment with these variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return {**kept, "NO_COLOR": "1", **more}


def written(folder: Path, content: str, name: str = "experiment.yaml") -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def workbook_of_two_permutations(folder: Path) -> None:
    """Write `twice.xlsx`: two experiments of twelve calls each."""
    values = with_setting(base_values(), experiment_id="twice")
    values["constants"].append(["tokens", "[5, 10]"])
    values["interview_prompts"][2] = task_row(
        "t1", llm_text="You own {{tokens}} tokens. How many do you give?", response_options="(0, {{tokens}})",
        var_name="give", var_type="integer", validate_response=1,
    )  # fmt: skip
    (folder / "twice.xlsx").write_bytes(xlsx_of(values))


def line_with(process: "subprocess.Popen[str] | Begun", text: str) -> str:
    """The next line with `text`; a process that ends without one fails the test with its output."""
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if text in line:
            return line
    raise AssertionError(f"{text!r} was never said:\n{''.join(said)}")


def listed(parley: Parley, data_dir: Path) -> dict[str, list[str]]:
    """The listed runs by name: id, state and the rest of the line."""
    result = parley("runs", "--data-dir", data_dir)
    assert result.returncode == 0, result.stderr
    lines = [[part.strip() for part in line.split("  ") if part.strip()] for line in result.stdout.splitlines()]
    return {line[2]: line for line in lines if len(line) > 2}
