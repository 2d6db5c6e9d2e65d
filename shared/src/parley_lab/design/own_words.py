"""Words of an experiment for its pages: those in a file of their own are read in, and names and places are checked."""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.base.meant_names import unknown
from parley_lab.design.complaints import found, object_with
from parley_lab.design.parsing import MAX_BYTES, decoded, parse, with_spaces
from parley_lab.kinds.page_words import Said, places_in, words_in
from parley_lab.kinds.stages import kinds

Json = Any
ReadWords = Callable[[str], bytes]
"""Reads the file of words with the name that the experiment file gives."""


def with_words(value: Json, read_words: ReadWords) -> tuple[Json, list[Problem]]:
    """The values of an experiment file with the words of the file that it names, if it does, and the problems of that
    file. Words in the experiment file itself win."""
    appearance = value.get("appearance") if isinstance(value, Mapping) else None
    name = appearance.get("words_from") if isinstance(appearance, Mapping) else None
    if not isinstance(appearance, Mapping) or not isinstance(name, str):
        return value, []
    rest = {key: one for key, one in appearance.items() if key != "words_from"}
    try:
        words = _words(read_words(name), name)
    except InvalidInput as error:
        told = error.problems or [Problem(name, repr(name), str(error))]
        return {**value, "appearance": rest}, [replace(one, where="appearance.words_from") for one in told]
    return {**value, "appearance": {**rest, "words": {**words, **(rest.get("words") or {})}}}, []


def _words(content: bytes, name: str) -> Mapping[str, Json]:
    text = decoded(content, name, MAX_BYTES)
    parsed = parse(text if name.lower().endswith(".json") else with_spaces(text), name, max_bytes=MAX_BYTES)
    if not isinstance(parsed, Mapping):
        raise InvalidInput("No words.", [Problem(name, found(parsed), object_with(("go_on", "send")))])
    return parsed


def problems(value: Mapping[str, Json]) -> Iterator[Problem]:
    """Names of words that no page has, and places in them that nothing is filled into."""
    appearance = value.get("appearance")
    if not isinstance(appearance, Mapping):
        return
    if appearance.get("words_from") is not None:
        expected = "the words themselves, in `words`; or send the file of words with this file"
        yield Problem("appearance.words_from", repr(appearance["words_from"]), expected)
    words = appearance.get("words")
    for name, said in words.items() if isinstance(words, Mapping) else ():
        where = f"appearance.words.{name}"
        usual = known_words().get(name)
        if usual is None:
            yield unknown(where, name, known_words(), "name of words (`parley words` prints all)")
        elif isinstance(said, str) or (isinstance(said, dict) and all(isinstance(one, str) for one in said.values())):
            for place in sorted(places_in(said) - places_in(usual)):
                filled = ", ".join(f"{{{one}}}" for one in sorted(places_in(usual))) or "nothing"
                yield Problem(where, f"{{{place}}}", f"what is filled in here: {filled}")


@cache
def known_words() -> Mapping[str, Said]:
    """All words of the pages in English, with those of each kind, also of kinds of others."""
    own: dict[str, Said] = {}
    for kind in kinds().values():
        file = Path(inspect.getfile(type(kind))).resolve().parent / "words" / "en.json"
        if file.is_file():
            own |= json.loads(file.read_text("utf-8"))
    return {**words_in("en"), **own}
