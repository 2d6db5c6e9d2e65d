"""A folder that begins with ~ is below the home folder, also where the shell leaves the sign as it is."""

from pathlib import Path

import pytest

from parley_lab.cli.directory import DataDirectory
from parley_lab.cli.testing import TINY, Parley, written


def test_a_lab_in_the_home_folder_is_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert DataDirectory(Path("~/lab")).postgres == tmp_path / "lab" / "postgres"


@pytest.mark.parametrize(
    "words", [("runs", "--data-dir=~/here"), ("run", "experiment.yaml", "--resume", "--out=~/here")]
)
def test_a_folder_below_the_home_folder_is_found_as_the_option_writes_it(
    parley: Parley, tmp_path: Path, words: tuple[str, ...]
) -> None:
    written(tmp_path, TINY)

    refused = parley(*words, HOME=str(tmp_path / "home"))

    assert refused.returncode == 2
    assert f"in {tmp_path / 'home' / 'here'}" in refused.stderr
