"""Files beside an experiment file: checked, stored with its run, deleted with it."""

from hashlib import sha256
from pathlib import Path

import pytest

from parley_lab.cli.testing import Parley, written

PNG = b"\x89PNG\r\n\x1a\nbus"
STUDY = """
parley: 1
name: Pictures
stages:
  - id: look
    kind: info
    lines: [Look.]
    media:
      - {file: FILE, alt: A bus at night}
  - {id: ask, kind: survey, questions: [{id: why, kind: text, title: "Why?"}]}
personas: [{id: ana}]
cohorts: [{seats: [{persona: ana}]}]
"""


def study(folder: Path, file: str) -> Path:
    (folder / "pictures").mkdir()
    (folder / "pictures" / "bus.png").write_bytes(PNG)
    (folder.parent / "outside.png").write_bytes(PNG)
    return written(folder, STUDY.replace("FILE", file))


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("pictures/boss.png", "pictures/bus.png (did you mean that?), or another file"),
        ("../outside.png", "Write a file in the folder of the experiment file or below"),
        ("/etc/passwd.png", "Write a file in the folder of the experiment file or below"),
        ("bus.svg", "since svg may hold programs"),
    ],
)
def test_a_file_that_cannot_be_shown_is_told_at_its_place(tmp_path: Path, parley: Parley, file: str, told: str) -> None:
    answer = parley("validate", study(tmp_path, file))

    assert answer.returncode != 0
    assert told in " ".join(answer.stderr.split())
    assert "line 9, stages[0] (look).media[0].file" in " ".join(answer.stderr.split())


def test_a_file_that_is_too_large_is_told(tmp_path: Path, parley: Parley) -> None:
    answer = parley("validate", study(tmp_path, "pictures/bus.png"), PARLEY_MAX_FILE_BYTES="5")

    assert "11 bytes cannot be used here. Write at most 5 (PARLEY_MAX_FILE_BYTES)" in " ".join(answer.stderr.split())


def test_an_agent_is_shown_the_words(tmp_path: Path, parley: Parley) -> None:
    answer = parley("prompt", study(tmp_path, "pictures/bus.png"), "--persona", "ana", "--stage", "ask")

    assert "Look.\n[image: A bus at night]" in answer.stdout, answer.stdout + answer.stderr


@pytest.mark.postgres
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_run_has_its_files_and_its_deletion_takes_them_away(tmp_path: Path, parley: Parley, data_dir: Path) -> None:
    ran = parley("run", study(tmp_path, "pictures/bus.png"), "--data-dir", data_dir)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (folder,) = (tmp_path / "results" / "pictures").iterdir()
    run = folder.name.rpartition("-")[2]

    discarded = parley("discard", run, "--data-dir", data_dir)

    assert discarded.returncode == 0, discarded.stdout + discarded.stderr
    assert (folder / "data.json").exists()
    named = written(tmp_path, STUDY.replace("FILE", f"{sha256(PNG).hexdigest()}.png"), "named.yaml")
    again = parley("run", named, "--data-dir", data_dir)
    assert again.returncode != 0
    assert "Files of the experiment are missing." in again.stdout + again.stderr
