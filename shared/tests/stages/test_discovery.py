"""A folder in `stages/` is a kind; nothing else has to know."""

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import shared.stages

KIND = """
    from typing import Literal
    from shared.contracts.experiment import StageConfig
    from shared.stages.info.rules import Info


    class PauseStage(StageConfig):
        kind: Literal["pause"] = "pause"
        minutes: int


    class Pause(Info):
        config_model = PauseStage


    KIND = Pause()
"""
USE = """
    import sys
    import shared
    shared.__path__.insert(0, sys.argv[1])
    from shared.experiment import load, json_schema
    from shared.stages import kind_of
    text = "{parley: 1, name: x, stages: [{id: p, kind: pause, minutes: 3}], cohorts: [{seats: [{open: true}]}]}"
    stage = load(text).stages[0]
    assert type(kind_of(stage)).__name__ == "Pause" and stage.minutes == 3
    assert "PauseStage" in json_schema()["$defs"]
"""


def with_folder(tmp_path: Path, source: str) -> subprocess.CompletedProcess[str]:
    """Runs USE in a lab whose stages are ours and a folder `pause` with this source."""
    stages = tmp_path / "stages"
    shutil.copytree(Path(shared.stages.__file__).parent, stages, ignore=shutil.ignore_patterns("tests", "__pycache__"))
    (stages / "pause").mkdir()
    (stages / "pause" / "__init__.py").write_text(textwrap.dedent(source))
    command = [sys.executable, "-c", textwrap.dedent(USE), str(tmp_path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_new_folder_is_a_new_kind(tmp_path: Path) -> None:
    done = with_folder(tmp_path, KIND)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("", "the stage folder 'pause' needs KIND"),
        (KIND.replace("KIND = Pause()", "KIND = Pause"), "needs KIND, an instance of its StageKind"),
        (KIND.replace('"pause"', '"rest"'), "must say kind: Literal['pause']"),
        (KIND.replace("(Info)", "(StageKind)").replace("import Info", "import StageKind"), "abstract"),
    ],
)
def test_a_folder_that_is_no_kind_says_what_it_lacks(tmp_path: Path, source: str, complaint: str) -> None:
    done = with_folder(tmp_path, source)

    assert done.returncode != 0
    assert complaint in done.stderr
