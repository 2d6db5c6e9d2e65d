"""Result folders: a new one for every run, and the right one to resume."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.cli import run_folder
from parley_lab.cli.run_folder import Run, Wanted

NOON = datetime(2030, 1, 2, 12, tzinfo=UTC)
FILE = Path("talk.yaml")


def a_run(out: Path, *, hours: int = 0, file_hash: str = "same", name: str = "A talk") -> Run:
    return run_folder.begin(
        out,
        name,
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

    assert run_folder.latest_unfinished(tmp_path, {"A talk": Wanted("same")}, FILE) == {"A talk": newer}


def test_a_finished_run_is_not_resumed(tmp_path: Path) -> None:
    run_folder.finish(a_run(tmp_path))

    with pytest.raises(InvalidInput, match=r"nothing to resume.*--retry-failed"):
        run_folder.latest_unfinished(tmp_path, {"A talk": Wanted("same")}, FILE)


def test_a_finished_run_is_gone_on_with_when_it_is_wanted(tmp_path: Path) -> None:
    finished = a_run(tmp_path)
    run_folder.finish(finished)

    found = run_folder.latest_unfinished(tmp_path, {"A talk": Wanted("same")}, FILE, or_finished=True)["A talk"]

    assert found.folder == finished.folder
    assert run_folder.go_on(found) == finished


def test_a_run_of_another_file_is_refused(tmp_path: Path) -> None:
    a_run(tmp_path, file_hash="other")

    with pytest.raises(InvalidInput, match="another file"):
        run_folder.latest_unfinished(tmp_path, {"A talk": Wanted("same")}, FILE)


def test_a_later_run_of_another_file_of_the_same_name_is_passed_over(tmp_path: Path) -> None:
    own = a_run(tmp_path)
    a_run(tmp_path, hours=1, file_hash="other")

    assert run_folder.latest_unfinished(tmp_path, {"A talk": Wanted("same")}, FILE) == {"A talk": own}


def two(out: Path, *, hours: int) -> tuple[Run, Run]:
    """Two runs that were begun together."""
    return a_run(out, hours=hours, name="x_1", file_hash="one"), a_run(out, hours=hours, name="x_2", file_hash="two")


BOTH = {"x_1": Wanted("one"), "x_2": Wanted("two")}


def test_runs_that_were_begun_together_are_resumed_together(tmp_path: Path) -> None:
    two(tmp_path, hours=0)
    first, second = two(tmp_path, hours=1)
    run_folder.finish(first)

    found = run_folder.latest_unfinished(tmp_path, BOTH, FILE)

    assert {name: run.folder for name, run in found.items()} == {"x_1": first.folder, "x_2": second.folder}


def test_a_run_that_was_not_recorded_is_no_older_one(tmp_path: Path) -> None:
    for older in two(tmp_path, hours=0):
        run_folder.finish(older)
    only = a_run(tmp_path, hours=1, name="x_1", file_hash="one")

    assert run_folder.latest_unfinished(tmp_path, BOTH, FILE) == {"x_1": only}


def test_names_that_share_a_folder_are_told_apart(tmp_path: Path) -> None:
    long = "a" * 70
    first = a_run(tmp_path, name=f"{long}_1", file_hash="one")
    second = a_run(tmp_path, name=f"{long}_2", file_hash="two")

    found = run_folder.latest_unfinished(tmp_path, {f"{long}_1": Wanted("one"), f"{long}_2": Wanted("two")}, FILE)

    assert found == {f"{long}_1": first, f"{long}_2": second}


def test_a_broken_record_is_passed_over(tmp_path: Path) -> None:
    good = a_run(tmp_path)
    broken = a_run(tmp_path, hours=1)
    (broken.folder / run_folder.RECORD).write_text("{")

    assert run_folder.latest_unfinished(tmp_path, {"A talk": Wanted("same")}, FILE) == {"A talk": good}


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
