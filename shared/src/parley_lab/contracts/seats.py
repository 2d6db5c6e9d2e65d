"""Whose seats another person gets."""

from collections.abc import Sequence
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from parley_lab.contracts.experiment import Document, Slug


class LeftBefore(Document):
    """People who went before they came to a stage."""

    left_before: Slug
    """The stage to which they had not come when they left or dropped out."""


SeatAgain = Literal["declined", "screened_out", "released", "before_first_answer"] | LeftBefore

SEATS_AGAIN: Final[tuple[SeatAgain, ...]] = ("declined", "screened_out", "before_first_answer")
"""Whose seats are given again where the file says nothing."""

_RULES: Final[TypeAdapter[tuple[SeatAgain, ...]]] = TypeAdapter(tuple[SeatAgain, ...])


def read_seats_again(stored: Any) -> Sequence[SeatAgain]:
    """The rules in the document of an experiment; those of a file that says nothing, where it has none."""
    return SEATS_AGAIN if stored is None else _RULES.validate_python(stored)
