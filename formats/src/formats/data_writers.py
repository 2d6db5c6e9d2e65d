"""Formats that have data files of their own: who writes them for the experiments that were made from them."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final

from formats.workbook.data import write_data
from formats.workbook.facts import FORMAT as WORKBOOK

DataWriter = Callable[[Path, Path, Collection[str]], dict[str, int]]
"""Writes the files of a format (`json`, `csv`) from data.json into a folder; returns their rows by their names."""

_WRITERS: Final[Mapping[str, DataWriter]] = {WORKBOOK: write_data}


def format_of(document: Mapping[str, Any]) -> str | None:
    """The format that the experiment was made from, if it has data files of its own."""
    source = document.get("source") or {}
    return source.get("format") if source.get("format") in _WRITERS else None


def writer_of(format_name: str) -> DataWriter:
    """The writer of a format that `format_of` has named."""
    return _WRITERS[format_name]
