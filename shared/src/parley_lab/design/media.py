"""Replaces the names of files in an experiment by those under which their contents are stored, before it is checked."""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.contracts.media import StoredFile, as_stored, ending_of, is_stored_name, named_files

Json = Any
ReadMedium = Callable[[str], bytes]
"""Reads the content of the file with the name that the experiment file gives."""

_WITH_FILES: Final = ("stages", "treatments", "factors")


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
    for where, one in named(whole):
        if ending_of(one["file"]) is None:
            # The check of the stage says so.
            continue
        try:
            stored = _stored(one["file"], read_medium(one["file"]))
        except InvalidInput as error:
            if not is_stored_name(one["file"]):
                problems += [Problem(f"{where}.file", each.found, each.expected) for each in error.problems]
            continue
        found[stored.name] = stored
        one["file"] = stored.name
    return whole, list(found.values()), problems


def _stored(name: str, content: bytes) -> StoredFile:
    stored = as_stored(content)
    if stored is None:
        raise InvalidInput("Not to be shown.", [Problem(name, repr(name), "a file of the type that its ending says")])
    if stored.ending != ending_of(name):
        expected = f"the ending .{stored.ending}: that is what the file holds"
        raise InvalidInput("Not to be shown.", [Problem(name, repr(name), expected)])
    return stored
