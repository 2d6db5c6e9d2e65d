"""The table of nouns in the architecture is complete, in the order of the contract."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"`(\w+)`")


def test_the_architecture_has_the_nouns_in_the_order_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [one["layers"] for one in contracts if one.get("containers") == ["parley_lab"]]
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = page.partition("| noun | what is in it | begin with |\n")[2].partition("\n\n")[0].splitlines()[1:]

    nouns = [set(NAME.findall(row.split("|")[1])) for row in rows]

    assert nouns == [set(layer.split(" | ")) for layer in reversed(layers)]


def test_the_modules_that_the_architecture_names_are_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:\w+/)+\w+\.py)`", page))
    sources = [*ROOT.glob("*/src/parley_lab"), *ROOT.glob("services/*/src/parley_lab")]

    assert len(named) > 20
    assert [name for name in sorted(named) if not any((source / name).is_file() for source in sources)] == []
