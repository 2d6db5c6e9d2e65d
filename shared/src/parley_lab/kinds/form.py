"""The form of a question for a person: fields, each a JSON Schema with texts for people."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from parley_lab.base.errors import Problem
from parley_lab.kinds.sentences import Label
from parley_lab.kinds.view import Json

LONG_TEXT: Final = 200
"""A text with this many characters or more gets a field of several lines."""

BOUNDS: Final = ("x-minimum", "x-maximum")
"""What names another field of the form whose value bounds this one."""

_LONGEST_FOUND: Final = 80


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form. `schema` has a title (`titled`) and the type, bounds or `oneOf` of valid values.

    A field with `show_if` is shown when the rule holds for the current values of the form.
    """

    name: str
    schema: Mapping[str, Json]
    is_required: bool = True
    show_if: Json | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of one question, in order; an answer is an object with a value for each.

    With `is_bare` the form has one field, whose value alone is the answer. `totals`: sums of fields, each with the
    names of its `fields` and what they come to: `equals`, `at_least` or `at_most`.
    """

    fields: tuple[Field, ...]
    is_bare: bool = False
    totals: tuple[Json, ...] = ()

    def json_schema(self) -> dict[str, Json]:
        """A JSON Schema of the answer; its properties are in the order of the page. Called for pages.

        `x-show-if` holds the rule of a field that is not always shown. Such a field is not in `required`: `x-required`
        says whether it needs a value when it is shown.
        """
        if self.is_bare:
            return dict(self.fields[0].schema)
        shown = {one.name: {**one.schema, **_condition(one)} for one in self.fields}
        required = [one.name for one in self.fields if one.is_required and one.show_if is None]
        totals = {"x-totals": [*self.totals]} if self.totals else {}
        return {"type": "object", "properties": shown, "required": required, "additionalProperties": False, **totals}


def _condition(field: Field) -> dict[str, Json]:
    return {} if field.show_if is None else {"x-show-if": field.show_if, "x-required": field.is_required}


def titled(title: str) -> dict[str, Json]:
    """The title of a field; that of a `Label` also as a code with its parameters, in `x-title`."""
    if not isinstance(title, Label):
        return {"title": title}
    return {"title": str(title), "x-title": {"code": title.code, "params": dict(title.params)}}


def text(title: str, *, least: int = 0, most: int | None = None) -> dict[str, Json]:
    """A text; one of more than LONG_TEXT characters, or without a limit, gets several lines."""
    lines = {} if most is not None and most <= LONG_TEXT else {"x-widget": "textarea"}
    bounds = {**({"minLength": least} if least else {}), **({} if most is None else {"maxLength": most})}
    return {"type": "string", **titled(title), **bounds, **lines}


def number(
    title: str, *, minimum: float | None = None, maximum: float | None = None, is_whole: bool = False
) -> dict[str, Json]:
    """A number within these bounds, both included."""
    bounds = {"minimum": minimum, "maximum": maximum}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    return {"type": "integer" if is_whole else "number", **titled(title), **given}


def choice(title: str, options: Mapping[str, str]) -> dict[str, Json]:
    """One of the options, by the value that is sent and the words that are shown, a `Label` with its code."""
    return {
        "type": "string",
        **titled(title),
        "oneOf": [{"const": value, **titled(words)} for value, words in options.items()],
    }


def problems_of(error: ValidationError) -> list[Problem]:
    """The problems that a pydantic model found, by the names of its fields."""
    return [_problem(each) for each in error.errors(include_url=False)]


def _problem(each: ErrorDetails) -> Problem:
    where = ".".join(map(str, each["loc"]))
    match each["type"]:
        case "missing":
            return Problem(where, "nothing", "a value")
        case "extra_forbidden":
            return Problem(where, "an unknown field", "no field of this name")
        case "model_type" | "model_attributes_type" | "dict_type":
            expected = "an object with fields"
        case _:
            expected = each["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return Problem(where, repr(each["input"])[:_LONGEST_FOUND], expected)
