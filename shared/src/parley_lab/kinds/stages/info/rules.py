"""The rules of a page to read."""

from typing import Literal

from parley_lab.contracts.media import Medium, ShownMedium, in_words
from parley_lab.kinds import Ask, Block, OwnView, PageContent, StageKind, heading
from parley_lab.kinds.stages.info.config import InfoStage


class InfoPage(PageContent):
    kind: Literal["info"] = "info"
    lines: list[str]
    """The text in markdown, line by line."""
    media: list[ShownMedium]
    """What is shown below the text."""


class Info(StageKind[InfoStage]):
    config_model = InfoStage
    is_only_read = True

    def page(self, stage: InfoStage, view: OwnView) -> InfoPage:
        return InfoPage(**heading(stage), lines=list(stage.lines), media=[one.shown for one in stage.media])

    def prompt(self, stage: InfoStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        return [Block("\n".join([*stage.lines, *(in_words(one.shown) for one in stage.media)]))]

    def example(self) -> InfoStage:
        return InfoStage(
            id="welcome",
            name="Welcome",
            lines=("# A talk about the night bus", "You will talk with **three others** for about ten minutes."),
            media=(Medium(link="https://example.org/timetable", alt="The timetable of the night bus"),),
        )


KIND = Info()
