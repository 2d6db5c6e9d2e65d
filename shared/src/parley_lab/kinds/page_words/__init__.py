"""The words of the pages, a file for each language; kinds have words of their own beside their pages."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

FOLDER: Final = Path(__file__).resolve().parent
"""Where the files are; each has the same names."""
_KINDS: Final = FOLDER.parent / "stages"
_PLACE: Final = re.compile(r"\{(\w+)\}")

Said: TypeAlias = str | dict[str, str]
"""A sentence, or one for each plural form of the language, by the names of CLDR."""


@cache
def words_in(language: str) -> Mapping[str, Said]:
    """All words of the pages and of our kinds in a language of the lab."""
    files = [FOLDER / f"{language}.json", *sorted(_KINDS.glob(f"*/words/{language}.json"))]
    return {name: said for file in files for name, said in json.loads(file.read_text("utf-8")).items()}


@cache
def places_of(name: str) -> frozenset[str]:
    """What is filled into these words, such as `name` and `count`."""
    return places_in(words_in("en")[name])


def places_in(said: Said) -> frozenset[str]:
    """The names in braces."""
    forms = [said] if isinstance(said, str) else said.values()
    return frozenset(name for form in forms for name in _PLACE.findall(form))
