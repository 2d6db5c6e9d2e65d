"""Types for the fields of a model's reply.

Schemas for providers, and answers of people over REST, are strict: every field, no others, each of its type. A reply
that is read with `read` may be written in other forms, as long as it plainly means one thing (`spellings`).
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Strict, TypeAdapter, ValidationInfo, model_validator
from pydantic.fields import FieldInfo

from parley_lab.base.replies import meant, orders, spellings
from parley_lab.base.replies.labels import words_after_labels
from parley_lab.base.replies.thoughts import after_thoughts
from parley_lab.base.storable import is_storable_number, is_storable_text

ModelT = TypeVar("ModelT", bound=BaseModel)
Json = Any

_WRAPPERS: Final = (
    *("answer", "answers", "reply", "response", "result", "output", "final", "final answer", "properties", "json"),
    *("responses", "object", "data", "content", "message", "arguments", "parameters", "input"),
)
"""Names under which models put the whole object that was asked for."""
_QUESTION_NAMES: Final = frozenset({"question", "questionid", "id", "name", "field", "key"})
_ANSWER_NAMES: Final = frozenset({"answer", "value", "response", "reply", "choice", "selected", "rating", "score"})
_MOST_WRAPPERS: Final = 3
_NOT_STORABLE: Final = "text without NUL and without broken characters is expected"
_BEYOND_ALL: Final = 10**20
"""No whole number as large can be stored."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The context in which a model's reply is validated; without it all is strict."""

    wrappers: frozenset[str]
    """Names, in plain letters, under which the whole object may be."""
    takes_other_names: bool = True
    """Whether the one answer of a reply may have another name than its field."""


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
        others: list[meant.Other] = []
        _collect(fields, others, value, _names_of(cls), info.context.wrappers, _MOST_WRAPPERS)
        if others and info.context.takes_other_names and (asked := _one_answer_of(cls)) is not None:
            fields |= _under_other_names(asked, fields, others, value, info.context)
        return cls.completed(fields)

    @classmethod
    def completed(cls, given: dict[str, Json]) -> dict[str, Json]:
        """These fields with those that are left out; kinds add what follows from the others."""
        known = _names_of(cls)
        return {
            **given,
            **{one: usual for one, usual in cls.left_out.items() if one in known and given.get(one) is None},
        }


def read(model: type[ModelT], written: Json, within: Iterable[str] = (), *, takes_other_names: bool = True) -> ModelT:
    """The reply in an object that a model wrote, in any form that plainly means one thing.

    within: further names under which the object may be, such as that of the stage. takes_other_names: whether the one
    answer of a reply may have another name than its field.

    Raises:
        ValidationError: it does not fit the shape, or means two things.
    """
    wrappers = _wrappers_of(model.__name__, tuple(within))
    return model.model_validate(written, context=Reading(wrappers, takes_other_names))


@lru_cache(maxsize=1024)
def _wrappers_of(shape: str, within: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(in_letters, (*_WRAPPERS, shape, *within)))


def fields_in_text(model: type[BaseModel], text: str) -> dict[str, Json] | None:
    """The fields of a reply without an object: a list of lines that name or count them, or the one answer alone.

    None without a plain one. A text is no answer where words are asked for: it may be a refusal.
    """
    if not issubclass(model, Reply) or "{" in spellings.bare(text):
        return None
    lines = meant.read_lines(text, _names_of(model), in_letters)
    asked = _one_answer_of(model) if lines is None else None
    return lines if asked is None or asked.is_words else {asked.name: _list_in(text)}


def _list_in(text: str) -> Json:
    """The list that the text is; the text itself where it is none."""
    try:
        value = json.loads(spellings.bare(text)) if "[" in text else None
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, list) else text


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


@dataclass(frozen=True, slots=True)
class _OneAnswer:
    """The one field of a reply that answers; `is_words`: it is a text. `read` reads a value of it."""

    name: str
    is_words: bool
    read: Callable[[Json, Reading], Json]


@lru_cache(maxsize=1024)
def _one_answer_of(model: type[Reply]) -> _OneAnswer | None:
    """None where a reply answers several questions."""
    fields = {field.alias or name: (name, field) for name, field in model.model_fields.items()}
    answers = [
        alias
        for alias, (name, field) in fields.items()
        if (name in model.spoken if model.spoken else alias not in model.left_out and not _is_reason(field))
    ]
    if len(answers) != 1:
        return None
    field = fields[answers[0]][1]
    expected: Any = Annotated[field.annotation, *field.metadata]
    adapter: TypeAdapter[Json] = TypeAdapter(expected)

    def read_value(value: Json, context: Reading) -> Json:
        return adapter.validate_python(value, context=context)

    return _OneAnswer(answers[0], bool(model.spoken) or field.annotation is str, read_value)


def _is_reason(field: FieldInfo) -> bool:
    return any(isinstance(one, BeforeValidator) and one.func is _reason for one in field.metadata)


def _under_other_names(
    asked: _OneAnswer, fields: Mapping[str, Json], others: Sequence[meant.Other], value: Json, context: Reading
) -> dict[str, Json]:
    """The one answer of a reply as its field, from whatever names it has.

    Raises:
        ValueError: there are two readings.
    """
    found = meant.answer_under_other_names(
        fields.get(asked.name), others, lambda part: asked.read(part, context), is_words=asked.is_words
    )
    if found is None and asked.name not in fields and not asked.is_words:
        found = meant.without_remarks(value, in_letters)
    return {} if found is None else {asked.name: found}


def _collect(
    fields: dict[str, Json],
    others: list[meant.Other],
    value: Mapping[str, Json],
    names: Mapping[str, str],
    wrappers: Collection[str],
    depth: int,
) -> bool:
    """Collect the fields of a reply from an object, and from objects around which it is only wrapped; `others` are
    parts with names that were not asked for. True if there were any fields.

    Raises:
        ValueError: a field has two values.
    """
    has_any = False
    for written, part in value.items():
        letters = in_letters(written)
        name = names.get(written) or names.get(letters)
        if name is None:
            insides = _unwrap(part) if depth and letters in wrappers else ()
            found = [_collect(fields, others, inside, names, wrappers, depth - 1) for inside in insides]
            if any(found):
                has_any = True
            else:
                others.append((letters, part))
        elif name in fields and fields[name] != part:
            raise ValueError(f"it gives {name} twice, with different values")
        else:
            fields[name], has_any = part, True
    return has_any


def _unwrap(part: Json) -> Iterator[Mapping[str, Json]]:
    """Yield the objects in which answers are wrapped: one, or one for each question, by its name."""
    if isinstance(part, dict):
        yield part
    elif isinstance(part, list) and all(isinstance(one, dict) for one in part):
        for one in part:
            named = [
                said for name, said in one.items() if in_letters(name) in _QUESTION_NAMES and isinstance(said, str)
            ]
            said = [said for name, said in one.items() if in_letters(name) in _ANSWER_NAMES]
            if len(named) == 1 and len(said) == 1:
                yield {named[0]: said[0]}


def in_letters(name: str) -> str:
    """The name as far as its spelling counts."""
    return "".join(one for one in name.casefold() if one.isalnum())


def _storable(value: object, info: ValidationInfo) -> object:
    if is_reading(info) and isinstance(value, dict):
        value = spellings.alone(value)
    if not isinstance(value, str):
        return value
    if not is_storable_text(value):
        raise ValueError(_NOT_STORABLE)
    if not is_reading(info) or not value:
        return value
    said = words_after_labels(after_thoughts(value))
    if not said.strip() and value.strip():
        raise ValueError("it is a thought, and says nothing")
    return said


def _storable_reason(value: object, info: ValidationInfo) -> object:
    if isinstance(value, str) and not is_storable_text(value):
        raise ValueError(_NOT_STORABLE)
    return value


def _reason(value: object, info: ValidationInfo) -> object:
    """No one sees the field, so a thought in it does no harm; it is left out all the same."""
    value = spellings.alone(value) if is_reading(info) and isinstance(value, dict) else value
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
Reason = Annotated[str, Strict(), BeforeValidator(_storable_reason), BeforeValidator(_reason)]
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
    return Annotated[Literal[tuple(words)], _read_by(spellings.option, words)]


def options(words: Mapping[str, str], bounds: Any, *further: Any) -> Any:
    """The type of a list of these options with these bounds, a pydantic Field."""
    one: Any = Literal[tuple(words)]
    return Annotated[list[one], bounds, *further, _read_by(spellings.options, words)]


def order(words: Mapping[str, str], bounds: Any, *further: Any) -> Any:
    """The type of an order of these options with these bounds, a pydantic Field: what each says, by its id."""
    one: Any = Literal[tuple(words)]
    return Annotated[list[one], bounds, *further, _read_by(orders.order, words)]


def _read_by(find: Callable[[object, Mapping[str, str]], object | None], words: Mapping[str, str]) -> BeforeValidator:
    """Takes what `find` finds in the value of a reply; other values, and those without a plain one, stay."""

    def read_value(value: object, info: ValidationInfo) -> object:
        found = find(value, words) if is_reading(info) else None
        return value if found is None else found

    return BeforeValidator(read_value)
