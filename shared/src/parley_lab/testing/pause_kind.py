"""The source of a stage kind from outside: a page that says how long to rest."""

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
