"""A stage whose questions, or tasks, may be asked about each row of a table, and what is wrong with its rows."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar, Final, Protocol, Self

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import InitErrorDetails, PydanticCustomError

from parley_lab.base import variables as texts
from parley_lab.base.errors import MOST_PROBLEMS, Problem
from parley_lab.base.rules import Rule, comparisons, is_empty
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds.data import COLUMNS_OF_RUN
from parley_lab.kinds.questions.profiles import bad_attributes
from parley_lab.kinds.questions.rows import (
    ID,
    LONGEST_ID,
    MOST_ASKED,
    ROW,
    AnyRows,
    AskedRow,
    Combination,
    Rows,
    in_row,
    placed_in_file,
    row_by_row,
    written_out,
)

Json = Any
_ROWS: Final[TypeAdapter[Rows]] = TypeAdapter(AnyRows)
_OF_ROWS: Final = ("rows", "one_page_each")
_OF_DATA: Final = (*COLUMNS_OF_RUN, "treatment", "stage", "row")
"""The columns that `rows.csv` has beside those of the rows, and the one beside which tables have the factors."""
_ROW_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class OfRow(Protocol):
    """A question or a task that may be asked about each row."""

    @property
    def id(self) -> str: ...
    @property
    def show_if(self) -> Rule | None: ...
    def of_row(self, row: AskedRow, show_if: Rule | None) -> Self:
        """The same about this row, with an id of its own."""


Variants = Mapping[tuple[str, Combination], tuple[Any, ...]]
"""The questions of each row in each combination of levels."""


class Written:
    """The questions as the file has them, and those of each row in each combination of levels. Stages with the same
    fields are equal whatever was made of them.

    context: that in which the stage was read: the roles of its reader, if there is one.
    """

    __slots__ = ("context", "questions", "variants")

    def __init__(self, questions: Sequence[Json], variants: Variants, context: Json) -> None:
        self.questions = questions
        self.variants = variants
        self.context = context

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Written)

    __hash__ = None  # type: ignore[assignment]  # it is no key


class AskedOfRows(StageConfig):
    """A stage with questions; with `rows` these are the questions of each row, in the order of the rows.

    It is written, stored and changed by treatments as the file has it.
    """

    asked: ClassVar[str] = "questions"
    """The field with what is asked."""
    rows: AnyRows | None = None
    """What the questions are asked about, once for each row: a list of rows, or an object with `items` or a `file`, and
    with how rows are drawn. `{{row.name}}` in a question is the row's value in the column `name`."""
    row_files: SkipJsonSchema[dict[str, str]] = Field(default={}, exclude_if=is_empty)
    """The names under which the lab stores the files whose names have values of rows, by these names. The lab fills it
    in."""
    _written: Written | None = PrivateAttr(default=None)

    @property
    def variants(self) -> Variants:
        """The questions of each row in each combination of levels; empty without rows."""
        return {} if self._written is None else self._written.variants

    @property
    def is_drawn_of_rows(self) -> bool:
        """Whether members have other rows, or in another order, or with other levels."""
        return self.rows is not None and self._written is not None and self.rows.is_drawn

    @model_validator(mode="wrap")
    @classmethod
    def _asked_of_each(cls, value: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        rows, written = _rows_in(value, cls.asked)
        if rows is None:
            return handler(value)
        try:
            stage = handler({**value, "rows": rows, cls.asked: written_out(rows, written, _files_in(value))})
        except ValidationError as error:
            raise _unknown_levels(rows, error.title) or placed_in_file(error, rows, cls.asked, written) from None
        return stage._of_rows(rows, written, info.context)

    def with_items(self, items: Sequence[Mapping[str, Json]]) -> Self:
        """The same questions about these rows, for the same reader."""
        assert self._written is not None
        fields = {**self.model_dump(exclude={"rows"}), self.asked: self._written.questions}
        made = type(self).model_validate({**fields, "rows": {"items": items}}, context=self._written.context)
        return made.of_reader() if self.is_of_reader else made

    def _of_rows(self, rows: Rows, written: Sequence[Json], context: Json) -> Self:
        made: Sequence[OfRow] = getattr(self, self.asked)
        asked = {question.id for question in made[: len(written)]}
        left = iter(made)
        variants: dict[tuple[str, Combination], tuple[OfRow, ...]] = {}
        for number, combination, values in row_by_row(rows):
            row_id, levels = str(values[ID]), dict(zip(rows.levels, combination, strict=True))
            variants[row_id, combination] = tuple(
                one.of_row(
                    AskedRow(row_id, number, one.id, values, levels),
                    None if one.show_if is None else in_row(one.show_if, values, asked, self.id),
                )
                for one in islice(left, len(written))
            )
        first = rows.combined({})
        found = self.model_copy(update={self.asked: tuple(one for row in rows.ids for one in variants[row, first])})
        found._written = Written(written, variants, context)
        return found

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = handler(self)
        if self._written is not None and self.asked in fields:
            return {**fields, self.asked: list(self._written.questions)}
        # What a stage without rows says of itself is what it always was.
        return {name: part for name, part in fields.items() if name not in _OF_ROWS or part not in (None, False)}


def _rows_in(value: Json, asked: str) -> tuple[Rows | None, Sequence[Json]]:
    """The rows and the questions of a stage; None: they cannot be put together, and the check says why."""
    written = value.get(asked) if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or value.get("rows") is None or not isinstance(written, list | tuple):
        return None, ()
    try:
        rows = _ROWS.validate_python(value["rows"])
    except ValidationError:
        return None, ()
    is_usable = 0 < len(rows.listed) * len(rows.combinations) * len(written) <= MOST_ASKED
    return (rows, written) if is_usable else (None, ())


def _unknown_levels(rows: Rows, title: str) -> ValidationError | None:
    """Levels with columns that no row has, which leave questions without what they need; None: there are none."""
    wrong = PydanticCustomError("row_level", _one_of_columns(rows).replace("{", "{{"))
    found = [
        InitErrorDetails(type=wrong, loc=("rows", "levels", name, index), input=column)
        for name, columns in rows.levels.items()
        for index, column in enumerate(columns)
        if column not in rows.columns
    ]
    return ValidationError.from_exception_data(title, found) if found else None


def _files_in(value: Mapping[str, Json]) -> Mapping[str, str]:
    files = value.get("row_files")
    return files if isinstance(files, Mapping) else {}


def rows_problems(stage: AskedOfRows, *, has_profiles: bool = True) -> Iterator[Problem]:
    """`where` is relative to the stage. has_profiles: whether the kind can draw profiles of attributes, too."""
    if stage.rows is None:
        return
    rows = stage.rows
    if rows.file is not None:
        yield Problem("rows.file", "a table", "`items`; or send the table with this file")
    elif not rows.attributes and (rows.never or rows.tasks != 1 or rows.draw != 2):
        yield Problem("rows", "tasks of profiles", "`attributes` beside them; or leave out `tasks`, `draw` and `never`")
    elif rows.attributes and not has_profiles:
        yield Problem(
            "rows.attributes", f"profiles in a {stage.kind}", "a survey, which asks about profiles; or `items`"
        )
    elif rows.attributes:
        yield from bad_attributes(rows)
        yield from _unknown_columns(stage, rows)
    elif not rows.items:
        yield Problem("rows.items", "no rows", "a row for each thing that the questions are about")
    elif stage._written is None:
        yield Problem("rows", f"{len(rows.items)} rows", f"at most {MOST_ASKED} questions in all, each level counted")
    else:
        yield from islice(_bad_ids(rows, stage), MOST_PROBLEMS)
        yield from _refuse_taken_columns(rows)
        yield from _bad_draws(rows)
        yield from _bad_levels(rows)
        yield from _unknown_columns(stage, rows)
    yield from _bad_order(rows)


def _bad_ids(rows: Rows, stage: AskedOfRows) -> Iterator[Problem]:
    written = stage._written.questions if stage._written else ()
    longest = max((len(str(one.get("id", ""))) for one in written if isinstance(one, Mapping)), default=0)
    first: dict[str, int] = {}
    for index, row_id in enumerate(rows.ids):
        where = f"rows.items[{index}].id"
        if not _ROW_ID.fullmatch(row_id):
            expected = "an id of letters, digits, `-` and `_`, at most 64, starting with a letter or digit"
            yield Problem(where, repr(row_id), expected)
        elif row_id in first:
            yield Problem(where, f"{row_id!r}, as in rows.items[{first[row_id]}]", "an id of its own for every row")
        elif len(row_id) + 1 + longest > LONGEST_ID:
            expected = f"at most {LONGEST_ID - 1 - longest} characters: with the ids of questions at most {LONGEST_ID}"
            yield Problem(where, repr(row_id), expected)
        first.setdefault(row_id, index)


def _refuse_taken_columns(rows: Rows) -> Iterator[Problem]:
    """Report columns that the data cannot have beside their own, each at the first row that has it."""
    for name in _OF_DATA:
        index = next((index for index, item in enumerate(rows.items) if name in item), None)
        if index is not None:
            yield Problem(f"rows.items[{index}].{name}", repr(name), "another name: the data have this column")


def _bad_order(rows: Rows) -> Iterator[Problem]:
    if rows.order == "latin" and not rows.shuffle:
        yield Problem("rows.order", "'latin'", "`shuffle: true` beside it: each participant has an order of their own")
    ordered = rows.attributes or rows.items
    if rows.order == "latin" and len(ordered) == 1:
        what = "attributes" if rows.attributes else "rows"
        yield Problem("rows.order", f"'latin' with one of the {what}", f"two {what} or more; or leave out `order`")
    if rows.order == "latin" and rows.take is not None:
        expected = "no `take` beside `order: latin`: rows come equally often in each place where all have all of them"
        yield Problem("rows.take", str(rows.take), expected)


def _bad_draws(rows: Rows) -> Iterator[Problem]:
    if rows.take is not None and rows.take > len(rows.items):
        yield Problem("rows.take", str(rows.take), f"at most {len(rows.items)}, the number of rows")
    if rows.by is None:
        return
    if rows.by not in rows.columns:
        yield Problem("rows.by", repr(rows.by), _one_of_columns(rows))
        return
    if rows.take is None:
        yield Problem("rows.by", repr(rows.by), "`take` beside it: how many rows are drawn")
        return
    empty = [row_id for row_id, item in zip(rows.ids, rows.items, strict=True) if item.get(rows.by) in (None, "")]
    if empty:
        expected = "a column with a value in every row"
        yield Problem("rows.by", f"{rows.by!r}, which is empty in the row {empty[0]}", expected)
        return
    counts = Counter(texts.as_text(item.get(rows.by)) for item in rows.items)
    if len(counts) == 1:
        found = f"{rows.by!r}, which has the value {next(iter(counts))!r} in every row"
        yield Problem("rows.by", found, "a column with two values or more; or leave out `by`")
        return
    each, rest = divmod(rows.take, len(counts))
    if rest:
        expected = f"a multiple of {len(counts)}: {rows.by!r} has the values {', '.join(map(repr, counts))}"
        yield Problem("rows.take", str(rows.take), expected)
        return
    for value, count in counts.items():
        if count < each:
            expected = f"at most {count * len(counts)}: {count} have {value!r} in {rows.by!r}"
            yield Problem("rows.take", str(rows.take), expected)


def _bad_levels(rows: Rows) -> Iterator[Problem]:
    for name, columns in rows.levels.items():
        if name in rows.columns or name == ID:
            yield Problem(f"rows.levels.{name}", repr(name), "a name that no column has")
        if len(set(columns)) != len(columns) or len(columns) < 2:
            yield Problem(f"rows.levels.{name}", ", ".join(columns) or "nothing", "two columns or more, each once")
        for index, column in enumerate(columns):
            if column not in rows.columns:
                yield Problem(f"rows.levels.{name}[{index}]", repr(column), _one_of_columns(rows))


def _unknown_columns(stage: AskedOfRows, rows: Rows) -> Iterator[Problem]:
    """Places of rows that no column fills, and those where no row is."""
    fields = {name: part for name, part in stage.model_dump(mode="json").items() if name != "rows"}
    known = {ID, *rows.columns, *rows.levels}
    for where, name in texts.places(fields):
        scope, _, column = name.partition(".")
        if scope != ROW:
            continue
        if not where.startswith(f"{stage.asked}["):
            yield Problem(where, f"`{{{{{name}}}}}`", "a text of a question: the stage itself is about no row")
        elif column not in known:
            yield Problem(where, f"`{{{{{name}}}}}`", _one_of_columns(rows))


def _one_of_columns(rows: Rows) -> str:
    return f"one of the columns {', '.join(rows.columns)}" if rows.columns else "a column: the rows have none"


def columns_compared(rule: Rule | None, row: AskedRow | None, where: str) -> Iterator[Problem]:
    """Rules over columns that the row does not have, or where there is no row."""
    columns = [] if row is None else [*row.values]
    expected = f"one of the columns {', '.join(columns)}" if columns else "`rows` of the stage, with this column"
    for place, comparison in () if rule is None else comparisons(rule, where):
        if comparison.row is not None and comparison.row not in columns:
            yield Problem(f"{place}.row", repr(comparison.row), expected)


def in_file(stage: AskedOfRows, problems: Iterable[Problem]) -> list[Problem]:
    """The problems of questions at their places in the file; of what many rows have the first at each place."""
    if stage.rows is None or stage._written is None:
        return list(problems)
    told: dict[str, Problem] = {}
    for problem in problems:
        place = re.match(rf"{stage.asked}\[(\d+)\]", problem.where)
        row, number = divmod(int(place[1]), len(stage._written.questions)) if place else (0, 0)
        where = f"{stage.asked}[{number}]{problem.where[place.end() :]}" if place else problem.where
        found = f"{problem.found}, in the row {stage.rows.ids[row]}" if place else problem.found
        told.setdefault(where, replace(problem, where=where, found=found))
    return list(told.values())
