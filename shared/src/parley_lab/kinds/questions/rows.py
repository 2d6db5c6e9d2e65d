"""Questions from rows: the questions of a stage, asked about each row of a table. Pure.

A stage keeps its questions as the file writes them, and writes them back so. What everything else reads, in
`questions`, are those of each row, with the row's values in their texts and bounds; the question `guess` of the row
`everest` is `everest.guess`.
"""

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError
from pydantic_core.core_schema import ErrorType

from parley_lab.base import rules
from parley_lab.base import variables as texts
from parley_lab.base.errors import IN_WORDS, Problem
from parley_lab.contracts.experiment import Document, Slug
from parley_lab.contracts.media import named_files

Json = Any
Cell = str | int | float | bool | None
Attribute = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,40}$")]
PROFILES: Final = "abcdefgh"
MOST_TASKS: Final = 100
"""How the profiles of a task are named."""
Order = Literal["drawn", "latin"]


def is_usual_order(value: object) -> bool:
    """Whether it is the order that a file need not write."""
    return value == "drawn"


ROW: Final = texts.OF_ROW
ID: Final = "id"
_ASKED: Final = ("questions", "tasks")
_OF_MEDIUM: Final = ("file", "link")
_PLACES_OF_MEDIA: Final = (".file", ".link")
MOST_ASKED: Final = 20_000
"""The limit of questions from rows on one stage, each level of a row counted."""
LONGEST_ID: Final = 64
"""The limit of the id of a question of a row, since models are asked for fields of that name."""
AnyRule = rules.AllOf | rules.AnyOf | rules.Comparison
Combination = tuple[str, ...]
"""A level of each of a stage's `levels`, in their order."""


@dataclass(frozen=True, slots=True)
class AskedRow:
    """The row that a question is from. `number`: its place in the file, from 1. `asks`: the question's id in the file.
    `values`: what texts may name of it. `levels`: those that `values` has, by name."""

    id: str
    number: int
    asks: str
    values: Mapping[str, Json] = field(compare=False)
    levels: Mapping[str, str] = field(default_factory=dict)


class Rows(Document):
    """What the questions of a stage are asked about: a row for each."""

    items: tuple[dict[str, Cell], ...] = Field(default=(), max_length=10_000)
    """The rows, each with the values of its columns. `id` names a row in the data; left out: its place, from 1."""
    file: str | None = None
    """A table with a header, in the folder of the experiment file or below, instead of `items`: CSV, .xlsx or .ods."""
    sheet: str | None = None
    """The sheet of a spreadsheet; left out: the first one."""
    encoding: str | None = None
    """The encoding of a CSV file, such as `windows-1251`; left out: UTF-8, UTF-16 or Windows-1252."""
    numbers: tuple[str, ...] = ()
    """Columns of a file whose cells are numbers."""
    shuffle: bool = False
    """Whether each participant has the rows in a different order; with `attributes`, these."""
    order: Order = Field(default="drawn", exclude_if=is_usual_order)
    """How the order of `shuffle` comes about. `drawn`: by chance. `latin`: seat after seat has the next order of a
    balanced Latin square, in which each row comes equally often in each place and right after each other one."""
    take: int | None = Field(default=None, ge=1)
    """How many rows are drawn for each participant; left out: all."""
    by: str | None = None
    """A column: of each of its values as many rows are drawn."""
    attributes: dict[Attribute, tuple[Cell, ...]] = Field(default={}, max_length=20)
    """Instead of rows: attributes with their levels. Each row is a task with profiles, `a`, `b` and so on, whose levels
    are drawn for each participant; `{{row.a}}` is a profile in words, and `{{row.a_price}}` one of its levels."""
    tasks: int = Field(default=1, ge=1, le=MOST_TASKS)
    """How many tasks there are, with `attributes`."""
    draw: int = Field(default=2, ge=1, le=8)
    """How many profiles a task has, no two of them the same."""
    never: tuple[dict[Attribute, Cell], ...] = ()
    """Combinations of levels that no profile has."""
    levels: dict[Slug, tuple[str, ...]] = Field(default={}, max_length=4)
    """Names with columns, such as `anchor: [low, high]`: for each participant and row one of the columns is drawn, each
    as often, and `{{row.anchor}}` is the row's value in it."""
    names: SkipJsonSchema[tuple[str, ...]] = Field(default=(), exclude_if=rules.is_empty)
    """The columns, or the attributes, in the order of the file. The lab fills it in: keys of stored objects keep no
    order."""

    @model_validator(mode="before")
    @classmethod
    def _in_order(cls, fields: Json) -> Json:
        if not isinstance(fields, Mapping):
            return fields
        items, attributes = fields.get("items"), fields.get("attributes")
        listed = [attributes] if attributes else items if isinstance(items, list | tuple) else ()
        given = fields.get("names", ())
        is_plain = isinstance(given, list | tuple) and all(isinstance(name, str) for name in given)
        if not is_plain or not all(isinstance(one, Mapping) for one in listed):
            return fields
        names = [*dict.fromkeys([*given, *(name for one in listed for name in one)])]
        found = {**fields, "names": names}
        return (
            {**found, "attributes": {one: attributes[one] for one in names if one in attributes}}
            if attributes
            else found
        )

    @property
    def listed(self) -> Sequence[Mapping[str, Cell]]:
        """The rows; with attributes an example of each task, since participants have tasks of their own."""
        if not self.attributes:
            return self.items
        profile = {name: levels[0] for name, levels in self.attributes.items() if levels}
        return [as_item(number, [profile] * self.draw) for number in range(1, self.tasks + 1)]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(id_of(item, number) for number, item in enumerate(self.listed, start=1))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that any row has, in the order of the file."""
        found = dict.fromkeys(name for item in self.listed for name in item)
        return tuple(dict.fromkeys([*(name for name in self.names if name in found), *found]))

    @property
    def is_drawn(self) -> bool:
        """Whether members have other rows, or in another order, or with other levels."""
        return self.shuffle or self.take is not None or bool(self.levels) or bool(self.attributes)

    @property
    def combinations(self) -> tuple[Combination, ...]:
        return tuple(product(*self.levels.values()))

    def combined(self, levels: Mapping[str, str]) -> Combination:
        """The combination of these levels; of a level that is not named the first."""
        return tuple(levels.get(name, columns[0]) for name, columns in self.levels.items())


def as_item(number: int, profiles: Sequence[Mapping[str, Cell]]) -> dict[str, Cell]:
    """A task as a row: its number, each profile in words, and each of its levels."""
    item: dict[str, Cell] = {ID: str(number)}
    for letter, profile in zip(PROFILES, profiles, strict=False):
        said = (f"{name.replace('_', ' ')}: {texts.as_text(level)}" for name, level in profile.items())
        item |= {letter: "; ".join(said), **{f"{letter}_{name}": level for name, level in profile.items()}}
    return item


def id_of(item: Mapping[str, Json], number: int) -> str:
    return texts.as_text(item[ID]) if item.get(ID) is not None else str(number)


def _as_rows(value: Json) -> Json:
    if isinstance(value, str):
        raise PydanticCustomError("rows", "a list of rows, or a table: `{ file: {name} }`", {"name": value})
    return {"items": value} if isinstance(value, list | tuple) else value


AnyRows = Annotated[Rows, BeforeValidator(_as_rows)]
"""Rows as a list, or with how they are asked."""


def written_out(rows: Rows, questions: Sequence[Json], files: Mapping[str, str]) -> list[Json]:
    """The questions of each row in each combination of levels, with the row's values: rows first, then combinations.

    files: the names under which the lab stores the files that the questions show, by the names in the file.
    """
    named_by_texts = (name_for_texts(values) for _, _, values in row_by_row(rows))
    written = [with_row(question, values) for values in named_by_texts for question in questions]
    for _, one in named_files(written) if files else ():
        one["file"] = files.get(one["file"], one["file"])
    return written


def name_for_texts(values: Mapping[str, Json]) -> Mapping[str, Json]:
    """Name each value as a whole: a column may have spaces, points and letters that names of variables lack."""
    return {f"{ROW}.{name}": value for name, value in values.items()}


def row_by_row(rows: Rows) -> Iterator[tuple[int, Combination, Mapping[str, Json]]]:
    """Each row in each combination of levels: its number from 1, and what texts may name of it."""
    empty = dict.fromkeys(rows.columns)
    combinations = rows.combinations
    for number, (row_id, item) in enumerate(zip(rows.ids, rows.listed, strict=True), start=1):
        for combination in combinations:
            levels = {name: item.get(column) for name, column in zip(rows.levels, combination, strict=True)}
            yield number, combination, {**empty, **item, ID: row_id, **levels}


def with_row(value: Json, row: Mapping[str, Json]) -> Json:
    """The values with those of the row in their texts; a field that is nothing but an empty cell is left out, and so is
    a picture or another medium whose name or address has an empty cell."""
    if isinstance(value, str):
        if "{{" not in value:
            return value
        filled = texts.fill(value, row)
        return None if filled == "" else filled
    if isinstance(value, Mapping):
        parts = {key: with_row(part, row) for key, part in value.items() if not _shows_nothing(part, row)}
        return {key: part for key, part in parts.items() if part is not None or value[key] is None}
    if isinstance(value, list | tuple):
        return [with_row(part, row) for part in value if not _shows_nothing(part, row)]
    return value


def _shows_nothing(value: Json, row: Mapping[str, Json]) -> bool:
    """Whether this is a medium of which the row has none."""
    named = (value.get(name) for name in _OF_MEDIUM) if isinstance(value, Mapping) else ()
    return any(has_empty_cell(one, row) for one in named if isinstance(one, str) and ROW in one)


def has_empty_cell(text: str, row: Mapping[str, Json]) -> bool:
    """Whether the text names a column that is empty in this row. row: as texts name its values."""
    names = (name for _, name in texts.places(text))
    return any(name in row and texts.as_text(row[name]).strip() == "" for name in names)


def in_row(rule: AnyRule, values: Mapping[str, Json], asked: Container[str], here: str) -> AnyRule:
    """The rule of a question in the row of these values: what it says of a question of this stage is said of the row's,
    and columns have their values."""

    def say(one: rules.Comparison) -> rules.Comparison:
        if one.row is not None:
            return one.model_copy(update={"given": values.get(one.row)})
        if one.stage in (None, here) and one.question is not None and one.question in asked:
            return one.model_copy(update={"question": named(str(values[ID]), one.question)})
        return one

    return rules.with_each(rule, say)


def fill_stage(fields: Mapping[str, Json], variables: Mapping[str, Json]) -> dict[str, Json]:
    """The fields of a stage with variables in their texts. Its rows fill what is asked once more: braces in the value
    of a variable are no place for a value of theirs."""
    has_rows = bool(filled_by_rows(fields))
    return {
        name: texts.fill_before(part, variables) if has_rows and name in _ASKED else texts.fill(part, variables)
        for name, part in fields.items()
    }


def filled_by_rows(fields: Json) -> tuple[str, ...]:
    """The first parts of names in a stage's texts that its rows fill."""
    return (ROW,) if isinstance(fields, Mapping) and fields.get("rows") is not None else ()


def left_empty(stage: Json, where: str) -> Iterator[Problem]:
    """Values among other words of a text that some rows do not have: most likely a slip in the name of a column, or a
    cell that was forgotten. One for each column. `stage`: its fields in the file, before any check."""
    rows = stage.get("rows") if isinstance(stage, Mapping) else None
    listed = rows.get("items") if isinstance(rows, Mapping) else rows
    items = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    columns, told = {name for item in items for name in item}, set[str]()
    asked = {name: stage.get(name) for name in _ASKED} if items else {}
    for place, name in texts.places_in_part(asked, where):
        column = name.removeprefix(f"{ROW}.")
        if name == column or column not in columns or column in told or place.endswith(_PLACES_OF_MEDIA):
            continue
        told.add(column)
        empty = [id_of(item, number) for number, item in enumerate(items, 1) if item.get(column) in (None, "")]
        if empty:
            which = f"the row {empty[0]}" if len(empty) == 1 else f"{len(empty)} rows, first in {empty[0]}"
            found, expected = f"`{{{{{name}}}}}`", "a value in every row"
            wrong, hint = f"{found} is empty in {which}", f"Write {expected} if one is meant."
            yield Problem(place, found, expected, wrong, hint, code=IN_WORDS)


def rules_of_no_row(stage: Json, where: str) -> Iterator[Problem]:
    """Rules that hold in no row, since no row has the value: a slip, or a text that is compared with a number.

    stage: its fields in the file, before any check.
    """
    rows = stage.get("rows") if isinstance(stage, Mapping) else None
    listed = rows.get("items") if isinstance(rows, Mapping) else rows
    items = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    for place, rule in _rules_over_rows({name: stage.get(name) for name in _ASKED} if items else {}, where):
        column, value = rule.get("row"), rule.get("value")
        values = [item[column] for item in items if item.get(column) is not None]
        if not values or value in values or rule.get("operator", "equals") != "equals":
            continue
        meant = next((one for one in values if texts.as_text(one) == texts.as_text(value)), None)
        found, expected = f"`value: {json.dumps(value)}`", f"a value of {column!r}"
        wrong = f"no row has {json.dumps(value)} in {column!r}, so this is asked about none"
        hint = f"Write {expected}." if meant is None else f"Write `value: {json.dumps(meant)}`: the cells are texts."
        yield Problem(place, found, expected, wrong, hint, code=IN_WORDS)


def _rules_over_rows(value: Json, where: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    if isinstance(value, Mapping):
        if isinstance(value.get("row"), str) and "value" in value:
            yield where, value
        for name, part in value.items():
            yield from _rules_over_rows(part, f"{where}.{name}")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _rules_over_rows(part, f"{where}[{index}]")


def named(row_id: str, question_id: str) -> str:
    """The id of a row's question."""
    return f"{row_id}.{question_id}"


_KNOWN_ERRORS: Final = frozenset(get_args(ErrorType))


def placed_in_file(error: ValidationError, rows: Rows, field: str, written: Sequence[Json]) -> ValidationError:
    """The error with its places in the questions of the file; what many rows have is said of the first.

    field: the one with the questions. written: these, as the file has them.
    """
    told: dict[tuple[int | str, ...], InitErrorDetails] = {}
    ids, asked = rows.ids, len(written)
    for one in error.errors(include_url=False):
        loc, found = one["loc"], one["input"]
        if len(loc) > 1 and loc[0] == field and isinstance(loc[1], int) and asked:
            row_id, place = ids[loc[1] // (asked * len(rows.combinations))], loc[1] % asked
            text = _text_of_row(written[place], loc[2:]) if one["type"] == "missing" else None
            loc = (field, place, *loc[2:])
            if text is not None:
                needed = PydanticCustomError("empty_cell", "a value in this row")
                cell = InitErrorDetails(type=needed, loc=loc, input=f"{text}, which is empty in the row {row_id}")
                told.setdefault((*loc, one["type"]), cell)
                continue
            found = f"{found}, in the row {row_id}" if isinstance(found, str) else found
        told.setdefault((*loc, one["type"]), _again(one, loc, found))
    return ValidationError.from_exception_data(error.title, list(told.values()))


def _text_of_row(value: Json, loc: Sequence[int | str]) -> str | None:
    """The text with values of rows that a question of the file has at this place."""
    for part in loc:
        is_key = isinstance(value, Mapping) and part in value
        if is_key or (isinstance(value, list | tuple) and isinstance(part, int) and part < len(value)):
            value = value[part]
    return value if isinstance(value, str) and ROW in value else None


def _again(one: ErrorDetails, loc: tuple[int | str, ...], found: Json) -> InitErrorDetails:
    ctx = one.get("ctx", {})
    if one["type"] in _KNOWN_ERRORS:
        return InitErrorDetails(type=one["type"], loc=loc, input=found, ctx=ctx)
    return InitErrorDetails(type=PydanticCustomError(one["type"], one["msg"].replace("{", "{{")), loc=loc, input=found)
