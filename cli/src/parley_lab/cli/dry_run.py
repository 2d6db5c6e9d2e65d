"""Prints what a run of a workbook would do; starts no lab and calls no model."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from parley_lab.base.errors import InvalidInput
from parley_lab.cli.experiment_file import is_workbook
from parley_lab.cli.workbook_file import read_workbook
from parley_lab.formats.workbook import Compiled, Draws, SessionEstimate, compile_designs, estimates

_COLUMNS: Final = (
    ("session", "left"),
    ("treatment", "left"),
    ("seats", "left"),
    ("tasks", "left"),
    ("turns", "right"),
    ("calls", "right"),
    ("tokens in", "right"),
    ("tokens out", "right"),
)
_PERSON: Final = "a person"
_WIDTH: Final = 160
"""Of output into a pipe; a terminal has its own width."""


def show(file: Path, *, people: Collection[str], sessions: int | None, draws: Draws) -> None:
    """Print the plan of the run.

    Raises:
        InvalidInput: the file is no workbook, or with all its problems.
    """
    if not is_workbook(file):
        raise InvalidInput(
            f"--dry-run is for workbooks. The length of the conversations of {file} is not known beforehand; "
            "run it with --models mock, which costs nothing."
        )
    workbook = read_workbook(file, draws)
    console = Console(highlight=False, emoji=False, markup=False)
    if not console.is_terminal:
        console.width = _WIDTH
    for warning in workbook.warnings:
        console.print(Text(f"Warning: {warning}"), soft_wrap=True)
    everything: list[SessionEstimate] = []
    for compiled in compile_designs(workbook, draws=draws, people=people, sessions=sessions):
        found = estimates(compiled)
        console.print(_table(compiled, found))
        everything += found
    console.print(Text(_total(everything)), soft_wrap=True)


def _table(compiled: Compiled, sessions: Sequence[SessionEstimate]) -> Table:
    design = compiled.design
    values = ", ".join(f"{name} = {constant}" for name, constant in design.constants.items())
    title = f"{compiled.experiment.name}: model {design.settings.model_info}, seed {design.settings.random_seed}"
    table = Table(title=Text(f"{title}; {values}" if values else title), title_justify="left")
    for name, side in _COLUMNS:
        table.add_column(name, justify="right" if side == "right" else "left", overflow="fold")
    for each in sessions:
        seats = ", ".join(f"{role}: {who or _PERSON}" for role, who in each.agents)
        counts = (each.replies, each.calls, each.tokens_in, each.tokens_out)
        table.add_row(*map(Text, (each.id, each.treatment, seats, " ".join(each.tasks), *map(str, counts))))
    return table


def _total(sessions: Sequence[SessionEstimate]) -> str:
    return (
        f"{len(sessions)} sessions, {sum(one.replies for one in sessions)} turns, "
        f"{sum(one.calls for one in sessions)} calls "
        f"(at most {sum(one.most_calls for one in sessions)}, if checked answers are asked for as often as they may), "
        f"about {sum(one.tokens_in for one in sessions)} tokens in and "
        f"{sum(one.tokens_out for one in sessions)} out. "
        "Tokens are estimated at four characters each. No model was called."
    )
