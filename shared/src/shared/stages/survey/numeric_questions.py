"""Questions whose answers are numbers."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final, Literal

from pydantic import Field, JsonValue

from shared.errors import Problem
from shared.replies import number, whole_number
from shared.stage import Column, Json
from shared.stages.survey.questions import BaseQuestion, Number, Unfit
from shared.storable import is_storable_number

_MOST_LISTED_STEPS: Final = 200


class _NumericQuestion(BaseQuestion):
    def _is_whole(self) -> bool:
        raise NotImplementedError

    def _number(self, value: Json) -> Number:
        if isinstance(value, bool) or not isinstance(value, int | float) or not is_storable_number(value):
            raise Unfit(self.hint())
        if not self._is_whole():
            return value
        if (isinstance(value, float) and not value.is_integer()) or not is_storable_number(int(value)):
            raise Unfit(self.hint())
        return int(value)

    def _bound_problems(self, **bounds: Number | None) -> Iterator[Problem]:
        """The bounds of a whole number that are none themselves."""
        for name, bound in bounds.items():
            if bound is not None and self._is_whole() and (bound != int(bound) or not is_storable_number(int(bound))):
                yield Problem(name, str(bound), "a whole number of at most 63 bits")

    def columns(self) -> list[Column]:
        return [Column(self.id, self.title, "integer" if self._is_whole() else "number")]


class NumberQuestion(_NumericQuestion):
    """A number to write."""

    kind: Literal["number"] = "number"
    minimum: Number | None = None
    """The smallest number allowed."""
    maximum: Number | None = None
    """The largest number allowed."""
    integer: bool = False
    """Whether only whole numbers are allowed."""

    def _is_whole(self) -> bool:
        return self.integer

    def stored(self, value: Json) -> Json:
        written = self._number(value)
        is_too_small = self.minimum is not None and written < self.minimum
        if is_too_small or (self.maximum is not None and written > self.maximum):
            raise Unfit(self.hint())
        return written

    def reply_type(self) -> Any:
        bounds = Field(ge=self.minimum, le=self.maximum)
        return whole_number(bounds) if self.integer else number(bounds)

    def hint(self) -> str:
        bounds = [
            *([f"at least {self.minimum}"] if self.minimum is not None else []),
            *([f"at most {self.maximum}"] if self.maximum is not None else []),
        ]
        return ", ".join(["a whole number" if self.integer else "a number", *bounds])

    def problems(self) -> Iterator[Problem]:
        yield from self._bound_problems(minimum=self.minimum, maximum=self.maximum)
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            yield Problem("maximum", str(self.maximum), f"at least the minimum, which is {self.minimum}")


class ScaleQuestion(_NumericQuestion):
    """A point between two ends."""

    kind: Literal["scale"] = "scale"
    lower: Number = 0
    """The lower end."""
    upper: Number = 10
    """The upper end."""
    step: Number = Field(default=1, gt=0)
    """The distance between two points; it divides the scale without a rest."""
    lower_text: str = ""
    """What stands at the lower end."""
    middle_text: str = ""
    """What stands in the middle."""
    upper_text: str = ""
    """What stands at the upper end."""

    def _is_whole(self) -> bool:
        return isinstance(self.lower, int) and isinstance(self.step, int)

    def _steps(self) -> Fraction:
        return (_exact(self.upper) - _exact(self.lower)) / _exact(self.step)

    def _point(self, index: int) -> Number:
        point = _exact(self.lower) + index * _exact(self.step)
        return int(point) if self._is_whole() else float(point)

    def stored(self, value: Json) -> Json:
        chosen = self._number(value)
        index = (_exact(chosen) - _exact(self.lower)) / _exact(self.step)
        if index.denominator != 1 or not 0 <= index <= self._steps():
            raise Unfit(self.hint())
        return chosen

    def reply_type(self) -> Any:
        # A step of 1 between whole ends needs no list; for the others JSON Schema has no exact word.
        is_listed = (self.step != 1 or not self._is_whole()) and self._steps() <= _MOST_LISTED_STEPS
        points: list[JsonValue] = [self._point(index) for index in range(int(self._steps()) + 1)] if is_listed else []
        bounds = Field(ge=self.lower, le=self.upper, json_schema_extra={"enum": points} if points else None)
        return whole_number(bounds) if self._is_whole() else number(bounds)

    def hint(self) -> str:
        steps = "" if self.step == 1 else f" in steps of {self.step}"
        number = "a whole number" if self._is_whole() else "a number"
        return f"{number} from {self.lower} to {self.upper}{steps}{self._legend()}"

    def in_words(self, answer: Json) -> str:
        return f"{answer}, on a scale from {self.lower} to {self.upper}{self._legend()}"

    def problems(self) -> Iterator[Problem]:
        yield from self._bound_problems(lower=self.lower, upper=self.upper)
        if self.lower >= self.upper:
            yield Problem("upper", str(self.upper), f"more than lower, which is {self.lower}")
        elif self._steps().denominator != 1:
            yield Problem("step", str(self.step), f"a step that divides {self.lower} to {self.upper} without a rest")

    def _legend(self) -> str:
        middle = f"{float((_exact(self.lower) + _exact(self.upper)) / 2):g}"
        ends = ((self.lower, self.lower_text), (middle, self.middle_text), (self.upper, self.upper_text))
        labels = [f"{point} = {text}" for point, text in ends if text]
        return f" ({', '.join(labels)})" if labels else ""


def _exact(number: Number) -> Fraction:
    """The number as it is written: 0.1 is one tenth."""
    return Fraction(str(number))
