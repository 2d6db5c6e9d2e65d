"""The key of Anthropic alone is enough to run a study with Claude."""

import asyncio
import csv
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from parley_lab.testing.fake_endpoint import FakeEndpoint

pytestmark = pytest.mark.postgres

Parley = Callable[..., "CompletedProcess[str]"]
KEY = "sk-ant-0123456789-abcdef"
STUDY = """
parley: 1
name: With Claude
seed: 0
stages:
  - {id: talk, kind: group_chat}
  - id: page
    kind: survey
    questions: [{id: view, kind: scale, title: "How is it?", lower: 1, upper: 5}]
personas:
  - {id: ann, model: {temperature: 0.4}, chat: {max_responses: 1}}
  - {id: bob, chat: {max_responses: 1}}
cohorts: [{seats: [{persona: ann}, {persona: bob}]}]
"""


async def test_one_option_and_one_key_run_a_study_with_claude(parley: Parley, tmp_path: Path, data_dir: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    async with FakeEndpoint() as claude:
        ran = await asyncio.to_thread(
            parley,
            *("run", "study.yaml", "--model", "claude-haiku-4-5", "--data-dir", data_dir),
            ANTHROPIC_API_KEY=KEY,
            ANTHROPIC_BASE_URL=claude.base_url.removesuffix("/v1"),
        )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert {call["model"] for call in claude.calls} == {"claude-haiku-4-5"}
    assert {call.get("temperature") for call in claude.calls} == {0.4, None}
    (folder,) = (tmp_path / "results" / "with-claude").iterdir()
    with (folder / "model_calls.csv").open(encoding="utf-8", newline="") as lines:
        calls = list(csv.DictReader(lines))
    assert {(call["provider"], call["model"], call["status"]) for call in calls} == {
        ("anthropic", "claude-haiku-4-5", "ok")
    }
    with (folder / "participants.csv").open(encoding="utf-8", newline="") as lines:
        assert all(row["page.view"] in set("12345") for row in csv.DictReader(lines))


def test_a_model_for_personas_that_name_theirs_is_refused(parley: Parley, tmp_path: Path, data_dir: Path) -> None:
    written = STUDY.replace("temperature: 0.4", "model: gpt-5").replace("id: bob,", "id: bob, model: {model: gpt-5},")
    (tmp_path / "study.yaml").write_text(written)

    ran = parley("run", "study.yaml", "--model", "claude-haiku-4-5", "--data-dir", data_dir, ANTHROPIC_API_KEY=KEY)

    assert ran.returncode == 2
    assert "every persona of 'With Claude' names its own model" in " ".join((ran.stdout + ran.stderr).split())


def test_without_its_key_the_run_says_what_to_set(parley: Parley, tmp_path: Path, data_dir: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)

    ran = parley("run", "study.yaml", "--model", "claude-haiku-4-5", "--data-dir", data_dir)

    assert ran.returncode == 2
    assert "ANTHROPIC_API_KEY is not set" in " ".join((ran.stdout + ran.stderr).split())
