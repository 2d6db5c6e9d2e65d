"""Types for the fields of a model's reply: exact, but for the two slips that models make and nobody can misread."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Strict


class Reply(BaseModel):
    """Base of the shapes that models are asked to fill: every field required, no others."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def is_storable(text: str) -> bool:
    """Whether Postgres can hold the text: no NUL, no half of a surrogate pair."""
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _storable(value: object) -> object:
    if isinstance(value, str) and not is_storable(value):
        raise ValueError("text without NUL and without broken characters is expected")
    return value


def _truth(value: object) -> object:
    """A model that writes "false" means false."""
    words = {"true": True, "false": False}
    return words.get(value.strip().lower(), value) if isinstance(value, str) else value


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text = Annotated[str, Strict(), BeforeValidator(_storable)]
Truth = Annotated[bool, Strict(), BeforeValidator(_truth)]


def whole_number(bounds: Any) -> Any:
    """The type of a whole number with these bounds, a pydantic Field."""
    # The bounds stand before the reader, or they would not reach the JSON Schema.
    return Annotated[int, Strict(), bounds, BeforeValidator(_whole)]


def number(bounds: Any) -> Any:
    """The type of a number with these bounds, a pydantic Field."""
    return Annotated[float, Strict(), bounds]
