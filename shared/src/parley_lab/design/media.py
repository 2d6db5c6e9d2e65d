"""Replaces the names of files in an experiment by those under which their contents are stored, before it is checked."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any, Final

from parley_lab.base import variables as texts
from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.contracts.media import StoredFile, as_stored, ending_of, is_stored_name, named_files
from parley_lab.kinds.questions.rows import ID, MOST_TASKS, PROFILES, ROW, has_empty_cell, id_of

Json = Any
ReadMedium = Callable[[str], bytes | str]
"""Reads the content of the file with the name that the experiment file gives, or gives the name under which the lab has
stored it."""

_OF_ARMS: Final = ("treatments", "factors")
_WITH_FILES: Final = ("stages", *_OF_ARMS)
_A_ROW: Final = re.compile(r"\.rows(\.items)?\[\d+\]")
_STORED: Final = "row_files"
"""The field of a stage with the names under which the files of its rows are stored."""
_MOST_NAMES: Final = 20_000
"""The limit of the files that one name with values of rows stands for."""


def named(value: Json) -> Iterator[tuple[str, dict[str, Json]]]:
    """Every object in the values of an experiment that names a file, with its place; no row of a table does."""
    for part in _WITH_FILES:
        if isinstance(value, Mapping):
            yield from (found for found in named_files(value.get(part), part) if not _A_ROW.search(found[0]))


def with_media(value: Json, read_medium: ReadMedium) -> tuple[Json, list[StoredFile], list[Problem]]:
    """The values with the names of stored files, these files, each once, and the problems of those that cannot be.

    The name of a stored file stays as it is where there is no such file beside the experiment. A name with values of
    rows stays, too: its stage has the names of the stored files by those that it stands for.
    """
    whole = deepcopy(value)
    found: dict[str, StoredFile] = {}
    problems: list[Problem] = []

    def kept(where: str, name: str, in_row: str = "") -> str:
        """The name of the stored file; that of the file where it cannot be stored."""
        if ending_of(name) is None:
            # The check of the stage says so.
            return name
        try:
            stored = _fitting(name, read_medium(name))
        except InvalidInput as error:
            if not is_stored_name(name):
                problems.extend(replace(each, where=where, found=f"{each.found}{in_row}") for each in error.problems)
            return name
        if isinstance(stored, str):
            return stored
        found[stored.name] = stored
        return stored.name

    for where, one in named(whole):
        if not _names_row(one["file"]):
            one["file"] = kept(f"{where}.file", one["file"])
    tried: dict[tuple[str, str], str] = {}
    for each in [one for one in _named_by_rows(whole) if one.stored_name == one.name]:
        at = (str(each.stage.get("id")), each.name)
        if at not in tried:
            tried[at] = kept(each.where, each.name, each.in_row)
        if tried[at] != each.name:
            if not isinstance(each.stage.get(_STORED), dict):
                each.stage[_STORED] = {}
            each.stage[_STORED][each.name] = tried[at]
    return whole, list(found.values()), problems


def stored_names(value: Json) -> Iterator[tuple[str, str]]:
    """The place and the name of each stored file that stages show, in an experiment with the names of stored files."""
    for where, one in named(value):
        if not _names_row(one["file"]):
            yield f"{where}.file", one["file"]
    yield from dict.fromkeys((one.where, one.stored_name) for one in _named_by_rows(value))


def _names_row(text: str) -> bool:
    return any(name.partition(".")[0] == ROW for _, name in texts.places(text))


@dataclass(frozen=True, slots=True)
class _OfRow:
    """A file that a stage shows for a row. `where`: the place of its name, or of the text that makes the name.

    `stage`: the fields of the stage. `in_row`: the row in words, where the place does not say it.
    """

    where: str
    name: str
    stage: dict[str, Json]
    in_row: str

    @property
    def stored_name(self) -> str:
        """The name under which it is stored; its own name before that."""
        stored = self.stage.get(_STORED)
        found = stored.get(self.name) if isinstance(stored, dict) else None
        return found if isinstance(found, str) else self.name


def _named_by_rows(value: Json) -> Iterator[_OfRow]:
    """Every file whose name has values of rows, of each stage in each arm."""
    by_stage: dict[str, list[tuple[str, Mapping[str, Json]]]] = {}
    for where, stage_id, fields in _parts(value):
        by_stage.setdefault(stage_id, []).append((where, fields))
    for (first, stage), *arms in by_stage.values():
        if not isinstance(stage, dict) or not first.startswith("stages["):
            continue
        for (asks_at, asking), (lists_at, listing) in product([(first, stage), *arms], repeat=2):
            shown = [
                (f"{at}.file", one["file"])
                for at, one in named_files(asking.get("questions"), f"{asks_at}.questions")
                if _names_row(one["file"])
            ]
            if shown and _go_together(stage, asking, listing):
                yield from _of_rows(shown, stage, listing, first, lists_at)


def _go_together(stage: Json, asking: Mapping[str, Json], listing: Mapping[str, Json]) -> bool:
    """Whether an arm may have the questions of the one and the rows of the other: its own, if it has some."""
    if asking is listing:
        return listing.get("rows") is not None
    has_others = asking is not stage and asking.get("rows") is not None
    is_asked_otherwise = listing is not stage and listing.get("questions") is not None
    return listing.get("rows") is not None and not has_others and not is_asked_otherwise


def _of_rows(
    shown: Sequence[tuple[str, str]], stage: dict[str, Json], listing: Mapping[str, Json], first: str, lists_at: str
) -> Iterator[_OfRow]:
    """shown: the place and the text of each name."""
    base, own = stage.get("rows"), listing.get("rows")
    rows = own if own is not None else base
    if isinstance(base, Mapping) and isinstance(rows, Mapping):
        rows = {**base, **rows}
    listed = rows.get("items") if isinstance(rows, Mapping) else rows
    items = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    has_own = isinstance(own, list) or (isinstance(own, Mapping) and "items" in own)
    listed_at = f"{lists_at if has_own else first}.rows.items"
    fields = rows if isinstance(rows, Mapping) else {}
    for where, text in shown:
        columns = list(dict.fromkeys(name for _, name in texts.places(text) if name.partition(".")[0] == ROW))
        if isinstance(attributes := fields.get("attributes"), Mapping) and attributes:
            choices = [[*_levels_of_profiles(name, attributes, fields.get("tasks", 1))] for name in columns]
            for levels in islice(product(*choices), _MOST_NAMES):
                yield from _filled(text, dict(zip(columns, levels, strict=True)), stage, where, f", for {levels}")
            continue
        is_cell = len(columns) == 1 and not [*texts.places_in_part(text)]
        for index, item in enumerate(items):
            row_id = id_of(item, index + 1)
            for cells in product(*[[*_values_in(item, row_id, name, fields.get("levels"))] for name in columns]):
                values = {name: value for name, (_, value) in zip(columns, cells, strict=True)}
                if is_cell and cells[0][0] is not None:
                    yield from _filled(text, values, stage, f"{listed_at}[{index}].{cells[0][0]}", "")
                else:
                    yield from _filled(text, values, stage, where, f", in the row {row_id}")


def _filled(text: str, values: Mapping[str, Json], stage: dict[str, Json], where: str, in_row: str) -> Iterator[_OfRow]:
    """The file of this name; none where a cell is empty."""
    if not has_empty_cell(text, values):
        yield _OfRow(where, str(texts.fill(text, values)), stage, in_row)


def _values_in(item: Mapping[str, Json], row_id: str, name: str, levels: Json) -> Iterator[tuple[str | None, Json]]:
    """The columns whose values a text has in a row for this name, each with the value."""
    column = name.removeprefix(f"{ROW}.")
    if isinstance(levels, Mapping) and isinstance(levels.get(column), list):
        yield from ((str(one), item.get(str(one))) for one in levels[column])
    elif column == ID and item.get(ID) is None:
        yield None, row_id
    else:
        yield column, item.get(column)


def _levels_of_profiles(name: str, attributes: Mapping[str, Json], tasks: Json) -> Iterator[Json]:
    """The values of `row.a_price`, a level of a profile, or of `row.id`, the number of the task."""
    column = name.removeprefix(f"{ROW}.")
    letter, _, attribute = column.partition("_")
    if column == ID and isinstance(tasks, int):
        yield from (str(number) for number in range(1, min(tasks, MOST_TASKS) + 1))
    elif letter in PROFILES and isinstance(levels := attributes.get(attribute), list):
        yield from levels


def _parts(value: Json) -> Iterator[tuple[str, str, Mapping[str, Json]]]:
    """The fields of each stage, and those that arms and levels replace: their place, and the id of the stage."""
    whole = value if isinstance(value, Mapping) else {}
    stages = whole.get("stages")
    for index, stage in enumerate(stages if isinstance(stages, list) else ()):
        if isinstance(stage, Mapping):
            yield f"stages[{index}]", str(stage.get("id")), stage
    for name in _OF_ARMS:
        yield from _find_replaced(whole.get(name), name)


def _find_replaced(value: Json, where: str) -> Iterator[tuple[str, str, Mapping[str, Json]]]:
    if isinstance(value, list):
        for index, part in enumerate(value):
            yield from _find_replaced(part, f"{where}[{index}]")
    for name, part in value.items() if isinstance(value, Mapping) else ():
        if name == "stages" and isinstance(part, Mapping):
            fields = ((stage_id, one) for stage_id, one in part.items() if isinstance(one, Mapping))
            yield from ((f"{where}.stages.{stage_id}", str(stage_id), one) for stage_id, one in fields)
        else:
            yield from _find_replaced(part, f"{where}.{name}")


def _fitting(name: str, held: bytes | str) -> StoredFile | str:
    """The file with this content, or the name under which it is stored.

    Raises:
        InvalidInput: with one problem: it is of another type than the name says.
    """
    stored = held if isinstance(held, str) else as_stored(held)
    if stored is None:
        raise InvalidInput("Not to be shown.", [Problem(name, repr(name), "a file of the type that its ending says")])
    ending = ending_of(stored) if isinstance(stored, str) else stored.ending
    if ending != ending_of(name):
        expected = f"the ending .{ending}: that is what the file holds"
        raise InvalidInput("Not to be shown.", [Problem(name, repr(name), expected)])
    return stored
