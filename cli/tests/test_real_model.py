"""A small study with a real model, however small, slow and often wrong: it completes without losing members."""

import csv
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Parley = Callable[..., "subprocess.CompletedProcess[str]"]

URL = os.environ.get("PARLEY_TEST_MODEL_URL", "")

pytestmark = [
    pytest.mark.real_model,
    pytest.mark.postgres,
    # One call of a slow model may take two minutes, and it is asked about a dozen times.
    pytest.mark.timeout(1_800),
    pytest.mark.skipif(not URL, reason="PARLEY_TEST_MODEL_URL names no model"),
]

STUDY = """
parley: 1
name: A small study
seed: 1
model_mode: real
stages:
  - id: before
    kind: survey
    questions:
      - {id: free, kind: scale, title: "Should the night bus be free?", lower: 1, upper: 7}
      - {id: why, kind: text, title: "Why?", min_chars: 10, max_chars: 200}
  - {id: talk, kind: group_chat}
  - {id: game, kind: matrix_game, horizon: {type: fixed, rounds: 2}, on_invalid: exclude_round}
  - id: after
    kind: survey
    ask: sequential
    questions:
      - {id: free, kind: scale, title: "And now: should it be free?", lower: 1, upper: 7}
      - {id: heard, kind: check, title: "I was heard."}
personas:
  - {id: ana, profile: {name: Ana}, text: You drive a taxi at night., chat: {max_responses: 1}}
  - {id: ben, profile: {name: Ben}, text: You work late shifts and have no car., chat: {max_responses: 1}}
cohorts:
  - seats: [{persona: ana}, {persona: ben}]
"""


def test_a_small_study_with_a_real_model_loses_no_one(tmp_path: Path, parley: Parley, data_dir: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(STUDY, encoding="utf-8")
    key = os.environ.get("OPENAI_API_KEY", "none")

    result = parley("run", file, "--data-dir", data_dir, OPENAI_BASE_URL=URL, OPENAI_API_KEY=key)

    told = result.stdout + result.stderr
    # 1: some answers may be missing, which is told, and is no loss of anybody.
    assert result.returncode == 0 or (result.returncode == 1 and "missing" in result.stdout), told
    assert "2 completed" in result.stdout, told
    (folder,) = (tmp_path / "results" / "a-small-study").iterdir()
    with (folder / "participants.csv").open(newline="", encoding="utf-8-sig") as participants:
        assert [row["status"] for row in csv.DictReader(participants)] == ["completed"] * 2
    with (folder / "answers.csv").open(newline="", encoding="utf-8-sig") as answers:
        given = {row["field"]: row for row in csv.DictReader(answers) if row["stage"] == "before"}
    assert {row["status"] for row in given.values()} <= {"valid", "invalid"}
    assert set(given) == {"free", "why"}
