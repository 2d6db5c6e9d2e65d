"""What an experiment file says about a payment."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import repeated_id
from parley_lab.base.rules import Rule, is_none
from parley_lab.contracts.experiment import Document, Slug, StageConfig
from parley_lab.contracts.money import Currency
from parley_lab.kinds.reads import Read, Use


def _as_written(value: object) -> object:
    """A number of YAML or JSON as the decimal that was written: 0.1 is a tenth."""
    return str(value) if isinstance(value, float) else value


Money = Annotated[Decimal, BeforeValidator(_as_written), Field(ge=0, le=1_000_000, decimal_places=6)]
"""An amount, or what one point is worth."""


Rate = Annotated[Decimal, BeforeValidator(_as_written), Field(ge=-1_000_000, le=1_000_000, decimal_places=6)]


class PayoutItem(Document):
    """One thing that participants are paid for. What they get for it is the sum of its parts."""

    id: Slug
    """Stands for the item in the data."""
    name: str = ""
    """What participants read; empty: the name of the stage."""
    description: str = ""
    """What it is paid for, in words for participants."""
    stage: Slug
    """The stage that it is paid for; it comes before this one."""
    base: Money = Decimal(0)
    """Paid when the participant has completed the stage."""
    questions: dict[str, Money] = Field(default={})
    """Paid for a right answer, by question of the stage; each of them has a right answer."""
    winner_of: Slug | None = None
    """A stage with a result that names a member, such as a ranking: that member's answers count for all, instead of
    their own."""
    points: str | None = None
    """A column of the stage's numbers, such as the `points` of a game, that is paid at `rate`."""
    rate: Rate = Decimal(1)
    """What one point is worth; below zero, it is taken away."""
    floor: Money | None = Field(default=None, exclude_if=is_none)
    """The least that the item comes to, with a rate below zero; left out: it may take something from other items. What
    is paid in all is never less than nothing."""
    rounds: Literal["all", "one"] = "all"
    """`one`: only one round of the game is paid, drawn when the participant comes to this stage."""
    selection: Slug | None = None
    """The name of a group of items of which one is paid, drawn when the participant comes to this stage."""
    show_if: Rule | None = Field(default=None, exclude_if=is_none)
    """It counts for those of whom this is true; left out: for all."""


class PayoutStage(StageConfig):
    """A page that says what a participant is paid; the payment is kept when the participant goes on."""

    kind: Literal["payout"] = "payout"
    currency: Currency = "USD"
    """The code of a currency, such as EUR, CHF or JPY, or `points`."""
    items: tuple[PayoutItem, ...] = Field(min_length=1)
    """What is paid for."""
    average: bool = False
    """Whether the mean of all paid items is paid instead of their sum."""

    @property
    def groups(self) -> dict[str, list[PayoutItem]]:
        """The items of each group of which one is paid."""
        found: dict[str, list[PayoutItem]] = {}
        for item in self.items:
            if item.selection is not None:
                found.setdefault(item.selection, []).append(item)
        return found


def reads(stage: PayoutStage) -> tuple[Read, ...]:
    return tuple(read for index, item in enumerate(stage.items) for read in _of_item(item, f"items[{index}]"))


def _of_item(item: PayoutItem, where: str) -> Iterator[Read]:
    uses = [Use(question, f"{where}.questions.{question}", "scored") for question in item.questions]
    if item.points is not None:
        uses.append(Use(item.points, f"{where}.points", "rounds" if item.rounds == "one" else "number"))
    yield Read(item.stage, everybody=item.winner_of is not None, where=f"{where}.stage", uses=tuple(uses))
    if item.winner_of is not None:
        elects = Use("", f"{where}.winner_of", "member")
        yield Read(item.winner_of, everybody=True, where=f"{where}.winner_of", uses=(elects,))


def problems(stage: PayoutStage) -> Iterator[Problem]:
    ids = [item.id for item in stage.items]
    for index, item in enumerate(stage.items):
        where = f"items[{index}]"
        if item.id in ids[:index]:
            yield repeated_id(f"{where}.id", item.id, "item")
        if not item.base and not item.questions and item.points is None:
            yield Problem(where, "nothing that is paid", "`base`, `questions` or `points`")
        if item.winner_of is not None and not item.questions:
            yield Problem(f"{where}.winner_of", repr(item.winner_of), "`questions`, for which those answers count")
        if item.rate != 1 and item.points is None:
            yield Problem(f"{where}.rate", str(item.rate), "`points`, the column of numbers that is paid at this rate")
        if item.floor is not None and item.rate >= 0:
            yield Problem(
                f"{where}.floor", str(item.floor), "a `rate` below zero beside it; else nothing is taken away"
            )
        if item.selection is not None and item.show_if is not None:
            expected = "no `selection` beside it: of items that are not for all, none can be drawn for all"
            yield Problem(f"{where}.show_if", "a rule", expected)
        if item.rounds == "one" and item.points is None:
            yield Problem(f"{where}.rounds", "'one'", "`points`, the column of which one round is paid")
