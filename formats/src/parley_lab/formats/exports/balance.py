"""The arms in the data: the levels of their factors, and the balance of what is known of participants. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from parley_lab.data.exports import NUMERAL
from parley_lab.design import Resolved
from parley_lab.kinds import Json

BALANCE_COLUMNS: Final = ("treatment", "cohorts", "seats", "people", "agents", "completed", "out")


def levels(arms: Mapping[str, Resolved]) -> dict[str, dict[str, str]]:
    """The levels of factors as `factor.<name>`, for every arm that has them, factors in the order of the file."""
    factors = _factors_in_order([resolved.levels for resolved in arms.values() if resolved.levels])
    return {
        arm: {f"factor.{factor}": resolved.levels[factor] for factor in factors if factor in resolved.levels}
        for arm, resolved in arms.items()
        if resolved.levels
    }


def _factors_in_order(cells: Sequence[Mapping[str, str]]) -> list[str]:
    """The factors in the order in which they were crossed: the later one, the sooner its level changes from arm to arm.

    The database keeps no order of the fields of an object.
    """
    factors = list(dict.fromkeys(factor for cell in cells for factor in cell))

    def first_change(factor: str) -> int:
        first = cells[0].get(factor)
        return next((number for number, cell in enumerate(cells) if cell.get(factor) != first), len(cells))

    return sorted(factors, key=first_change, reverse=True)


def mean_columns(arms: Mapping[str, Resolved]) -> list[str]:
    """`attribute.<name>.mean` for every attribute that is a number of some persona, or a numeral of each that has it.

    Cells of a table are texts unless the file says that its column has numbers.
    """
    values: dict[str, list[Json]] = {}
    for persona in {one.id: one for resolved in arms.values() for one in resolved.personas.values()}.values():
        for name, value in persona.attributes.items():
            if value not in (None, ""):
                values.setdefault(name, []).append(value)
    return [f"attribute.{name}.mean" for name, given in values.items() if _has_mean(given)]


def _has_mean(given: Sequence[Json]) -> bool:
    return any(map(_is_number, given)) or all(isinstance(one, str) and NUMERAL.fullmatch(one) for one in given)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def balance(row: Mapping[str, Any]) -> dict[str, Any]:
    """One line of the balance of treatments."""
    means = {f"attribute.{name}.mean": mean for name, mean in (row["means"] or {}).items()}
    return {**{column: row[column] for column in BALANCE_COLUMNS}, **means}
