"""The three forms of response options, and their sentence in questions."""

from collections.abc import Sequence
from random import Random
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

Option = StrictBool | StrictInt | StrictFloat | StrictStr

PLACEHOLDER: Final = "{response_options}"
"""Marks the place of the options in a question; without it they follow the text."""


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)


class ListOptions(_Options):
    """One of these."""

    type: Literal["list"] = "list"
    values: tuple[Option, ...] = Field(min_length=1, max_length=1000)


class RangeOptions(_Options):
    """A number from `low` to `high`, both included."""

    type: Literal["range"] = "range"
    low: StrictInt | StrictFloat
    high: StrictInt | StrictFloat

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.low > self.high:
            raise ValueError("low must not be above high")
        return self


class TextOptions(_Options):
    """Options in words; they are shown, and every answer is valid."""

    type: Literal["text"] = "text"
    text: str = Field(min_length=1)


Options = Annotated[ListOptions | RangeOptions | TextOptions, Field(discriminator="type")]


def shown(options: Options | None, order: Sequence[int] | None = None) -> str:
    """The sentence with the options; empty without any. `order` is that of a list's values."""
    if options is None:
        return ""
    if isinstance(options, TextOptions):
        return options.text
    if isinstance(options, RangeOptions):
        return f"Answer with a number from {options.low} to {options.high} (both included)."
    values = [option_text(options.values[index]) for index in order or range(len(options.values))]
    if len(values) == 1:
        return f"Answer with {values[0]}."
    return f"Answer with one of these: {', '.join(values)}."


def option_text(option: Option) -> str:
    """An option as text, in a question and in the data."""
    return str(option)


def with_options(text: str, options: Options | None, order: Sequence[int] | None = None) -> str:
    """The question with its options at their place, or after it: they are always shown."""
    sentence = shown(options, order)
    if PLACEHOLDER in text:
        return text.replace(PLACEHOLDER, sentence)
    return f"{text}\n{sentence}" if sentence else text


def drawn_order(options: Options | None, rng: Random) -> list[int] | None:
    """A random order of a list's values, for questions that randomise theirs."""
    if not isinstance(options, ListOptions):
        return None
    return rng.sample(range(len(options.values)), len(options.values))
