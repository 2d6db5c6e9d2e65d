"""Types for the fields of a model's reply.

Schemas for providers, and answers of people over REST, are strict: every field, no others, each of its type. A reply
that is read with `read` may be written in other forms, as long as it plainly means one thing (`spellings`).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Strict, ValidationInfo, model_validator

from parley_lab.base.replies import orders, spellings
from parley_lab.base.replies.thoughts import after_thoughts
from parley_lab.base.storable import is_storable_number, is_storable_text

ModelT = TypeVar("ModelT", bound=BaseModel)
Json = Any

_WRAPPERS: Final = (
    *("answer", "answers", "reply", "response", "result", "output", "final", "final answer", "properties", "json"),
    *("object", "data", "content", "arguments", "parameters", "input"),
)
"""Names under which models put the whole object that was asked for."""
_MOST_WRAPPERS: Final = 3
_BEYOND_ALL: Final = 10**20
"""No whole number as large can be stored."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The context in which a model's reply is validated; without it all is strict."""

    wrappers: frozenset[str]
    """Names, in plain letters, under which the whole object may be."""


class Reply(BaseModel):
    """Base of the shapes that models are asked to fill: every field required, no others."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    left_out: ClassVar[Mapping[str, Json]] = MappingProxyType({})
    """The values of fields, by the names that are asked for, that a reply may lack when it is read."""
    spoken: ClassVar[tuple[str, ...]] = ()
    """The fields whose words are said to others, by their names in Python."""

    @model_validator(mode="before")
    @classmethod
    def _as_it_is_meant(cls, value: Json, info: ValidationInfo) -> Json:
        if not isinstance(info.context, Reading) or not isinstance(value, dict):
            return value
        fields: dict[str, Json] = {}
        _collect(fields, value, _names_of(cls), info.context.wrappers, _MOST_WRAPPERS)
        return cls.completed(fields)

    @classmethod
    def completed(cls, given: dict[str, Json]) -> dict[str, Json]:
        """These fields with those that are left out; kinds add what follows from the others."""
        known = _names_of(cls)
        return {
            **given,
            **{one: usual for one, usual in cls.left_out.items() if one in known and given.get(one) is None},
        }


def read(model: type[ModelT], written: Json, within: Iterable[str] = ()) -> ModelT:
    """The reply in an object that a model wrote, in any form that plainly means one thing.

    within: further names under which the object may be, such as that of the stage.

    Raises:
        ValidationError: it does not fit the shape, or means two things.
    """
    names = (*_WRAPPERS, model.__name__, *within)
    return model.model_validate(written, context=Reading(frozenset(map(in_letters, names))))


def is_reading(info: ValidationInfo) -> bool:
    """Whether a model's reply is read, not data of a client."""
    return isinstance(info.context, Reading)


@lru_cache(maxsize=1024)
def _names_of(model: type[Reply]) -> Mapping[str, str]:
    """The names of the fields as they are asked for, by every way in which they may be written."""
    by_name = bool(model.model_config.get("validate_by_name"))
    asked = {name: field.alias or name for name, field in model.model_fields.items()}
    spelled = [(in_letters(alias), alias) for alias in asked.values()]
    spelled += [(in_letters(name), alias) for name, alias in asked.items() if by_name]
    # Two fields may differ in a sign alone; then only their exact names are known.
    plain = {letters: alias for letters, alias in spelled if len({a for one, a in spelled if one == letters}) == 1}
    return {**plain, **{alias: alias for alias in asked.values()}}


def _collect(
    fields: dict[str, Json], value: Mapping[str, Json], names: Mapping[str, str], wrappers: Collection[str], depth: int
) -> None:
    """Collect the fields of a reply from an object, and from objects around which it is only wrapped.

    Raises:
        ValueError: a field has two values.
    """
    for written, part in value.items():
        letters = in_letters(written)
        name = names.get(written) or names.get(letters)
        if name is None:
            if isinstance(part, dict) and depth and letters in wrappers:
                _collect(fields, part, names, wrappers, depth - 1)
        elif name in fields and fields[name] != part:
            raise ValueError(f"it gives {name} twice, with different values")
        else:
            fields[name] = part


def in_letters(name: str) -> str:
    """The name as far as its spelling counts."""
    return "".join(one for one in name.casefold() if one.isalnum())


def _storable(value: object, info: ValidationInfo) -> object:
    if is_reading(info) and isinstance(value, dict):
        value = spellings.alone(value)
    if not isinstance(value, str):
        return value
    if not is_storable_text(value):
        raise ValueError("text without NUL and without broken characters is expected")
    if not is_reading(info) or not value:
        return value
    said = after_thoughts(value)
    if not said.strip() and value.strip():
        raise ValueError("it is a thought, and says nothing")
    return said


def _reason(value: object, info: ValidationInfo) -> object:
    """No one sees the field, so a thought in it does no harm; it is left out all the same."""
    if not is_reading(info) or not isinstance(value, str):
        return value
    try:
        return after_thoughts(value)
    except ValueError:
        return ""


def _truth(value: object, info: ValidationInfo) -> object:
    """Reads the text "false" as false, and likewise "true"."""
    if is_reading(info):
        said = spellings.truth(value)
        return value if said is None else said
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


def _numeral(bounds: Any, about: str) -> BeforeValidator:
    highest = next((one.le for one in getattr(bounds, "metadata", ()) if getattr(one, "le", None) is not None), None)

    def read_number(value: object, info: ValidationInfo) -> object:
        if not is_reading(info):
            return value
        written = spellings.alone(value)
        if not isinstance(written, str):
            return written
        found = spellings.number(written, about=about, highest=highest)
        if found is None:
            return value
        return int(found) if abs(found) < _BEYOND_ALL and found == found.to_integral_value() else float(found)

    return BeforeValidator(read_number)


Text = Annotated[str, Strict(), BeforeValidator(_storable)]
Reason = Annotated[str, Strict(), BeforeValidator(_storable), BeforeValidator(_reason)]
"""A text that no member reads: the reason for an answer."""
Truth = Annotated[bool, Strict(), BeforeValidator(_truth)]


def text(bounds: Any) -> Any:
    """The type of a text with these bounds, a pydantic Field."""
    # The bounds come before the reader; otherwise the schema for the model would speak of items.
    return Annotated[str, Strict(), bounds, BeforeValidator(_storable)]


def whole_number(bounds: Any, about: str = "") -> Any:
    """The type of a whole number with these bounds, a pydantic Field; `about`: the words of the question, for units."""
    # The bounds come before the reader; otherwise they would be missing in the JSON Schema.
    return Annotated[int, Strict(), bounds, BeforeValidator(_whole), _numeral(bounds, about)]


def number(bounds: Any, about: str = "") -> Any:
    """The type of a number with these bounds, a pydantic Field; `about`: the words of the question, for units."""
    return Annotated[float, Strict(), bounds, BeforeValidator(_finite), _numeral(bounds, about)]


def option(words: Mapping[str, str]) -> Any:
    """The type of one of these options: what each says, by its id."""

    def read_option(value: object, info: ValidationInfo) -> object:
        found = spellings.option(value, words) if is_reading(info) else None
        return value if found is None else found

    return Annotated[Literal[tuple(words)], BeforeValidator(read_option)]


def options(words: Mapping[str, str], bounds: Any, *further: Any) -> Any:
    """The type of a list of these options with these bounds, a pydantic Field."""

    def read_options(value: object, info: ValidationInfo) -> object:
        found = spellings.options(value, words) if is_reading(info) else None
        return value if found is None else found

    one: Any = Literal[tuple(words)]
    return Annotated[list[one], bounds, *further, BeforeValidator(read_options)]


def order(words: Mapping[str, str], bounds: Any, *further: Any) -> Any:
    """The type of an order of these options with these bounds, a pydantic Field: what each says, by its id."""

    def read_order(value: object, info: ValidationInfo) -> object:
        found = orders.order(value, words) if is_reading(info) else None
        return value if found is None else found

    one: Any = Literal[tuple(words)]
    return Annotated[list[one], bounds, *further, BeforeValidator(read_order)]
