"""The rules of a stage that reveals: a page to read, made of what it reads."""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from parley_lab.base.errors import Problem
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import Ask, Block, OwnView, PageContent, Parts, StageKind, heading
from parley_lab.kinds.sentences import LabWords
from parley_lab.kinds.stages.reveal import config, showing
from parley_lab.kinds.stages.reveal.config import Revealed, RevealStage


class RevealedLine(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)

    label: str
    """The question, or what the value is."""
    label_words: LabWords | None
    """The label as a code, where the lab has given it; null for a text of the file."""
    value: str
    value_words: LabWords | None
    """The same for the value."""
    is_correct: bool | None
    """Whether the answer is right; null where that is not shown."""


class RevealedAnswers(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)

    name: str | None
    """Whose answers they are; null: the reader's own."""
    lines: list[RevealedLine]


class RevealedStage(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)

    title: str
    """The stage of which it is."""
    show: Literal["answers", "scored", "result"]
    answers: list[RevealedAnswers]
    """The reader's own, then those of others; empty for a result."""
    result: list[RevealedLine]


class RevealPage(PageContent):
    kind: Literal["reveal"] = "reveal"
    items: list[RevealedStage]


class Reveal(StageKind[RevealStage]):
    config_model = RevealStage

    def page(self, stage: RevealStage, view: OwnView) -> RevealPage:
        items = [_stage(one) for one in showing.shown(stage, view)]
        return RevealPage(**heading(stage), items=items)

    def prompt(self, stage: RevealStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        if view.me.kind == "mediator":
            return [Block("Participants were shown here what became of earlier stages. You were not.")]
        told = showing.paragraphs(stage, view)
        return [Block(text) for text in told] or [Block("Nothing is known yet of what is shown here.")]

    def problems(self, stage: RevealStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        return [*config.problems(stage)]

    def parts(self, stage: RevealStage) -> Parts:
        return Parts(reads=config.reads(stage))

    def example(self) -> RevealStage:
        return RevealStage(id="outcome", name="What came of it", items=(Revealed(stage="before", audience="all"),))


def _stage(one: showing.Shown) -> RevealedStage:
    answers = [RevealedAnswers(name=each.name, lines=_lines(each.lines)) for each in one.answers]
    return RevealedStage(title=one.title, show=one.show, answers=answers, result=_lines(one.result))


def _lines(lines: Sequence[showing.Line]) -> list[RevealedLine]:
    return [
        RevealedLine(
            label=one.label,
            label_words=LabWords.of(one.label),
            value=one.value,
            value_words=LabWords.of(one.value),
            is_correct=one.is_correct,
        )
        for one in lines
    ]


KIND = Reveal()
