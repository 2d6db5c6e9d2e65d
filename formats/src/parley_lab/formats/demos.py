"""The experiments that come with the lab."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from parley_lab.base.errors import NotFound
from parley_lab.formats.importing import XLSX

_YAML: Final = "application/yaml"


@dataclass(frozen=True, slots=True)
class Demo:
    """One of them, and what it shows."""

    file: str
    title: str
    about: str

    @property
    def media_type(self) -> str:
        """What `POST /v1/experiments` takes, or `POST /v1/experiments/import` for a workbook."""
        return XLSX if self.file.endswith(".xlsx") else _YAML


DEMOS: Final[Mapping[str, Demo]] = {
    "deliberation": Demo(
        "deliberation.yaml",
        "Deliberation",
        "Two groups of agents talk about a plan, with a mediator, two arms and a survey before and after.",
    ),
    "people_and_agents": Demo(
        "people_and_agents.yaml",
        "People and agents",
        "Three people and two agents talk, rank reasons and are paid. It waits for people: open its link.",
    ),
    "arena": Demo(
        "arena.yaml",
        "Arena",
        "Policies and personas play the iterated Prisoner's Dilemma, each against each.",
    ),
    "public_goods": Demo(
        "public_goods.xlsx",
        "Public goods, as a workbook",
        "Four players share a pot for five rounds. A workbook to fill in with a game of your own.",
    ),
}
"""By the name that the command line takes."""
FIRST: Final = "deliberation"


def find_demo(name: str) -> Path:
    """The file of a demo, in an installed lab as in a checkout.

    Raises:
        NotFound: there is no demo of this name.
    """
    if name not in DEMOS:
        raise NotFound(f"There is no demo {name!r}. There are: {', '.join(DEMOS)}.")
    return _folder() / DEMOS[name].file


def _folder() -> Path:
    """The wheel has the demos beside this module; a checkout has them in its root."""
    folders = (parent / "demos" for parent in Path(__file__).resolve().parents)
    return next(folder for folder in folders if (folder / DEMOS[FIRST].file).is_file())
