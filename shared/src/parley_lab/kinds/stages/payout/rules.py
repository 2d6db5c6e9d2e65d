"""The rules of a payment: a page to read; going on keeps what it says."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from parley_lab.base.errors import Problem
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import (
    Ask,
    Block,
    Blocked,
    Column,
    Completion,
    Data,
    Done,
    Json,
    Label,
    OwnView,
    Parts,
    Pay,
    Reason,
    StageKind,
    heading,
)
from parley_lab.kinds.stages.payout import config, display
from parley_lab.kinds.stages.payout.config import PayoutItem, PayoutStage
from parley_lab.kinds.stages.payout.display import PayoutPage
from parley_lab.kinds.stages.payout.reckoning import PayoutDraws, as_text, payment


class Payout(StageKind[PayoutStage]):
    config_model = PayoutStage
    is_only_read = True

    def page(self, stage: PayoutStage, view: OwnView) -> PayoutPage:
        paid = payment(stage, view)
        return PayoutPage(
            **heading(stage),
            currency=stage.currency,
            items=[display.item_of(one, stage.currency) for one in paid.earned],
            average=stage.average,
            amount=as_text(paid.amount, stage.currency),
        )

    def prompt(self, stage: PayoutStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        if view.me.kind == "mediator":
            return [Block("Participants were told here what they are paid.")]
        if not _is_drawn(view):
            return [Block("Participants are told here what they are paid.")]
        return [Block(display.paragraph(payment(stage, view)))]

    def completion(self, stage: PayoutStage, view: OwnView) -> Completion:
        if not _is_drawn(view):
            return Blocked((Reason("Your payment is being worked out.", "being_drawn"),))
        paid = payment(stage, view)
        parts = display.kept(paid)
        page = {"currency": stage.currency, "amount": as_text(paid.amount, stage.currency), "items": parts["items"]}
        return Done(page, effects=(Pay(stage.currency, paid.amount, parts),))

    def problems(self, stage: PayoutStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        return [*config.problems(stage)]

    def parts(self, stage: PayoutStage) -> Parts:
        return Parts(draws=PayoutDraws(stage), is_each_alone=True, reads=config.reads(stage), data=PayoutData(stage))

    def example(self) -> PayoutStage:
        return PayoutStage(
            id="payment",
            name="Your payment",
            items=(
                PayoutItem(id="show-up", stage="before", base=Decimal("2.50")),
                PayoutItem(id="quiz", stage="quiz", questions={"capital": Decimal("0.35")}),
            ),
        )


def _is_drawn(view: OwnView) -> bool:
    return str(view.me.id) in view.draws


class PayoutData(Data):
    def __init__(self, stage: PayoutStage) -> None:
        self._stage = stage

    def columns(self) -> list[Column]:
        names = {one.id: one.name or one.stage for one in self._stage.items}
        items = [
            Column(f"item.{one}", Label(f"Paid for {name}", "paid_for", name=name), "number")
            for one, name in names.items()
        ]
        return [
            Column("currency", Label("Currency", "currency"), "text"),
            Column("amount", Label("Paid", "paid"), "number"),
            *items,
        ]

    def cells(self, page: Json) -> dict[str, Json]:
        """Numbers for readers of the table; the payments have decimals."""
        if not isinstance(page, Mapping) or "amount" not in page:
            return {}
        items = {f"item.{one['id']}": float(one["amount"]) for one in page["items"]}
        return {"currency": page["currency"], "amount": float(page["amount"]), **items}


KIND = Payout()
