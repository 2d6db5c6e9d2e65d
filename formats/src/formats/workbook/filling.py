"""The cells of one permutation: texts with the constants in them, and complaints about what cannot be filled in."""

from collections.abc import Mapping
from dataclasses import dataclass

from formats.workbook.cells import Cell
from formats.workbook.complaints import Complaints
from formats.workbook.templates import CannotRender, Constant, render


@dataclass(frozen=True, slots=True)
class Filling:
    """Reads texts under one permutation; complaints that all permutations share are said once."""

    constants: Mapping[str, Constant]
    complaints: Complaints

    def text(self, cell: Cell) -> str:
        """What the cell shows, with constants in the places of their names; raw when it cannot be filled in."""
        if not isinstance(cell.value, str):
            return cell.text
        try:
            return render(cell.text, self.constants)
        except CannotRender as error:
            self.complaints.cell(cell, error.wrong, error.expected)
            return cell.text
