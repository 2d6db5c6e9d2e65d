"""Replaces the names of files in an experiment by those under which their contents are stored, before it is checked."""

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.contracts.media import StoredFile, as_stored, ending_of, is_stored_name, named_files

Json = Any
ReadMedium = Callable[[str], bytes | str]
"""Reads the content of the file with the name that the experiment file gives, or gives the name under which the lab has
stored it."""

_OF_ROW: Final = re.compile(r"\{\{\s*row\.([A-Za-z0-9_-]+)\s*\}\}")
_OF_ARMS: Final = ("treatments", "factors")
_WITH_FILES: Final = ("stages", *_OF_ARMS)
_STORED: Final = "_file"
"""The end of the name of a column with stored files; the column of files is called so without it."""


def named(value: Json) -> Iterator[tuple[str, dict[str, Json]]]:
    """Every object in the values of an experiment that names a file, with its place."""
    for part in _WITH_FILES:
        if isinstance(value, Mapping):
            yield from named_files(value.get(part), part)


def with_media(value: Json, read_medium: ReadMedium) -> tuple[Json, list[StoredFile], list[Problem]]:
    """The values with the names of stored files, these files, each once, and the problems of those that cannot be.

    The name of a stored file stays as it is where there is no such file beside the experiment.
    """
    whole = deepcopy(value)
    found: dict[str, StoredFile] = {}
    problems: list[Problem] = []

    def kept(where: str, name: str) -> str:
        """The name of the stored file; that of the file where it cannot be stored."""
        if ending_of(name) is None:
            # The check of the stage says so.
            return name
        try:
            stored = _fitting(name, read_medium(name))
        except InvalidInput as error:
            if not is_stored_name(name):
                problems.extend(replace(each, where=where) for each in error.problems)
            return name
        if isinstance(stored, str):
            return stored
        found[stored.name] = stored
        return stored.name

    for where, one in named(whole):
        one["file"] = kept(f"{where}.file", one["file"])
    of_rows = [found for found in _named_in_rows(whole) if not found[2].endswith(_STORED)]
    for _, _, stage in _parts(whole):
        for one, column in _named_by_rows(stage):
            if not column.endswith(_STORED):
                one["file"] = f"{{{{row.{column}{_STORED}}}}}"
    for where, item, column in of_rows:
        item[f"{column}{_STORED}"] = kept(where, item[column])
    return whole, list(found.values()), problems


def stored_names(value: Json) -> Iterator[tuple[str, str]]:
    """The place and the name of each stored file that stages show, in an experiment with the names of stored files."""
    for where, one in named(value):
        if not _OF_ROW.fullmatch(one["file"]):
            yield f"{where}.file", one["file"]
    for where, item, column in _named_in_rows(value):
        yield where, item[column]


def _named_in_rows(value: Json) -> Iterator[tuple[str, dict[str, Json], str]]:
    """Every row of a stage or of an arm that names a file in this column, with the place of the name."""
    parts = [*_parts(value)]
    columns: dict[str, dict[str, None]] = {}
    for _, stage_id, part in parts:
        columns.setdefault(stage_id, {}).update(dict.fromkeys(column for _, column in _named_by_rows(part)))
    for where, stage_id, part in parts:
        for index, item in enumerate(_items(part)):
            for column in columns[stage_id]:
                if isinstance(item.get(column), str):
                    yield f"{where}.rows.items[{index}].{column}", item, column


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


def _items(stage: Mapping[str, Json]) -> list[dict[str, Json]]:
    """The rows of a stage."""
    rows = stage.get("rows")
    items = rows.get("items") if isinstance(rows, Mapping) else rows
    return [one for one in items if isinstance(one, dict)] if isinstance(items, list) else []


def _named_by_rows(stage: Mapping[str, Json]) -> list[tuple[dict[str, Json], str]]:
    """What names a file by a column of the rows, and the column."""
    places = ((one, _OF_ROW.fullmatch(one["file"])) for _, one in named_files(stage.get("questions")))
    return [(one, place[1]) for one, place in places if place is not None]


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
