"""A payment as a page and a prompt show it, and as it is kept. Pure."""

from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict

from parley_lab.contracts.money import spoken
from parley_lab.kinds import Json, PageContent
from parley_lab.kinds.stages.payout.reckoning import Earned, Payment, as_text


class ShownItem(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)

    id: str
    name: str
    description: str
    base: str
    """Amounts are decimals as text."""
    right_answers: int
    for_right_answers: str
    points: str | None
    """Null where no points are paid."""
    round: int | None
    """The round that was drawn; null where all are paid."""
    rate: str
    amount: str


class PayoutPage(PageContent):
    kind: Literal["payout"] = "payout"
    currency: str
    items: list[ShownItem]
    """What counts; of items of which one was drawn, that one."""
    average: bool
    """Whether the mean of the items is paid."""
    amount: str
    """What the reader is paid, rounded up to the cent, or to the smallest coin of the currency."""


def item_of(one: Earned, currency: str) -> ShownItem:
    return ShownItem(
        id=one.item.id,
        name=one.title,
        description=one.item.description,
        base=as_text(one.base, currency),
        right_answers=len(one.questions),
        for_right_answers=as_text(sum(one.questions.values(), start=one.base - one.base), currency),
        points=None if one.points is None else f"{one.points.normalize():f}",
        round=one.round,
        rate=as_text(one.item.rate, currency),
        amount=as_text(one.amount, currency),
    )


def paragraph(payment: Payment) -> str:
    """The same as a prompt tells it."""
    paid = spoken(payment.currency, as_text(payment.amount, payment.currency))
    mean = " This is the mean of:" if payment.is_mean else ""
    return "\n".join([f"You are paid {paid}.{mean}", *_lines(payment)])


def _lines(payment: Payment) -> Iterator[str]:
    for one in payment.earned:
        shown = item_of(one, payment.currency)
        parts = [f"{shown.base} for completing it"] if one.base else []
        if one.item.questions:
            parts.append(f"{shown.for_right_answers} for right answers: {shown.right_answers}")
        if shown.points is not None:
            of = "" if shown.round is None else f" of round {shown.round}, which was drawn"
            parts.append(f"{shown.points} points{of} at {shown.rate} each")
        told = f" ({'; '.join(parts)})" if parts else ""
        about = f" {shown.description}" if shown.description else ""
        yield f"- {shown.name}: {shown.amount}{told}.{about}"


def kept(payment: Payment) -> dict[str, Json]:
    """Each part of the payment, decimals as text: what the table of payments has."""
    return {
        "items": [_kept(one, payment.currency) for one in payment.earned],
        "sum": as_text(payment.total, payment.currency),
        "averaged_over": len(payment.earned) if payment.is_mean else None,
        "amount": as_text(payment.amount, payment.currency),
    }


def _kept(one: Earned, currency: str) -> dict[str, Json]:
    return {
        "id": one.item.id,
        "base": as_text(one.base, currency),
        "questions": {name: as_text(amount, currency) for name, amount in one.questions.items()},
        "points": None if one.points is None else f"{one.points.normalize():f}",
        "round": one.round,
        "rate": None if one.points is None else f"{one.item.rate.normalize():f}",
        "amount": as_text(one.amount, currency),
    }
