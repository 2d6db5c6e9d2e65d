"""Where the problems of a workbook are gathered, so that all of them are told at once."""

from dataclasses import dataclass, field

from formats.workbook.cells import Cell
from shared.errors import InvalidInput, Problem


@dataclass(frozen=True, slots=True)
class Complaints:
    """`problems` keep the workbook from running; `warnings` are told and forgiven. Each is said once."""

    problems: dict[Problem, None] = field(default_factory=dict)
    warnings: dict[Problem, None] = field(default_factory=dict)

    def cell(self, cell: Cell, wrong: str, expected: str, *, hint: str = "", found: str = "") -> None:
        """A problem in this cell; cells that were unreadable have been complained about before."""
        if not cell.flaw:
            self.at(cell.where, wrong, expected, found=found or cell.found, hint=hint)

    def at(self, where: str, wrong: str, expected: str, *, found: str, hint: str = "") -> None:
        """A problem at a place where there is no cell, such as a missing sheet."""
        self.problems[Problem(where, found, expected, wrong, hint)] = None

    def warn(self, cell: Cell, wrong: str, expected: str, *, hint: str = "") -> None:
        if not cell.flaw:
            self.warnings[Problem(cell.where, cell.found, expected, wrong, hint)] = None

    def raise_if_any(self, name: str) -> None:
        """Raises:
        InvalidInput: with all problems, when there is one.
        """
        if self.problems:
            count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
            raise InvalidInput(f"{name} is not a valid workbook: {count}.", tuple(self.problems))
