"""The rules of a page to read."""

from collections.abc import Mapping, Sequence
from random import Random

from pydantic import BaseModel

from shared.contracts.experiment import StageConfig
from shared.errors import InvalidInput, Problem
from shared.stage import Ask, Block, Column, Json, Member, OwnView, StageKind, Unanswered, heading
from shared.stages.info.config import InfoStage


class Info(StageKind[InfoStage]):
    config_model = InfoStage

    def problems(self, stage: InfoStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        return []

    def draw(
        self, stage: InfoStage, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random
    ) -> dict[str, Json]:
        return dict(drawn)

    def public_view(self, stage: InfoStage, view: OwnView) -> dict[str, Json]:
        return {**heading(stage), "lines": list(stage.lines)}

    def describe(self, stage: InfoStage, view: OwnView, *, with_answers: bool, ask: Ask | None = None) -> list[Block]:
        return [Block("\n".join(stage.lines))]

    def task(self, stage: InfoStage, ask: Ask, view: OwnView) -> str:
        return "Read this page."

    def check_answer(self, stage: InfoStage, ask: Ask, answer: Json, view: OwnView) -> Json:
        """A page to read has the empty answer, given by going on."""
        if answer:
            raise InvalidInput(
                "This page takes no answer.", [Problem("", "an answer", "nothing: this page has no question")]
            )
        return {}

    def blocked_by(self, stage: InfoStage, view: OwnView) -> list[str]:
        return []

    def next_asks(self, stage: InfoStage, view: OwnView) -> list[Ask]:
        return []

    def most_replies(self, stage: InfoStage) -> int:
        return 0

    def reply_model(self, stage: InfoStage, ask: Ask, view: OwnView) -> type[BaseModel] | None:
        return None

    def answer_from_reply(self, stage: InfoStage, ask: Ask, reply: BaseModel) -> Json:
        return {}

    def on_unanswered(self, stage: InfoStage, ask: Ask, reason: str) -> Unanswered:
        return "wait"

    def columns(self, stage: InfoStage) -> list[Column]:
        return []

    def cells(self, stage: InfoStage, answer: Json) -> dict[str, Json]:
        return {}

    def example(self) -> InfoStage:
        return InfoStage(
            id="welcome",
            name="Welcome",
            lines=("# A talk about the night bus", "You will talk with **three others** for about ten minutes."),
        )


KIND = Info()
