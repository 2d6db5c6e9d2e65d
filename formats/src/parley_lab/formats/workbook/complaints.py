"""Collects the problems of a workbook, so that all of them are reported at once."""

from dataclasses import dataclass, field

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.formats.workbook.cells import Cell


@dataclass(frozen=True, slots=True)
class Complaints:
    """`problems` prevent a run, `warnings` do not. Equal ones are reported once."""

    problems: dict[Problem, None] = field(default_factory=dict)
    warnings: dict[Problem, None] = field(default_factory=dict)

    def cell(self, cell: Cell, wrong: str, expected: str, *, hint: str = "", found: str = "") -> None:
        """A problem in this cell; unreadable cells were complained about before."""
        if not cell.flaw:
            self.at(cell.where, wrong, expected, found=found or cell.found, hint=hint)

    def at(self, where: str, wrong: str, expected: str, *, found: str, hint: str = "") -> None:
        """A problem without a cell, such as a missing sheet."""
        self.problems[Problem(where, found, expected, wrong, hint)] = None

    def warn(self, cell: Cell, wrong: str, expected: str, *, hint: str = "", found: str = "") -> None:
        if not cell.flaw:
            self.warnings[Problem(cell.where, found or cell.found, expected, wrong, hint)] = None

    def raise_if_any(self, name: str) -> None:
        """Raises:
        InvalidInput: with all problems, when there is one.
        """
        if self.problems:
            count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
            raise InvalidInput(f"{name} is not a valid workbook: {count}.", tuple(self.problems))
