"""Collects the problems of a workbook, so that all of them are reported at once."""

from dataclasses import dataclass, field

from parley_lab.base.errors import IN_A_CELL, InvalidInput, Problem
from parley_lab.formats.workbook.cells import Cell


def problem_at(where: str, wrong: str, expected: str, *, found: str, do: str = "", hint: str = "") -> Problem:
    """A problem in words: what is wrong, then what to do.

    expected: what to type, after "Type"; `do` replaces that where typing is not what helps. hint: a further clause.
    """
    clauses = (do or f"type {expected}", hint)
    words = " ".join(f"{one[0].upper()}{one[1:]}." for one in clauses if one)
    return Problem(where, found, expected, wrong, words, code=IN_A_CELL)


@dataclass(frozen=True, slots=True)
class Complaints:
    """`problems` prevent a run, `warnings` do not. Equal ones are reported once."""

    problems: dict[Problem, None] = field(default_factory=dict)
    warnings: dict[Problem, None] = field(default_factory=dict)

    def cell(self, cell: Cell, wrong: str, expected: str, *, do: str = "", hint: str = "", found: str = "") -> None:
        """A problem in this cell; unreadable cells were complained about before."""
        if not cell.flaw:
            self.at(cell.where, wrong, expected, found=found or cell.found, do=do, hint=hint)

    def at(self, where: str, wrong: str, expected: str, *, found: str, do: str = "", hint: str = "") -> None:
        """A problem without a cell, such as a missing sheet."""
        self.problems[problem_at(where, wrong, expected, found=found, do=do, hint=hint)] = None

    def warn(self, cell: Cell, wrong: str, expected: str, *, do: str = "", hint: str = "", found: str = "") -> None:
        if not cell.flaw:
            one = problem_at(cell.where, wrong, expected, found=found or cell.found, do=do, hint=hint)
            self.warnings[one] = None

    def raise_if_any(self, name: str) -> None:
        """Raises:
        InvalidInput: with all problems, when there is one.
        """
        if self.problems:
            count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
            raise InvalidInput(f"{name} is not a valid workbook: {count}.", tuple(self.problems))
