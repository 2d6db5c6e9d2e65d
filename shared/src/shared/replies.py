"""Types for the fields of a model's reply: strict, apart from two unambiguous mistakes that models make."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Strict

from shared.storable import is_storable_number, is_storable_text


class Reply(BaseModel):
    """Base of the shapes that models are asked to fill: every field required, no others."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _storable(value: object) -> object:
    if isinstance(value, str) and not is_storable_text(value):
        raise ValueError("text without NUL and without broken characters is expected")
    return value


def _truth(value: object) -> object:
    """Reads the text "false" as false, and likewise "true"."""
    words = {"true": True, "false": False}
    return words.get(value.strip().lower(), value) if isinstance(value, str) else value


def _whole(value: object) -> object:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(whole, int) and not is_storable_number(whole):
        raise ValueError("a whole number of at most 63 bits is expected")
    return whole


def _finite(value: object) -> object:
    # Before pydantic converts it to a float, which turns an integer that is too large into infinity.
    if isinstance(value, int | float) and not is_storable_number(value):
        raise ValueError("a finite number is expected, and when it is whole, one of at most 63 bits")
    return value


Text = Annotated[str, Strict(), BeforeValidator(_storable)]
Truth = Annotated[bool, Strict(), BeforeValidator(_truth)]


def text(bounds: Any) -> Any:
    """The type of a text with these bounds, a pydantic Field."""
    # The bounds come before the reader; otherwise the schema for the model would speak of items.
    return Annotated[str, Strict(), bounds, BeforeValidator(_storable)]


def whole_number(bounds: Any) -> Any:
    """The type of a whole number with these bounds, a pydantic Field."""
    # The bounds come before the reader; otherwise they would be missing in the JSON Schema.
    return Annotated[int, Strict(), bounds, BeforeValidator(_whole)]


def number(bounds: Any) -> Any:
    """The type of a number with these bounds, a pydantic Field."""
    return Annotated[float, Strict(), bounds, BeforeValidator(_finite)]
