"""Questions whose answers are numbers."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, Literal, Self

from pydantic import Field, JsonValue, create_model

from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import repeated_id
from parley_lab.base.numbers import write_number
from parley_lab.base.replies import Reply, number, whole_number
from parley_lab.base.rules import PageAnswer, Rule, is_none
from parley_lab.base.storable import is_storable_number
from parley_lab.contracts.experiment import Document, Slug
from parley_lab.kinds import Column, Json, form
from parley_lab.kinds.questions.questions import BaseQuestion, Number, Unfit
from parley_lab.kinds.questions.rows import AskedRow, named
from parley_lab.kinds.questions.totals import AnsweredBound, Range, Total

_MOST_LISTED_STEPS: Final = 200


class NumericQuestion(BaseQuestion):
    @abstractmethod
    def _is_whole(self) -> bool:
        """Whether only whole numbers are answers."""

    @abstractmethod
    def give_range(self) -> Range:
        """An answer can be a number of this range; in a grid, that of each line can."""

    def _number(self, value: Json) -> Number:
        if isinstance(value, bool) or not isinstance(value, int | float) or not is_storable_number(value):
            raise Unfit(self.hint(), "write_a_number")
        if not self._is_whole():
            return value
        if (isinstance(value, float) and not value.is_integer()) or not is_storable_number(int(value)):
            raise Unfit(self.hint(), "write_a_whole_number")
        return int(value)

    def in_words(self, answer: Json) -> str:
        return write_number(answer)

    def _bound_problems(self, **bounds: Number | None) -> Iterator[Problem]:
        """The bounds of a whole number that are none themselves."""
        for name, bound in bounds.items():
            if bound is not None and self._is_whole() and (bound != int(bound) or not is_storable_number(int(bound))):
                yield Problem(name, str(bound), "a whole number of at most 63 bits")

    def columns(self) -> list[Column]:
        return [Column(self.id, self.label, "integer" if self._is_whole() else "number")]


class NumberQuestion(NumericQuestion):
    """A number to write."""

    kind: Literal["number"] = "number"
    minimum: Number | AnsweredBound | None = None
    """The smallest number allowed: a number, or another answer."""
    maximum: Number | AnsweredBound | None = None
    """The largest number allowed: a number, or another answer, as in `{question: sent}`."""
    integer: bool = False
    """Whether only whole numbers are allowed."""

    def _is_whole(self) -> bool:
        return self.integer

    @property
    def answered_bounds(self) -> dict[str, AnsweredBound]:
        """The bounds that are answers and not known here, by name."""
        bounds = {"minimum": self.minimum, "maximum": self.maximum}
        return {name: one for name, one in bounds.items() if isinstance(one, AnsweredBound)}

    def of_row(self, row: AskedRow, show_if: Rule | None) -> Self:
        """The same question as that of a row. Answers about the same row bound it, or those about one that it names."""
        own = {name: one for name, one in self.answered_bounds.items() if one.stage is None and not one.names_row}
        bounds = {name: one.model_copy(update={"question": named(row.id, one.question)}) for name, one in own.items()}
        return super().of_row(row, show_if).model_copy(update=bounds)

    def bounded(self, answers: PageAnswer, pages: Mapping[str, PageAnswer]) -> "NumberQuestion":
        """The question with those bounds as numbers that are known by these answers."""
        known = {name: one.found(answers, pages) for name, one in self.answered_bounds.items()}
        return self.model_copy(update={name: bound for name, bound in known.items() if bound is not None})

    @property
    def least(self) -> Number | None:
        return None if isinstance(self.minimum, AnsweredBound) else self.minimum

    @property
    def most(self) -> Number | None:
        return None if isinstance(self.maximum, AnsweredBound) else self.maximum

    def give_range(self) -> Range:
        least, most = (None if one is None else _exact(one) for one in (self.least, self.most))
        return Range(least, most, Fraction(1) if self.integer else None)

    def stored(self, value: Json) -> Json:
        written = self._number(value)
        if self.least is not None and written < self.least:
            raise Unfit(self.hint(), "at_least", bound=self.least)
        if self.most is not None and written > self.most:
            raise Unfit(self.hint(), "at_most", bound=self.most)
        return written

    def reply_type(self) -> Any:
        bounds = Field(ge=self.least, le=self.most)
        return whole_number(bounds, self.title) if self.integer else number(bounds, self.title)

    def field_schema(self) -> dict[str, Json]:
        shown = form.number(self.title, minimum=self.least, maximum=self.most, is_whole=self.integer)
        of_page = {f"x-{name}": one.question for name, one in self.answered_bounds.items() if one.stage is None}
        return {**shown, **of_page}

    def hint(self) -> str:
        words = (("at least", self.minimum), ("at most", self.maximum))
        bounds = [f"{word} {_in_words(bound)}" for word, bound in words if bound is not None]
        return ", ".join(["a whole number" if self.integer else "a number", *bounds])

    def problems(self) -> Iterator[Problem]:
        yield from self._bound_problems(minimum=self.least, maximum=self.most)
        if self.least is not None and self.most is not None and self.least > self.most:
            yield Problem("maximum", str(self.maximum), f"at least the minimum, which is {self.minimum}")


def _in_words(bound: Number | AnsweredBound) -> str:
    return bound.in_words() if isinstance(bound, AnsweredBound) else str(bound)


class Scale(NumericQuestion):
    """A point between two ends, which have labels."""

    lower: Number = 0
    """The lower end."""
    upper: Number = 10
    """The upper end."""
    step: Number = Field(default=1, gt=0)
    """The distance between two points; it divides the scale without a rest."""
    lower_text: str = ""
    """The words at the lower end."""
    middle_text: str = ""
    """The words in the middle."""
    upper_text: str = ""
    """The words at the upper end."""

    def _is_whole(self) -> bool:
        return isinstance(self.lower, int) and isinstance(self.step, int)

    def _steps(self) -> Fraction:
        return (_exact(self.upper) - _exact(self.lower)) / _exact(self.step)

    def give_range(self) -> Range:
        lower = _exact(self.lower)
        return Range(lower, _exact(self.upper), _exact(self.step), lower)

    def _point(self, index: int) -> Number:
        point = _exact(self.lower) + index * _exact(self.step)
        return int(point) if self._is_whole() else float(point)

    def stored(self, value: Json) -> Json:
        chosen = self._number(value)
        index = (_exact(chosen) - _exact(self.lower)) / _exact(self.step)
        if index.denominator != 1 or not 0 <= index <= self._steps():
            raise Unfit(self.hint(), "point_of_the_scale")
        return chosen

    def reply_type(self) -> Any:
        # A step of 1 between whole ends needs no list; for the others JSON Schema has no exact word.
        is_listed = (self.step != 1 or not self._is_whole()) and self._steps() <= _MOST_LISTED_STEPS
        points: list[JsonValue] = [self._point(index) for index in range(int(self._steps()) + 1)] if is_listed else []
        bounds = Field(ge=self.lower, le=self.upper, json_schema_extra={"enum": points} if points else None)
        return whole_number(bounds, self.title) if self._is_whole() else number(bounds, self.title)

    def field_schema(self) -> dict[str, Json]:
        """The points are listed where `multipleOf` cannot say them exactly: 0.3 is no multiple of 0.1 in floats."""
        is_exact = self._is_whole() and self.lower % self.step == 0
        is_listed = not is_exact and self._steps() <= _MOST_LISTED_STEPS
        points = [self._point(index) for index in range(int(self._steps()) + 1)] if is_listed else []
        labels = {"lower": self.lower_text, "middle": self.middle_text, "upper": self.upper_text}
        return {
            **form.number(self.title, minimum=self.lower, maximum=self.upper, is_whole=self._is_whole()),
            **({"enum": points} if points else {"multipleOf": self.step} if is_exact else {}),
            "x-widget": "scale",
            "x-step": self.step,
            "x-words": {place: words for place, words in labels.items() if words},
        }

    def hint(self) -> str:
        steps = "" if self.step == 1 else f" in steps of {self.step}"
        number = "a whole number" if self._is_whole() else "a number"
        return f"{number} from {self.lower} to {self.upper}{steps}{self._legend()}"

    def in_words(self, answer: Json) -> str:
        return f"{write_number(answer)}, on a scale from {self.lower} to {self.upper}{self._legend()}"

    def problems(self) -> Iterator[Problem]:
        yield from self._bound_problems(lower=self.lower, upper=self.upper)
        if self.lower >= self.upper:
            yield Problem("upper", str(self.upper), f"more than lower, which is {self.lower}")
        elif self._steps().denominator != 1:
            yield Problem("step", str(self.step), f"a step that divides {self.lower} to {self.upper} without a rest")

    def _legend(self) -> str:
        middle = write_number(float((_exact(self.lower) + _exact(self.upper)) / 2))
        ends = ((self.lower, self.lower_text), (middle, self.middle_text), (self.upper, self.upper_text))
        labels = [f"{point} = {text}" for point, text in ends if text]
        return f" ({', '.join(labels)})" if labels else ""


class ScaleQuestion(Scale):
    """A point on a scale."""

    kind: Literal["scale"] = "scale"
    widget: Literal["buttons", "slider"] = "buttons"
    """How a page shows the points: each to press, or on a line to slide along."""

    def field_schema(self) -> dict[str, Json]:
        return {**super().field_schema(), "x-widget": "slider" if self.widget == "slider" else "scale"}


class GridRow(Document):
    """One line of a grid."""

    id: Slug
    """Names the line in the data."""
    text: str = Field(min_length=1)
    """What participants read."""


class GridQuestion(Scale):
    """Several things on one scale, a line each."""

    kind: Literal["grid"] = "grid"
    rows: tuple[GridRow, ...] = Field(min_length=1, max_length=50)
    """What is put on the scale."""
    total: Total | None = Field(default=None, exclude_if=is_none)
    """What the numbers of all lines come to."""

    def scales(self) -> list[ScaleQuestion]:
        """Each line as a question of its own."""
        return [
            ScaleQuestion(
                id=row.id,
                title=row.text,
                lower=self.lower,
                upper=self.upper,
                step=self.step,
                lower_text=self.lower_text,
                middle_text=self.middle_text,
                upper_text=self.upper_text,
            )
            for row in self.rows
        ]

    def stored(self, value: Json) -> Json:
        scales = self.scales()
        if not isinstance(value, Mapping) or set(value) != {one.id for one in scales}:
            raise Unfit(self.hint(), "every_line")
        stored = {one.id: one.stored(value[one.id]) for one in scales}
        if self.total is not None:
            self.total.required([*stored.values()])
        return stored

    def reply_type(self) -> Any:
        fields: dict[str, Any] = {
            f"row_{index}": (one.reply_type(), Field(alias=one.id, description=one.title))
            for index, one in enumerate(self.scales())
        }
        return create_model("GridReply", __base__=Reply, **fields)

    def field_schema(self) -> dict[str, Json]:
        rows = {one.id: one.field_schema() for one in self.scales()}
        return {
            "type": "object",
            "title": self.title,
            "properties": rows,
            "required": list(rows),
            "additionalProperties": False,
            "x-widget": "grid",
            **({} if self.total is None else {"x-total": self.total.model_dump()}),
        }

    def hint(self) -> str:
        listed = ", ".join(f"{row.id} ({row.text})" for row in self.rows)
        together = "" if self.total is None else f"; {self.total.in_words()}"
        return f"{super().hint()}, for each of: {listed}{together}"

    def in_words(self, answer: Json) -> str:
        given = "; ".join(f"{row.text}: {write_number(answer[row.id])}" for row in self.rows)
        return f"{given}, on a scale from {self.lower} to {self.upper}{self._legend()}"

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        of_total = () if self.total is None else self.total.check([self.give_range()] * len(self.rows))
        for problem in of_total:
            yield replace(problem, where=f"total.{problem.where}".rstrip("."))
        ids = [row.id for row in self.rows]
        for index, row_id in enumerate(ids):
            if row_id in ids[:index]:
                yield repeated_id(f"rows[{index}].id", row_id, "row")

    def columns(self) -> list[Column]:
        """One column per row."""
        kind: Literal["integer", "number"] = "integer" if self._is_whole() else "number"
        return [Column(f"{self.id}.{row.id}", f"{self.label} {row.text}", kind) for row in self.rows]

    def cells(self, answer: Json) -> dict[str, Json]:
        return {f"{self.id}.{row.id}": answer[row.id] for row in self.rows}


def _exact(number: Number) -> Fraction:
    """The number as it is written: 0.1 is one tenth."""
    return Fraction(str(number))
