"""The page of behaviours names tests that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "behaviours.md").read_text(encoding="utf-8")
NAMED = re.findall(r"^- `(\S+\.py(?:::\w+)+)`$", PAGE, re.MULTILINE)


def named_in(path: str) -> set[str]:
    """The names of all tests in a file, those of classes with their class."""
    module = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = {f"{path}::{one.name}" for one in module.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    for one in (one for one in module.body if isinstance(one, ast.ClassDef)):
        inner = (each.name for each in one.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
        found |= {f"{path}::{one.name}::{name}" for name in inner}
    return found


@pytest.mark.parametrize("named", NAMED)
def test_every_test_that_is_named_is_there(named: str) -> None:
    assert named in named_in(named.partition("::")[0])


def test_each_of_the_twenty_five_behaviours_has_its_number_and_its_tests() -> None:
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]

    assert [int(one.partition(".")[0]) for one in sections] == [*range(1, 26)]
    assert all("- `" in one for one in sections)
    assert PAGE.count("::test_") == len(NAMED)
