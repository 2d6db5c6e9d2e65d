"""Result folders: a new one for every run, and the right one to resume."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from parley import run_folder
from parley.run_folder import Run
from shared.errors import InvalidInput

NOON = datetime(2030, 1, 2, 12, tzinfo=UTC)
FILE = Path("talk.yaml")


def a_run(out: Path, *, hours: int = 0, file_hash: str = "same") -> Run:
    return run_folder.begin(
        out,
        "A talk",
        experiment_id=uuid4(),
        file_hash=file_hash,
        file=FILE,
        model_mode="mock",
        now=NOON + timedelta(hours=hours),
    )


def test_two_runs_of_the_same_second_get_two_folders(tmp_path: Path) -> None:
    assert a_run(tmp_path).folder != a_run(tmp_path).folder


def test_the_latest_unfinished_run_is_resumed(tmp_path: Path) -> None:
    a_run(tmp_path)
    newer = a_run(tmp_path, hours=1)
    run_folder.finish(a_run(tmp_path, hours=2))

    assert run_folder.latest_unfinished(tmp_path, "A talk", FILE, "same") == newer


def test_a_finished_run_is_not_resumed(tmp_path: Path) -> None:
    run_folder.finish(a_run(tmp_path))

    with pytest.raises(InvalidInput, match="nothing to resume"):
        run_folder.latest_unfinished(tmp_path, "A talk", FILE, "same")


def test_a_run_of_another_file_is_refused(tmp_path: Path) -> None:
    a_run(tmp_path, file_hash="other")

    with pytest.raises(InvalidInput, match="another file"):
        run_folder.latest_unfinished(tmp_path, "A talk", FILE, "same")


def test_a_broken_record_is_passed_over(tmp_path: Path) -> None:
    good = a_run(tmp_path)
    broken = a_run(tmp_path, hours=1)
    (broken.folder / run_folder.RECORD).write_text("{")

    assert run_folder.latest_unfinished(tmp_path, "A talk", FILE, "same") == good


def test_a_file_in_place_of_the_results_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("in the way")

    with pytest.raises(InvalidInput, match="--out"):
        run_folder.require_writable(tmp_path / "results")


@pytest.mark.parametrize(
    ("name", "folder"),
    [("Quiet streets", "quiet-streets"), ("Über/../etc", "uber-etc"), ("会議", "experiment"), ("...", "experiment")],
)
def test_names_make_safe_folders(name: str, folder: str) -> None:
    assert run_folder.slug(name) == folder
