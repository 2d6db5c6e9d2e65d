"""The files of a workbook, written again from its data.json by the command line."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from parley_lab.formats.testing.workbook_runs import Run
from parley_lab.formats.testing.workbooks import base_values, workbook_of
from parley_lab.formats.workbook import compile_workbook

Parley = Callable[..., "subprocess.CompletedProcess[str]"]


def test_files_are_written_again_from_data_json(parley: Parley, tmp_path: Path) -> None:
    (experiment,) = compile_workbook(workbook_of(base_values()))
    data = Run(experiment).write(tmp_path)

    done = parley("workbook", "data", data, "--out", "again")

    assert done.returncode == 0, done.stderr
    assert "again/demo.csv: 12" in done.stdout.splitlines()
    assert len((tmp_path / "again" / "demo.csv").read_text().splitlines()[0].split(",")) > 12


def test_what_is_no_data_json_is_refused_by_its_name(parley: Parley, tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text("[]\n")

    damaged = parley("workbook", "data", "notes.json")
    missing = parley("workbook", "data", "nowhere.json")

    assert (damaged.returncode, missing.returncode) == (2, 2)
    assert "notes.json" in damaged.stderr
    assert "nowhere.json" in missing.stderr
