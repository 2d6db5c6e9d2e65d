"""The check of words finds them in identifiers and in the comments of every kind of file, and leaves terms alone."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_words", Path(__file__).parents[1] / "docs" / "check_words.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WORDS = check()
UNUSED, IN_PROSE = {"eyes": "view"}, {"nobody": "no one", "stand": "be"}


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("a.py", "def let_nobody_wait(): ...", "nobody"),
        ("a.py", "NOBODY_CAME = 1", "NOBODY"),
        ("a.py", "class NobodyCame: ...", "Nobody"),
        ("a.py", "for_the_eyes_of = 1", "eyes"),
        ("a.py", "# nobody is asked", "nobody"),
        ("a.yaml", "a: 1  # nobody is asked", "nobody"),
        ("a.toml", "# nobody is asked\na = 1", "nobody"),
        ("a.sh", "# nobody is asked", "nobody"),
        ("Makefile", "# nobody is asked", "nobody"),
        (".ci/run", "# nobody is asked", "nobody"),
        ("a.js", "const a = 1; // nobody is asked", "nobody"),
        ("a.js", "/** It is told\n * to nobody. */", "nobody"),
        ("a.md", "It is told to nobody.", "nobody"),
    ],
)
def test_a_word_that_is_not_used_is_found(path: str, text: str, found: str) -> None:
    assert [word for _, word in WORDS.found_in(path, text, UNUSED, IN_PROSE)] == [found]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", 'said = "Nobody is here."'),
        ("a.py", "stand_in = stand_ins = 1  # a stand-in stands for it"),
        ("a.yaml", "text: Nobody is here."),
        ("a.js", 'say("nobody_to_rank");'),
        ("a.js", 'const address = "https://nobody.example";'),
        ("a.md", "`nobody` is a user of the system."),
    ],
)
def test_what_people_read_and_terms_of_the_field_are_left_alone(path: str, text: str) -> None:
    assert [*WORDS.found_in(path, text, UNUSED, IN_PROSE)] == []


def test_a_word_is_found_in_its_line() -> None:
    text = "# One.\n\na = 1\nfor_nobody = 2\n"

    assert [*WORDS.found_in("a.py", text, UNUSED, IN_PROSE)] == [(4, "nobody")]
