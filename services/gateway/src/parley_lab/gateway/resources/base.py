"""What all resources and requests have in common, and what the API says when it refuses."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    model_serializer,
)

from parley_lab.base.storable import is_storable_text, storable_json

_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}")


class Resource(BaseModel):
    """Base of what the API gives."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Request(BaseModel):
    """Base of what the API takes: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def _storable_text(value: object) -> object:
    if isinstance(value, str) and not is_storable_text(value):
        raise ValueError("text without NUL and without broken characters is expected")
    return value


def _number(value: object) -> object:
    if isinstance(value, bool | str):
        raise ValueError("a number is expected")
    return value


def _time(value: object) -> object:
    if not (isinstance(value, str) and _TIME.match(value)):
        raise ValueError("a time such as 2026-01-31T12:00:00Z is expected")
    return value


def _in_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("a time in the years 1 to 9999 of UTC is expected") from error


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("text that is more than white space is expected")
    return value


# JSON has types: pydantic by itself takes "5" and true for numbers, 0 and "yes" for booleans, and numbers for times.
TrueOrFalse = StrictBool
WholeNumber = Annotated[int, BeforeValidator(_number)]
# Up to the largest number that every reader of JSON keeps exactly. The bounds come first: beside None, pydantic would
# describe those that follow a validator in words of its own.
Seed = Annotated[int, Field(ge=0, le=2**53 - 1), BeforeValidator(_number)]
Number = Annotated[float, BeforeValidator(_number)]
# Python reads no time of another year back from Postgres.
Time = Annotated[AwareDatetime, BeforeValidator(_time), AfterValidator(_in_utc)]
StorableText = Annotated[str, BeforeValidator(_storable_text)]
StorableJson = Annotated[Any, AfterValidator(storable_json)]
MessageText = Annotated[StorableText, Field(min_length=1, max_length=10_000), AfterValidator(_not_blank)]


_LEFT_OUT = ("wrong", "hint", "at", "code", "params")
"""Fields that are left out when they are empty."""


class ProblemItem(Resource):
    """One thing that is wrong with the input."""

    where: str = Field(examples=["stages[2].questions[0].id"])
    """The path into the input."""
    found: str = Field(examples=["'age' again"])
    expected: str = Field(examples=["an id of its own for every question"])
    wrong: str = Field(default="", examples=["the label is missing"])
    """What is wrong in words, where found and expected do not say it all."""
    hint: str = Field(default="", examples=["texts in a list need quotes"])
    """What would mend it, where that is known."""
    at: str = Field(default="", examples=["line 14, stages[2] (before).questions[0] (age).id"])
    """The same place for people, with its line and the ids of the parts, where they are known."""
    code: str = Field(default="", examples=["at_least"])
    """What is wrong, for pages with words of their own; does not change. With `missing_field`, `unknown_field`,
    `unknown_name`, `repeated_id` and `in_words`, `wrong` and `hint` say all that people need."""
    params: dict[str, Any] = Field(default={}, examples=[{"bound": 18}])
    """The values that such words need."""

    @model_serializer(mode="wrap")
    def _without_empty_words(self, fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in fields(self).items() if value or name not in _LEFT_OUT}


class ProblemDetails(Resource):
    """Any answer that is not a success (RFC 9457, `application/problem+json`)."""

    type: str = Field(examples=["urn:parley:problem:conflict"])
    title: str = Field(examples=["Conflict"])
    status: int = Field(examples=[409])
    detail: str = Field(examples=["This stage is not open yet."])
    """What happened and what to do, for people."""
    code: str = Field(examples=["conflict"])
    """What happened, for programs; does not change."""
    can_retry: bool = Field(examples=[False])
    """Whether the same request can succeed later."""
    correlation_id: str = Field(examples=["4b0c2f6f3f0a4b7b9f1c7a0d6f1f2c55"])
    """Names this request in the logs of every service."""
    reason: str | None = Field(default=None, examples=["stage_locked"])
    """For conflicts: a stable word."""
    params: dict[str, Any] = Field(default={}, examples=[{}])
    """The values with which a page says the reason in words of its own."""
    problems: list[ProblemItem] = Field(default=[], examples=[[]])
    """Everything that is wrong with the input, at once."""
