"""What an experiment file says about a check of what was understood."""

import unicodedata
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Annotated, Literal, Self

from pydantic import Field, StrictFloat, StrictInt

from parley_lab.base.errors import Problem
from parley_lab.base.rules import applies
from parley_lab.contracts.experiment import Slug
from parley_lab.kinds import Column, Json
from parley_lab.kinds.questions.asked_of_rows import AskedOfRows
from parley_lab.kinds.questions.choices import ChoiceQuestion
from parley_lab.kinds.questions.numeric_questions import NumberQuestion
from parley_lab.kinds.questions.questions import BaseQuestion, Number, TextQuestion, Unfit

RightAnswer = Annotated[str, Field(min_length=1)] | StrictInt | StrictFloat


class _Checked(BaseQuestion):
    """A question with a right answer, beside which the data say whether the given one is right."""

    @property
    def has_correct(self) -> bool:
        return True

    def columns(self) -> list[Column]:
        return [*super().columns(), Column(f"{self.id}.correct", f"{self.label} (correct)", "boolean", derived=True)]

    def cells(self, answer: Json) -> dict[str, Json]:
        return {**super().cells(answer), f"{self.id}.correct": self.is_correct(answer)}


class CheckedText(_Checked, TextQuestion):
    """A word or a number to write."""

    correct: RightAnswer | tuple[RightAnswer, ...]
    """The right answer, or several of which each is right. Of words, capital letters, accents and spaces around them do
    not count. A number is right however it is written: `12`, `12.0` or `12,0`. Participants never see it."""

    @property
    def all_correct(self) -> tuple[str | float, ...]:
        """Each answer that is right."""
        return self.correct if isinstance(self.correct, tuple) else (self.correct,)

    def is_correct(self, answer: Json) -> bool | None:
        return None if answer is None else any(_is_same(str(answer), right) for right in self.all_correct)

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if not self.all_correct:
            yield Problem("correct", "an empty list", "at least one right answer")
        for right in self.all_correct:
            if not folded(str(right)):
                yield Problem("correct", repr(right), "an answer with a letter or a number")
            elif not self._may_be_given(right):
                yield Problem("correct", repr(right), f"what can be answered: {self.hint()}")

    def _may_be_given(self, right: str | float) -> bool:
        try:
            self.stored(str(right))
        except Unfit:
            return False
        return True


class CheckedNumber(_Checked, NumberQuestion):
    """A number to write."""

    minimum: Number | None = None
    """The smallest number that can be answered."""
    maximum: Number | None = None
    """The largest number that can be answered."""
    correct: Number | tuple[Number, ...]
    """The right number, or several of which each is right; participants never see it."""
    within: Number = Field(default=0, ge=0)
    """How far from the right number an answer may be."""

    @property
    def all_correct(self) -> tuple[Number, ...]:
        """Each answer that is right."""
        return self.correct if isinstance(self.correct, tuple) else (self.correct,)

    def is_correct(self, answer: Json) -> bool | None:
        if answer is None:
            return None
        within = Decimal(str(self.within))
        return any(abs(Decimal(str(answer)) - Decimal(str(right))) <= within for right in self.all_correct)

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if not self.all_correct:
            yield Problem("correct", "an empty list", "at least one right answer")
        for right in self.all_correct:
            try:
                self.stored(right)
            except Unfit:
                yield Problem("correct", str(right), f"what can be answered: {self.hint()}")


class CheckedChoice(ChoiceQuestion):
    """One answer out of several."""

    correct: Slug | tuple[Slug, ...]
    """The id of the right option, or several of which each is right; participants and models never see it."""


CheckedQuestion = Annotated[CheckedText | CheckedNumber | CheckedChoice, Field(discriminator="kind")]


class ComprehensionStage(AskedOfRows):
    """Questions on the instructions; a participant goes on when all answers are right."""

    kind: Literal["comprehension"] = "comprehension"
    questions: tuple[CheckedQuestion, ...] = Field(min_length=1)
    """The questions in their order."""
    most_attempts: int | None = Field(default=None, ge=1)
    """How often all questions may be answered. Left out: people may try until all is right, and agents five times."""
    when_failed: Literal["go_on", "screened_out"] = "go_on"
    """What happens after the last attempt: the participant goes on all the same, or is out."""

    def without_hidden(self) -> Self:
        """The stage with the questions that are asked in its arm: rules are over the arm and the row alone."""
        if all(one.show_if is None for one in self.questions):
            return self
        return self.model_copy(update={"questions": tuple(one for one in self.questions if applies(one.show_if))})


def _is_same(answer: str, right: str | float) -> bool:
    if isinstance(right, str):
        return folded(answer) == folded(right)
    number = _number_in(answer)
    return number is not None and number == Decimal(str(right))


def _number_in(answer: str) -> Decimal | None:
    """The number that was written, in the digits of any script and with a point or a comma; None: it is no number."""
    text = unicodedata.normalize("NFKC", answer).strip()
    digits = "".join(str(unicodedata.digit(one, one)) if one.isdigit() else one for one in text)
    try:
        number = Decimal(digits.replace("\u066b", ".").replace(",", ".").replace("\u2212", "-"))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def folded(text: str) -> str:
    """The text as it is compared."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold().strip()
