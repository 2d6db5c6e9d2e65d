"""The experiments that come with the lab."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from parley_lab.base.errors import NotFound

DEMOS: Final[Mapping[str, str]] = {
    "deliberation": "deliberation.yaml",
    "arena": "arena.yaml",
    "people_and_agents": "people_and_agents.yaml",
    "public_goods": "public_goods.xlsx",
}
"""The file of each demo, by the name that the command line takes."""
FIRST: Final = "deliberation"


def find_demo(name: str) -> Path:
    """The file of a demo, in an installed lab as in a checkout.

    Raises:
        NotFound: there is no demo of this name.
    """
    if name not in DEMOS:
        raise NotFound(f"There is no demo {name!r}. There are: {', '.join(DEMOS)}.")
    return _folder() / DEMOS[name]


def _folder() -> Path:
    """The wheel has the demos beside this module; a checkout has them in its root."""
    folders = (parent / "demos" for parent in Path(__file__).resolve().parents)
    return next(folder for folder in folders if (folder / DEMOS[FIRST]).is_file())
