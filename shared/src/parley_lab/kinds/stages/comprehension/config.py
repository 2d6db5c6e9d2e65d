"""What an experiment file says about a check of what was understood."""

import unicodedata
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from parley_lab.base.errors import Problem
from parley_lab.contracts.experiment import Slug, StageConfig
from parley_lab.kinds import Column, Json
from parley_lab.kinds.questions.choices import ChoiceQuestion
from parley_lab.kinds.questions.questions import TextQuestion, Unfit


class CheckedText(TextQuestion):
    """A word or a number to write."""

    correct: str = Field(min_length=1)
    """The right answer; capital letters, accents and spaces around it do not count. Participants never see it."""

    @property
    def has_correct(self) -> bool:
        return True

    def is_correct(self, answer: Json) -> bool | None:
        return None if answer is None else folded(str(answer)) == folded(self.correct)

    def columns(self) -> list[Column]:
        return [*super().columns(), Column(f"{self.id}.correct", f"{self.label} (correct)", "boolean", derived=True)]

    def cells(self, answer: Json) -> dict[str, Json]:
        return {**super().cells(answer), f"{self.id}.correct": self.is_correct(answer)}

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if not folded(self.correct):
            yield Problem("correct", repr(self.correct), "an answer with a letter or a number")
        elif not self._may_be_given():
            yield Problem("correct", repr(self.correct), f"what can be answered: {self.hint()}")

    def _may_be_given(self) -> bool:
        try:
            self.stored(self.correct)
        except Unfit:
            return False
        return True


class CheckedChoice(ChoiceQuestion):
    """One answer out of several."""

    correct: Slug
    """The id of the right option; participants and models never see it."""


CheckedQuestion = Annotated[CheckedText | CheckedChoice, Field(discriminator="kind")]


class ComprehensionStage(StageConfig):
    """Questions on the instructions; a participant goes on when all answers are right."""

    kind: Literal["comprehension"] = "comprehension"
    questions: tuple[CheckedQuestion, ...] = Field(min_length=1)
    """The questions in their order."""
    most_attempts: int | None = Field(default=None, ge=1)
    """How often all questions may be answered. Left out: people may try until all is right, and agents five times."""
    when_failed: Literal["go_on", "screened_out"] = "go_on"
    """What happens after the last attempt: the participant goes on all the same, or is out."""


def folded(text: str) -> str:
    """The text as it is compared."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold().strip()
