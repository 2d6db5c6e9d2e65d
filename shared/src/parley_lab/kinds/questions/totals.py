"""Numbers that belong together: those with a sum, and those that another answer bounds. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import gcd
from typing import Any

from pydantic import Field

from parley_lab.base.errors import Problem
from parley_lab.base.fitting import is_met, sum_of
from parley_lab.base.numbers import write_number
from parley_lab.base.rules import PageAnswer, is_none
from parley_lab.contracts.experiment import Document, Slug
from parley_lab.kinds import Json
from parley_lab.kinds.questions.questions import Number, Unfit


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that an answer can be; None: there is no such limit."""

    least: Fraction | None
    most: Fraction | None
    step: Fraction | None = None
    start: Fraction = Fraction(0)
    """Steps lead from this number to all others."""

    @property
    def is_whole(self) -> bool:
        """Whether all its numbers are whole."""
        return self.step is not None and self.step.denominator == self.start.denominator == 1

    def widen_to_nothing(self) -> "Range":
        """An answer that can be left out counts as 0."""
        least = None if self.least is None else min(self.least, Fraction(0))
        most = None if self.most is None else max(self.most, Fraction(0))
        return Range(least, most, None if self.step is None else _find_common_step(self.step, self.start))

    def __add__(self, other: "Range") -> "Range":
        least = None if self.least is None or other.least is None else self.least + other.least
        most = None if self.most is None or other.most is None else self.most + other.most
        step = None if self.step is None or other.step is None else _find_common_step(self.step, other.step)
        return Range(least, most, step, self.start + other.start)


def _find_common_step(one: Fraction, other: Fraction) -> Fraction:
    """Both numbers are multiples of the one that this finds, and of no larger one."""
    divisor = one.denominator * other.denominator
    return Fraction(gcd(one.numerator * other.denominator, other.numerator * one.denominator), divisor)


class Total(Document):
    """What numbers come to together."""

    equals: Number | None = Field(default=None, exclude_if=is_none)
    """Their sum is this."""
    at_least: Number | None = Field(default=None, exclude_if=is_none)
    """Their sum is this or more."""
    at_most: Number | None = Field(default=None, exclude_if=is_none)
    """Their sum is this or less."""

    def required(self, numbers: Sequence[Json]) -> None:
        """Raises Unfit: the numbers come to something else."""
        if is_met(self.model_dump(), numbers):
            return
        found = sum_of(numbers)
        code, bound = next(one for one in self._coded() if not is_met({one[0].removeprefix("total_"): one[1]}, numbers))
        raise Unfit(f"{self.in_words()}; they add up to {found}", code, bound=bound, sum=float(found))

    def _coded(self) -> list[tuple[str, Number]]:
        return [(f"total_{name}", bound) for name, bound in self.model_dump(exclude_none=True).items()]

    def in_words(self) -> str:
        words = {"equals": "exactly", "at_least": "at least", "at_most": "at most"}
        return "numbers that add up to " + " and ".join(
            f"{words[name]} {bound}" for name, bound in self.model_dump(exclude_none=True).items()
        )

    def check(self, numbers: Sequence[Range]) -> list[Problem]:
        """The total is checked by itself, and then against what such numbers can add up to."""
        return [*self.problems()] or [*self._find_unmet(numbers)]

    def problems(self) -> Iterator[Problem]:
        given = self.model_dump(exclude_none=True)
        if not given:
            yield Problem("", "nothing", "`equals`, `at_least` or `at_most`")
        if "equals" in given and len(given) > 1:
            yield Problem("equals", str(self.equals), "`equals` alone, or `at_least` and `at_most`")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            yield Problem("at_most", str(self.at_most), f"at least at_least, which is {self.at_least}")

    def _find_unmet(self, numbers: Sequence[Range]) -> Iterator[Problem]:
        """No sum of these numbers meets the bounds that this finds."""
        whole = reduce(Range.__add__, numbers)
        for name, bound in self.model_dump(exclude_none=True).items():
            wanted = Fraction(str(bound))
            if name != "at_most" and whole.most is not None and wanted > whole.most:
                yield Problem(name, str(bound), f"at most {write_number(whole.most)}, to which the numbers can add up")
            elif name != "at_least" and whole.least is not None and wanted < whole.least:
                yield Problem(
                    name, str(bound), f"at least {write_number(whole.least)}, to which the numbers can add up"
                )
            elif name == "equals" and whole.step and (rest := (wanted - whole.start) % whole.step):
                near = f"{write_number(wanted - rest)} or {write_number(wanted - rest + whole.step)}"
                yield Problem(name, str(bound), f"{near}, to which the numbers can add up")


class QuestionGroup(Document):
    """Questions that belong together: those whose `group` names it."""

    total: Total | None = None
    """What their numbers come to; answers that were left out count as nothing."""


class AnsweredBound(Document):
    """The answer to another question as a bound."""

    stage: Slug | None = None
    """The earlier survey that asked; left out: this page, where the question comes before."""
    question: str
    """The id of the question, whose answer is a number; of a row as in `everest.guess`."""

    @property
    def names_row(self) -> bool:
        """Whether the question is that of one row. The ids of questions in a file have no point."""
        return "." in self.question

    def found(self, answers: PageAnswer, pages: Mapping[str, PageAnswer]) -> Number | None:
        """The bound; None while its answer is not known."""
        page: Mapping[str, Any] = answers if self.stage is None else pages.get(self.stage, {})
        value = page.get(self.question)
        return None if isinstance(value, bool) or not isinstance(value, int | float) else value

    def in_words(self) -> str:
        return f"the answer to {self.question if self.stage is None else f'{self.stage}.{self.question}'}"
