"""A folder in `stages/` is a kind, and so is what others bring; nothing else has to know."""

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import parley_lab.kinds.stages
from parley_lab.base.errors import SettingsInvalid
from parley_lab.kinds import StageKind
from parley_lab.kinds.stages import _OURS, _PACKAGE, _in_folder, gather
from parley_lab.testing.pause_kind import PAUSE

Gathered = Callable[[Path], StageKind[Any]]

USE = """
    import sys
    import parley_lab.kinds
    parley_lab.kinds.__path__[:0] = sys.argv[1:]
    from pydantic import TypeAdapter
    from parley_lab.design import load, json_schema
    from parley_lab.kinds import Done, Parts
    from parley_lab.kinds.kind import to_read
    from parley_lab.kinds.stages import AnyPage, kind_of, parts_of
    from parley_lab.testing.views import own
    from parley_lab.testing.thread_world import a_member
    text = "{parley: 1, name: x, stages: [{id: p, kind: pause, minutes: 3}], cohorts: [{seats: [{open: true}]}]}"
    stage, view = load(text).stages[0], own(a_member("ann"))
    kind, parts = kind_of(stage), parts_of(stage)
    assert type(kind).__name__ == "Pause" and stage.minutes == 3
    assert "PauseStage" in json_schema()["$defs"]
    page = kind.page(stage, view)
    assert TypeAdapter(AnyPage).validate_json(page.model_dump_json()) == page
    assert "PausePage" in TypeAdapter(AnyPage).json_schema()["$defs"]
    assert (parts.questions, parts.has_thread, parts.data.columns()) == (None, False, [])
    assert kind.completion(stage, view) == Done()
    assert "A pause of 3 minutes." in to_read(kind, stage, view)
"""


def used(*ours: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run USE in a separate lab; `ours` has a folder `stages` that comes before the lab's."""
    command = [sys.executable, "-c", textwrap.dedent(USE), *map(str, ours)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


@pytest.fixture
def gathered() -> Iterator[Gathered]:
    """The kind `pause` of a folder of kinds, gathered in this process, which keeps its own kinds."""
    yield lambda folder: gather([*_OURS, *_in_folder(folder)])["pause"][0]
    for name in [name for name in sys.modules if name.partition(".")[0] == _PACKAGE]:
        del sys.modules[name]


def package(folder: Path, source: str) -> Path:
    """The folder in which the package has been written."""
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(textwrap.dedent(source))
    return folder.parent


def distribution(site: Path, name: str, module: str, source: str, *, kind: str = "pause") -> Path:
    """A package with an entry point, as an installer leaves it behind."""
    package(site / module, source)
    (site / f"{module}-1.0.dist-info").mkdir()
    (site / f"{module}-1.0.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    points = f"[parley.kinds]\n{kind} = {module}:KIND\n"
    (site / f"{module}-1.0.dist-info" / "entry_points.txt").write_text(points)
    return site


def test_a_new_folder_of_the_lab_is_a_new_kind(tmp_path: Path) -> None:
    stages = tmp_path / "stages"
    shutil.copytree(
        Path(parley_lab.kinds.stages.__file__).parent, stages, ignore=shutil.ignore_patterns("tests", "__pycache__")
    )
    package(stages / "pause", PAUSE)

    done = used(tmp_path)

    assert done.returncode == 0, done.stderr


def test_a_package_in_the_folder_for_kinds_is_a_new_kind(tmp_path: Path) -> None:
    done = used(PARLEY_KINDS_DIR=str(package(tmp_path / "pause", PAUSE)))

    assert done.returncode == 0, done.stderr


def test_a_kind_of_several_modules_imports_them_by_their_place(tmp_path: Path, gathered: Gathered) -> None:
    package(tmp_path / "pause", "from .rules import KIND")
    (tmp_path / "pause" / "rules.py").write_text(textwrap.dedent(PAUSE))

    assert type(gathered(tmp_path)).__module__ == "parley_kinds.pause.rules"


def test_a_kind_may_have_names_of_its_own_that_are_private(tmp_path: Path, gathered: Gathered) -> None:
    own = PAUSE.replace("    config_model", "    _tournament_length = 3\n    config_model")

    assert type(gathered(package(tmp_path / "pause", own))).__name__ == "Pause"


def test_an_installed_package_with_an_entry_point_is_a_new_kind(tmp_path: Path) -> None:
    done = used(PYTHONPATH=str(distribution(tmp_path, "parley-pause", "parley_pause", PAUSE)))

    assert done.returncode == 0, done.stderr


def test_a_taken_name_is_refused_with_both_places(tmp_path: Path) -> None:
    folder = package(tmp_path / "kinds" / "pause", PAUSE)
    site = distribution(tmp_path / "site", "parley-pause", "parley_pause", PAUSE)

    done = used(PARLEY_KINDS_DIR=str(folder), PYTHONPATH=str(site))

    assert done.returncode != 0
    places = f"the folder {folder / 'pause'} and the package parley-pause (parley_pause:KIND)"
    assert f"Two kinds of stages are called 'pause': {places}" in done.stderr


def test_no_one_takes_the_name_of_a_kind_of_the_lab(tmp_path: Path, gathered: Gathered) -> None:
    with pytest.raises(SettingsInvalid) as refused:
        gathered(package(tmp_path / "info", PAUSE))

    ours = Path(parley_lab.kinds.stages.__file__).parent / "info"
    assert f"called 'info': the folder {ours} and the folder {tmp_path / 'info'}" in str(refused.value)


@pytest.mark.parametrize(
    ("folder", "complaint"),
    [("nowhere", "There is no folder"), ("pause", "is a kind itself; name the folder in which it is")],
)
def test_a_wrong_folder_for_kinds_is_refused(tmp_path: Path, gathered: Gathered, folder: str, complaint: str) -> None:
    package(tmp_path / "pause", PAUSE)

    with pytest.raises(SettingsInvalid) as refused:
        gathered(tmp_path / folder)

    assert complaint in str(refused.value)


PAGE_OF_ANOTHER_KIND = PAUSE.replace(
    "class PausePage(PageContent):\n    kind", "class PausePage(PageContent):\n    sort"
)

MISSPELT = PAUSE.replace(
    "    def example", "    def compeltion(self, stage, view):\n        return None\n\n    def example"
)
STRANGE = PAUSE.replace("    config_model", "    tournament_length = 3\n    config_model")


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("", "needs KIND, an instance of its StageKind; it has None"),
        (PAUSE.replace("KIND = Pause()", "KIND = Pause"), "needs KIND, an instance of its StageKind"),
        (PAUSE.replace("config_model = PauseStage", ""), "needs a config_model that is a StageConfig"),
        (PAUSE.replace('"pause"', '"rest"', 1), "its config must say kind: Literal['pause']"),
        (PAUSE.replace(") -> PausePage:", "):"), "Pause.page must say which PageContent it returns"),
        (PAUSE.replace(") -> PausePage:", ") -> PageContent:"), "Pause.page must say which PageContent it returns"),
        (PAGE_OF_ANOTHER_KIND, "its page must say kind: Literal['pause']"),
        (PAUSE.replace("def prompt", "def describe"), "abstract"),
        (MISSPELT, "`Pause.compeltion` is no part of the interface; did you mean `completion`?"),
        (STRANGE, "`Pause.tournament_length` is no part of the interface; begin a name of your own with an underscore"),
        ("a = 1\nKIND = = 2", "pause/__init__.py, line 2)"),
        ("import nothing_like_it", "cannot be loaded. ModuleNotFoundError: No module named 'nothing_like_it'"),
    ],
)
def test_what_is_no_kind_says_what_it_lacks(tmp_path: Path, gathered: Gathered, source: str, complaint: str) -> None:
    with pytest.raises(SettingsInvalid) as refused:
        gathered(package(tmp_path / "pause", source))

    assert f"The kind 'pause' in the folder {tmp_path / 'pause'}" in str(refused.value)
    assert complaint in str(refused.value)


def test_a_lab_with_what_is_no_kind_does_not_load(tmp_path: Path) -> None:
    done = used(PARLEY_KINDS_DIR=str(package(tmp_path / "pause", MISSPELT)))

    assert done.returncode != 0
    assert "did you mean `completion`?" in done.stderr
