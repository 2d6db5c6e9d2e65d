"""Computes a payment in decimals: base, right answers, points at a rate; one item of a group; sum or mean, rounded up.

Formula: Deliberate Lab, payout stages. All chance was drawn before; no amount is ever a float.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal
from random import Random
from typing import Final
from uuid import UUID

from parley_lab.base.rules import applies
from parley_lab.contracts.money import decimals_of, fewest_decimals
from parley_lab.kinds import Draws, Json, Member, OwnView
from parley_lab.kinds.reads import Part, StageRead
from parley_lab.kinds.stages.payout.config import PayoutItem, PayoutStage

_ZERO: Final = Decimal(0)
_BITS: Final = 32
SELECTED: Final = "selected"
"""The key of a member's draw of items: the id of the item that is paid, by group."""
LUCK: Final = "luck"
"""The key of a member's draw of rounds: a number of 32 bits for each item of which one round is paid."""


class PayoutDraws(Draws):
    """Draws for each member, when it comes, which items and rounds are paid."""

    def __init__(self, stage: PayoutStage) -> None:
        self._stage = stage

    def draw(self, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        base = rng.getrandbits(64)
        new = {str(one.id): self._of(Random(f"{base}/{one.place}")) for one in members}
        return {**new, **drawn}

    def _of(self, chance: Random) -> dict[str, Json]:
        selected = {group: chance.choice(items).id for group, items in self._stage.groups.items()}
        luck = {item.id: chance.getrandbits(_BITS) for item in self._stage.items if item.rounds == "one"}
        return {SELECTED: selected, LUCK: luck}


@dataclass(frozen=True, slots=True)
class Earned:
    """The amount of one item; `round`: the drawn one, where one round is paid."""

    item: PayoutItem
    title: str
    base: Decimal = _ZERO
    questions: Mapping[str, Decimal] = field(default_factory=dict)
    points: Decimal | None = None
    round: int | None = None

    @property
    def for_points(self) -> Decimal:
        return _ZERO if self.points is None else self.points * self.item.rate

    @property
    def amount(self) -> Decimal:
        found = self.base + sum(self.questions.values(), _ZERO) + self.for_points
        return found if self.item.floor is None else max(found, self.item.floor)


@dataclass(frozen=True, slots=True)
class Payment:
    """A whole payment: the items that count, and their amount."""

    earned: tuple[Earned, ...]
    is_mean: bool
    currency: str

    @property
    def total(self) -> Decimal:
        return max(_ZERO, sum((one.amount for one in self.earned), _ZERO))

    @property
    def amount(self) -> Decimal:
        """Rounded up to whole cents, or to the smallest coin of the currency."""
        paid = self.total / len(self.earned) if self.is_mean and self.earned else self.total
        return paid.quantize(Decimal(1).scaleb(-decimals_of(self.currency)), ROUND_CEILING)


def payment(stage: PayoutStage, view: OwnView) -> Payment:
    """The payment of `view.me`, with the items and rounds that were drawn for it."""
    drawn = view.draws.get(str(view.me.id), {})
    selected = drawn.get(SELECTED, {})
    own = [item for item in stage.items if applies(item.show_if)]
    counted = [item for item in own if item.selection is None or selected.get(item.selection) == item.id]
    return Payment(tuple(_earned(item, view, drawn.get(LUCK, {})) for item in counted), stage.average, stage.currency)


def _earned(item: PayoutItem, view: OwnView, luck: Mapping[str, int]) -> Earned:
    read = view.reads.get(item.stage)
    if read is None:
        return Earned(item, item.name or item.stage)
    counts = read.own if item.winner_of is None else _winners_part(read, view.reads.get(item.winner_of))
    points, number = _points(item, read.own, luck.get(item.id, 0))
    return Earned(
        item,
        item.name or read.title,
        base=item.base if read.is_completed else _ZERO,
        questions=_for_right_answers(item, counts),
        points=points,
        round=number,
    )


def _winners_part(read: StageRead, election: StageRead | None) -> Part | None:
    """The answers of the elected member; None without a winner."""
    if election is None:
        return None
    elected = (election.group.get(one.name) for one in election.group_columns if one.type == "member")
    winner = next((one for one in elected if isinstance(one, str)), None)
    return None if winner is None else read.members.get(UUID(winner))


def _for_right_answers(item: PayoutItem, part: Part | None) -> dict[str, Decimal]:
    lines = {} if part is None else {one.field: one for one in part.answered}
    return {name: amount for name, amount in item.questions.items() if name in lines and lines[name].is_correct}


def _points(item: PayoutItem, part: Part | None, luck: int) -> tuple[Decimal | None, int | None]:
    """The points that count, 0 at least, and the number of their round."""
    if item.points is None or part is None:
        return None, None
    if item.rounds == "one":
        rounds = part.rounds.get(item.points, {})
        if not rounds:
            return None, None
        number = sorted(rounds)[luck * len(rounds) >> _BITS]
        return _decimal(rounds[number]), number
    return (_decimal(part.cells[item.points]), None) if item.points in part.cells else (None, None)


def _decimal(points: float) -> Decimal:
    return max(_ZERO, Decimal(str(points)))


def as_text(amount: Decimal, currency: str) -> str:
    """The amount without an exponent, with as many decimals at least as the currency has."""
    whole, _, cents = f"{amount.normalize():f}".partition(".")
    cents = cents.ljust(fewest_decimals(currency), "0")
    return f"{whole}.{cents}" if cents else whole
