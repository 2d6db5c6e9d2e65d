"""The lists of the rooms are complete: an act is found in the list of acts, a room in that of the architecture."""

import re
import tomllib
from pathlib import Path

import shared.acts

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"`([\w.]+)`")


def test_the_list_of_acts_names_every_module_of_the_room() -> None:
    modules = {path.stem for path in Path(shared.acts.__file__).parent.glob("*.py")} - {"__init__"}

    named = [name for line in (shared.acts.__doc__ or "").splitlines() for name in NAME.findall(line)]

    assert modules - set(named) == set()
    assert set(named) - modules == set()


def test_the_architecture_has_the_rooms_of_shared_in_the_order_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [one["layers"] for one in contracts if one.get("containers") == ["shared"]]
    wanted = [sorted(layer.split(" | ")) for layer in layers]
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("| room | what is in it |\n")[2].partition("\n\n")[0]

    told = [name.removeprefix("shared.") for row in table.splitlines()[1:] for name in NAME.findall(row.split("|")[1])]

    found = [sorted(told[sum(map(len, wanted[:place])) :][: len(layer)]) for place, layer in enumerate(wanted)]
    assert found == wanted
