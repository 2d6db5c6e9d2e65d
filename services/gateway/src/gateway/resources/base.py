"""What all resources and requests have in common."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from shared.storable import is_storable_text, storable_json


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


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("text that is more than white space is expected")
    return value


StorableText = Annotated[str, BeforeValidator(_storable_text)]
StorableJson = Annotated[Any, AfterValidator(storable_json)]
MessageText = Annotated[StorableText, Field(min_length=1, max_length=10_000), AfterValidator(_not_blank)]
