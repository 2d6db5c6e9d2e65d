"""The three forms of response options, and their sentence in questions."""

from collections.abc import Sequence
from random import Random
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from parley_lab.kinds import Label

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
    """The sentence with the options, in the lab's words a `Label`; empty without any. `order` is that of a list's
    values."""
    if options is None:
        return ""
    if isinstance(options, TextOptions):
        return options.text
    if isinstance(options, RangeOptions):
        low, high = options.low, options.high
        sentence = f"Answer with a number from {low} to {high} (both included)."
        return Label(sentence, "answer_with_a_number", low=low, high=high)
    values = [option_text(options.values[index]) for index in order or range(len(options.values))]
    listed = ", ".join(values)
    if len(values) == 1:
        return Label(f"Answer with {listed}.", "answer_with", value=listed)
    return Label(f"Answer with one of these: {listed}.", "answer_with_one_of", values=listed)


def option_text(option: Option) -> str:
    """An option as text, in a question and in the data."""
    return str(option)


def with_options(text: str, options: Options | None, order: Sequence[int] | None = None) -> str:
    """The question with its options at their place, or after it: they are always shown."""
    sentence = shown(options, order)
    if not sentence:
        return text.replace(PLACEHOLDER, "")
    before, placeholder, after = text.partition(PLACEHOLDER)
    if not placeholder:
        before = f"{text}\n" if text else ""
    # A question that has its options at two places has them in the lab's words, as they are.
    whole = f"{before}{sentence}{after.replace(PLACEHOLDER, sentence)}"
    if not isinstance(sentence, Label) or PLACEHOLDER in after:
        return whole
    return Label(whole, "with_options", before=before, how=sentence.spoken, after=after)


def drawn_order(options: Options | None, rng: Random) -> list[int] | None:
    """A random order of a list's values, for questions that randomise theirs."""
    if not isinstance(options, ListOptions):
        return None
    return rng.sample(range(len(options.values)), len(options.values))
