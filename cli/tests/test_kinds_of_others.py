"""The example of a kind from outside: it is checked, run, and found when it is installed."""

import csv
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from parley_lab.cli.testing import Parley

EXAMPLE = Path(__file__).parents[2] / "examples" / "dictator"
SOURCE = EXAMPLE / "src"


def installed(site: Path) -> str:
    """A path with the example as an installer leaves it."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    (points,) = project["entry-points"].items()
    folder = site / f"parley_dictator-{project['version']}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = [f"{name} = {value}" for name, value in points[1].items()]
    (folder / "entry_points.txt").write_text("\n".join([f"[{points[0]}]", *lines, ""]))
    return os.pathsep.join((str(site), str(SOURCE)))


def test_the_example_is_played_to_its_end_by_agents(fresh_parley: Parley, data_dir: Path, tmp_path: Path) -> None:
    file = EXAMPLE / "experiment.yaml"

    done = fresh_parley("run", file, "--kinds", SOURCE, "--data-dir", data_dir, "--out", "results")

    assert done.returncode == 0, done.stderr
    (table,) = tmp_path.glob("results/**/participants.csv")
    rows = list(csv.DictReader(table.read_text(encoding="utf-8-sig").splitlines()))
    assert len(rows) == 8
    assert sorted(row["divide.role"] for row in rows) == ["dictator"] * 4 + ["recipient"] * 4
    assert sum(int(row["divide.points"]) for row in rows) == 4 * 10
    for row in rows:
        assert row["divide.role"] != "recipient" or row["divide.points"] == row["divide.given"]


def test_the_example_keeps_its_promises(fresh_parley: Parley) -> None:
    done = fresh_parley("kinds", "check", SOURCE, "--runs", "5")

    assert (done.returncode, done.stdout) == (0, "dictator: all promises are kept.\n")


def test_who_is_asked_after_others_is_told_where_the_prompt_is(fresh_parley: Parley) -> None:
    asked = ("prompt", EXAMPLE / "experiment.yaml", "--kinds", SOURCE, "--stage", "divide", "--persona")
    told = [(who, fresh_parley(*asked, who)) for who in ("bob", "ada")]

    ((who, nothing),) = [(who, one) for who, one in told if one.returncode != 0]
    assert "Nothing is asked of a model here. It has just opened: what others' answers lead to" in nothing.stderr
    assert f"'{who}' is asked on: after." in nothing.stderr


def test_the_example_is_known_when_it_is_installed(fresh_parley: Parley, tmp_path: Path) -> None:
    path = installed(tmp_path)

    told = fresh_parley("kinds", "list", PYTHONPATH=path).stdout
    taken = fresh_parley("kinds", "list", "--kinds", SOURCE, PYTHONPATH=path)

    assert "dictator: the package parley-dictator (dictator:KIND)" in told.splitlines()
    assert fresh_parley("validate", EXAMPLE / "experiment.yaml", PYTHONPATH=path).returncode == 0
    assert taken.returncode == 2
    places = f"the folder {SOURCE / 'dictator'} and the package parley-dictator (dictator:KIND)"
    assert taken.stderr == f"Two kinds of stages are called 'dictator': {places}. Take one of them away.\n"


def test_the_tests_of_the_example_pass(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-c",
        os.devnull,
        "--rootdir",
        str(tmp_path),
        "-p",
        "no:cacheprovider",
    ]

    done = subprocess.run(
        [*command, str(EXAMPLE / "tests")],
        env={**os.environ, "PARLEY_KINDS_DIR": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
