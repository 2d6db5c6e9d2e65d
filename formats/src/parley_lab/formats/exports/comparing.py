"""Removes what may differ between two runs of one file with one seed: ids and clocks. Pure."""

import csv
import io
import json
import re
from typing import Any, Final

from parley_lab.base import csv_reading

Json = Any

ID_COLUMNS: Final = frozenset({"id", "ids", "experiment_id"})
"""Besides these, every column whose name ends in `_id` or `_ids`. Ids follow from the experiment's id, which is new in
every run; the paths in other columns are the same."""

CLOCK_COLUMNS: Final = frozenset({"at", "stream_seq", "cause", "software_version"})
"""Besides these, every column whose name ends in `_at`. They say when something happened and through which process."""

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def is_id_or_clock(column: str) -> bool:
    """Whether two runs may differ in this column (or in this field of a value)."""
    return column in ID_COLUMNS or column in CLOCK_COLUMNS or column.endswith(("_id", "_ids", "_at"))


def without_ids_and_clocks(name: str, content: bytes) -> bytes:
    """A data file without the columns of ids and clocks.

    Ids inside other values (a trigger, a prompt) are replaced by their rank in the order of first appearance, so that
    equal ids stay equal.
    """
    text = content.decode()
    return _without_ids(_stripped_csv(text) if name.endswith(".csv") else _stripped_json(text)).encode()


def _stripped_csv(text: str) -> str:
    rows = list(csv_reading.reader(io.StringIO(text, newline="")))
    kept = [index for index, column in enumerate(rows[0]) if not is_id_or_clock(column)] if rows else []
    target = io.StringIO(newline="")
    csv.writer(target).writerows([_stripped_cell(row[index]) for index in kept] for row in rows)
    return target.getvalue()


def _stripped_cell(cell: str) -> str:
    """The cell, with ids and clocks removed from the JSON in it."""
    if not cell.startswith(("{", "[")):
        return cell
    try:
        return json.dumps(_stripped(json.loads(cell)), ensure_ascii=False)
    except json.JSONDecodeError:
        return cell


def _stripped_json(text: str) -> str:
    return json.dumps(_stripped(json.loads(text)), ensure_ascii=False, indent=1)


def _stripped(value: Json) -> Json:
    if isinstance(value, dict):
        # Objects with members as keys, such as the number of messages by member, differ in the order of their keys.
        parts = sorted(value.items(), key=lambda item: (bool(_UUID.fullmatch(item[0])), item[0]))
        named = [(key, part) for key, part in parts if not _UUID.fullmatch(key)]
        keyed = [part for key, part in parts if _UUID.fullmatch(key)]
        kept = {key: _stripped(part) for key, part in named if not is_id_or_clock(key)}
        if keyed:
            kept["<by id>"] = sorted(json.dumps(_stripped(part)) for part in keyed)
        return kept
    if isinstance(value, list):
        if value and all(isinstance(part, str) and _UUID.fullmatch(part) for part in value):
            return [f"<{len(value)} ids>"]
        return [_stripped(part) for part in value]
    return value


def _without_ids(text: str) -> str:
    ranks: dict[str, int] = {}
    return _UUID.sub(lambda found: f"<id {ranks.setdefault(found[0], len(ranks) + 1)}>", text)


_NUMBER: Final = re.compile(r"(\d+)")


def natural(path: str) -> list[tuple[int, int, str]]:
    """A key that sorts c2 before c10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in _NUMBER.split(path) if part]
