"""Data that cannot be written cost a line, and neither the lab nor other data."""

import signal
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from parley_lab.cli import run_folder
from parley_lab.cli.testing import NO_SHOW, BeginParley, Parley, line_with, listed, written


@pytest.mark.postgres
@pytest.mark.slow
def test_data_that_cannot_be_written_cost_a_line_and_the_lab_goes_on(
    tmp_path: Path, parley: Parley, begin_parley: BeginParley, data_dir: Path
) -> None:
    file = written(tmp_path, NO_SHOW)
    up = begin_parley("up", "--experiment", file, "--data-dir", data_dir, "--port", "0")
    line_with(up, "Waiting for 1 person")
    (run_id, *_) = next(iter(listed(parley, data_dir).values()))
    (folder,) = (tmp_path / "results" / "a-group").iterdir()
    (folder / "data.json").mkdir()

    ended = parley("end", run_id, "--data-dir", data_dir)
    told = line_with(up, "cannot be written")
    line_with(up, "stays at")
    exported = parley("export", run_id, "--data-dir", data_dir)
    elsewhere = parley("export", run_id, "--data-dir", data_dir, "--out", "other")
    up.send_signal(signal.SIGINT)
    rest = up.communicate()[0]

    assert ended.returncode == elsewhere.returncode == 0, ended.stderr + elsewhere.stderr
    assert f"{folder.relative_to(tmp_path)}: Is a directory" in told
    assert f"parley export {run_id}" in told
    assert (exported.returncode, exported.stderr.count("\n")) == (1, 1)
    assert f"{folder.relative_to(tmp_path)}: Is a directory" in exported.stderr
    assert up.returncode == 1, rest
    assert "Traceback" not in rest


@pytest.mark.postgres
@pytest.mark.slow
def test_a_run_that_ends_says_so_when_its_data_cannot_be_written(
    tmp_path: Path, parley: Parley, begin_parley: BeginParley, data_dir: Path
) -> None:
    run = begin_parley("run", written(tmp_path, NO_SHOW), "--data-dir", data_dir, "--port", "0")
    line_with(run, "Waiting for 1 person")
    (run_id, *_) = next(iter(listed(parley, data_dir).values()))
    (folder,) = (tmp_path / "results" / "a-group").iterdir()
    (folder / "data.json").mkdir()
    run.send_signal(signal.SIGINT)
    rest = run.communicate()[0]

    ended = parley("end", run_id, "--data-dir", data_dir)

    assert (run.returncode, "Traceback" in rest) == (130, False), rest
    assert f"{folder.relative_to(tmp_path)}: Is a directory" in rest
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"'A group' has ended. The data cannot be written to {folder.relative_to(tmp_path)}")


def test_a_folder_that_cannot_be_made_for_a_new_run_is_told(tmp_path: Path) -> None:
    (tmp_path / "a-talk").write_text("in the way")

    with pytest.raises(run_folder.NotWritten, match=rf"cannot be written to {tmp_path / 'a-talk'}.*--out"):
        run_folder.begin(
            tmp_path,
            "A talk",
            experiment_id=uuid4(),
            file_hash="hash",
            file=Path("talk.yaml"),
            model_mode="mock",
            now=datetime(2030, 1, 2, tzinfo=UTC),
        )
