"""The page kind that the documentation has in full: it keeps its promises and is played, and little is to be read."""

import csv
from pathlib import Path

import pytest

from parley_lab.cli.testing import Parley

ROOT = Path(__file__).parents[2]
MOST_LINES = 300
EXPERIMENT = """\
parley: 1
name: Pledges
pace: fast
stages: [{id: pledge, kind: pledge, most: 5}]
personas: [{id: ana, text: A teacher.}, {id: ben, text: A baker.}]
cohorts: [{seats: [{persona: ana}, {persona: ben}]}]
"""


def section() -> str:
    page = (ROOT / "docs" / "kinds.md").read_text(encoding="utf-8")
    return page.partition("## A page kind, whole\n")[2].partition("\n## ")[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of kinds with the one of the page."""
    source = section().partition("```python\n")[2].partition("```")[0]
    package = tmp_path / "kinds" / "pledge"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(source, encoding="utf-8")
    return package.parent


def test_it_keeps_its_promises(fresh_parley: Parley, folder: Path) -> None:
    done = fresh_parley("kinds", "check", folder, "--runs", "5")

    assert (done.returncode, done.stdout) == (0, "pledge: all promises are kept.\n")


def test_agents_play_it_to_its_end(fresh_parley: Parley, folder: Path, data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "pledges.yaml").write_text(EXPERIMENT)

    done = fresh_parley("run", "pledges.yaml", "--kinds", folder, "--data-dir", data_dir, "--out", "results")

    assert done.returncode == 0, done.stderr
    (table,) = tmp_path.glob("results/**/participants.csv")
    rows = list(csv.DictReader(table.read_text(encoding="utf-8-sig").splitlines()))
    assert len(rows) == 2
    assert all(0 <= int(row["pledge.pledge"]) <= 5 for row in rows)


def test_what_is_to_be_read_for_it_is_short() -> None:
    core = ROOT / "shared" / "src" / "parley_lab" / "kinds" / "page_kind.py"

    assert "`kinds/page_kind.py`" in section()
    assert len(section().splitlines()) + len(core.read_text(encoding="utf-8").splitlines()) < MOST_LINES
