"""Texts of stages, of which a part may be for one role only, or for those of whom a rule is true.

A file writes a text as a string, as `{text, for}` or `{text, show_if}`, or as a list of these. What is read without
roles holds the parts for all, so that code which knows no reader shows no member what is not theirs; it is written back
as in the file. `for_roles` is the context in which the same fields are read for one reader.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

from annotated_types import MinLen
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    PlainSerializer,
    Tag,
    ValidationInfo,
)
from pydantic_core import CoreSchema
from typing_extensions import TypeAliasType

from parley_lab.base.rules import Rule, applies

Json = Any

_ROLES: Final = "roles"
_FIELDS: Final = frozenset({"text", "for", "show_if"})


class TextBlock(BaseModel):
    """A part of a text for one role."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    text: str
    """What those for whom it is read, in place of nothing for all others."""
    for_role: str = Field(alias="for")
    """The role that an earlier stage gives."""

    def is_for(self, roles: Collection[str]) -> bool:
        return self.for_role in roles

    def written(self) -> Json:
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class RuledBlock(TextBlock):
    """A part of a text for those of whom a rule is true."""

    for_role: str | None = Field(default=None, alias="for")  # type: ignore[assignment]  # here it may be left out
    """The role that an earlier stage gives; left out: whatever role they have."""
    show_if: Rule
    """The rule, over what is known of a reader."""

    def is_for(self, roles: Collection[str]) -> bool:
        return (self.for_role is None or self.for_role in roles) and applies(self.show_if)


def for_roles(roles: Collection[str]) -> dict[str, Json]:
    """The context in which texts are read for a member with these roles."""
    return {_ROLES: roles}


def named_roles(fields: Json, where: str = "") -> Iterator[tuple[str, str]]:
    """Every role that texts in the fields of a stage are for: the path of its `for`, and the role."""
    if isinstance(fields, Mapping):
        if "for" in fields and fields.keys() <= _FIELDS:
            yield f"{where}.for", fields["for"]
            return
        for name, part in fields.items():
            yield from named_roles(part, f"{where}.{name}" if where else str(name))
    elif isinstance(fields, list | tuple):
        for index, part in enumerate(fields):
            yield from named_roles(part, f"{where}[{index}]")


def has_blocks(fields: Json) -> bool:
    """Whether a text in the fields of a stage has parts that are not for all."""
    if isinstance(fields, Mapping):
        is_block = "text" in fields and len(fields) > 1 and fields.keys() <= _FIELDS
        return is_block or any(map(has_blocks, fields.values()))
    return isinstance(fields, list | tuple) and any(map(has_blocks, fields))


class _PartedText(str):
    """The part of a text that is for all, with all its parts."""

    parts: list[Json]


class _PartedLines(tuple[str, ...]):
    """The same of a list of lines."""

    parts: list[Json]


def _read_for(value: Sequence[str | TextBlock], info: ValidationInfo) -> tuple[list[str], bool]:
    """The parts that are the reader's, and whether a reader is known."""
    roles = (info.context or {}).get(_ROLES)
    mine = [one for one in value if isinstance(one, str) or (roles is not None and one.is_for(roles))]
    return [one if isinstance(one, str) else one.text for one in mine], roles is not None


def _written(value: Sequence[str | TextBlock]) -> list[Json]:
    return [one if isinstance(one, str) else one.written() for one in value]


def _as_text(value: str | TextBlock | Sequence[str | TextBlock], info: ValidationInfo) -> str:
    if isinstance(value, str):
        return value
    parts = [value] if isinstance(value, TextBlock) else value
    mine, is_for_reader = _read_for(parts, info)
    found = "\n\n".join(mine)
    if is_for_reader:
        return found
    parted = _PartedText(found)
    parted.parts = _written(parts)
    return parted


def _as_lines(value: Sequence[str | TextBlock], info: ValidationInfo) -> tuple[str, ...]:
    mine, is_for_reader = _read_for(value, info)
    if is_for_reader or all(isinstance(one, str) for one in value):
        return tuple(mine)
    parted = _PartedLines(mine)
    parted.parts = _written(value)
    return parted


def _as_file_has_it(value: str | Sequence[str]) -> Json:
    if isinstance(value, _PartedText | _PartedLines):
        return value.parts
    return value


def _way_of_part(value: Json) -> str:
    """How a part is written; names in angle brackets are left out of the places of problems.

    A mapping with none of the fields is a text with a colon, which YAML has read as an object.
    """
    if isinstance(value, RuledBlock) or (isinstance(value, Mapping) and "show_if" in value):
        return "<ruled>"
    is_block = isinstance(value, TextBlock) or (isinstance(value, Mapping) and not _FIELDS.isdisjoint(value))
    return "<block>" if is_block else "<text>"


def _way_of_text(value: Json) -> str:
    return "<parts>" if isinstance(value, list | tuple) else _way_of_part(value)


_Block = Annotated[TextBlock, Tag("<block>")] | Annotated[RuledBlock, Tag("<ruled>")]
_Part = Annotated[Annotated[str, Tag("<text>")] | _Block, Discriminator(_way_of_part)]
_Parts = Annotated[list[_Part], MinLen(1)]
_AS_WRITTEN: Final = PlainSerializer(_as_file_has_it, return_type=Any)


class _InParts:
    """Makes pydantic read a field of type str, or tuple[str, ...], as one that may be written in parts."""

    def __init__(self, written: Any) -> None:
        self._written = written

    def __get_pydantic_core_schema__(self, _source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(self._written)


def _text(name: str, words: Any) -> Any:
    written = Annotated[words, Tag("<text>")] | _Block | Annotated[_Parts, Tag("<parts>")]
    read = Annotated[written, Discriminator(_way_of_text), AfterValidator(_as_text), _AS_WRITTEN]
    # With a name the JSON Schema has it once.
    return TypeAliasType(name, read)


Text = Annotated[str, _InParts(_text("Text", str))]
"""A text, whose parts are paragraphs."""

Title = Annotated[str, _InParts(_text("Title", Annotated[str, MinLen(1)]))]
"""A text that the file may not leave empty; empty for a reader for whom no part is."""

_LINES: Any = TypeAliasType("Lines", Annotated[_Parts, AfterValidator(_as_lines), _AS_WRITTEN])

Lines = Annotated[tuple[str, ...], _InParts(_LINES)]
"""Lines, at least one, each for all or for one role."""
