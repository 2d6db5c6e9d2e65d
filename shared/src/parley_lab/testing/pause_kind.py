"""The source of a stage kind from outside: a page that says how long to rest."""

from pathlib import Path
from typing import Final

PAUSE: Final = """
from typing import Literal
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import Block, PageContent, StageKind, heading


class PauseStage(StageConfig):
    kind: Literal["pause"] = "pause"
    minutes: int


class PausePage(PageContent):
    kind: Literal["pause"] = "pause"
    minutes: int


class Pause(StageKind[PauseStage]):
    config_model = PauseStage

    def page(self, stage, view) -> PausePage:
        return PausePage(**heading(stage), minutes=stage.minutes)

    def prompt(self, stage, view, ask=None):
        return [Block(f"A pause of {stage.minutes} minutes.")]

    def example(self):
        return PauseStage(id="pause", minutes=3)


KIND = Pause()
"""

WITHOUT_END: Final = PAUSE.replace("import Block,", "import Block, Blocked,").replace(
    "    def example(self):",
    """    def completion(self, stage, view):
        return Blocked(("The pause has no end.",))

    def example(self):""",
)
"""The same, but no one leaves the page: a run with such a stage is stuck."""


def write_kind(folder: Path, source: str) -> Path:
    """A folder of kinds with this one."""
    (folder / "kinds" / "pause").mkdir(parents=True)
    (folder / "kinds" / "pause" / "__init__.py").write_text(source)
    return folder / "kinds"
