"""What is paid: the formula, in decimals, to the cent."""

from collections import Counter
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from parley_lab.kinds import Blocked, Column, Done, OwnView
from parley_lab.kinds.data import Answered
from parley_lab.kinds.reads import Part, StageRead
from parley_lab.kinds.stages.payout.config import PayoutStage
from parley_lab.kinds.stages.payout.reckoning import PayoutDraws, as_text, payment
from parley_lab.kinds.stages.payout.rules import KIND
from parley_lab.testing.thread_world import a_member
from parley_lab.testing.views import own

ANN, BEN = a_member("ann"), a_member("ben")


def stage(*items: dict[str, Any], **fields: Any) -> PayoutStage:
    numbered = [{"id": f"i{at}", "stage": "quiz", **item} for at, item in enumerate(items)]
    return PayoutStage.model_validate({"id": "pay", "items": numbered, **fields})


def part(*right: str, wrong: tuple[str, ...] = (), points: Any = None, rounds: tuple[float, ...] = ()) -> Part:
    lines = [Answered(name, name, "text", "x", is_correct=name in right) for name in (*right, *wrong)]
    cells = {} if points is None else {"points": points}
    return Part(cells, tuple(lines), {"points": dict(enumerate(rounds, start=1))} if rounds else {})


def seen(of: PayoutStage, *, seed: int = 1, vote: Any = None, **reads: Part | None) -> OwnView:
    given_reads = {
        name: StageRead(name.title(), (), own=one, is_completed=one is not None, members={BEN.id: one} if one else {})
        for name, one in reads.items()
    }
    if vote is not None:
        given_reads["vote"] = StageRead("Vote", (), group_columns=(Column("winner", "", "member"),), group=vote)
    return own(ANN, draws=PayoutDraws(of).draw([ANN], {}, Random(seed)), reads=given_reads)


def paid(of: PayoutStage, **known: Any) -> str:
    return as_text(payment(of, seen(of, **known)).amount, of.currency)


def test_base_and_right_answers_are_added_and_rounded_up_to_the_cent() -> None:
    of = stage({"base": 1.5}, {"questions": {"a": 0.35, "b": 0.5}}, {"questions": {"a": 0.055}})

    assert paid(of, quiz=part("a", wrong=("b",))) == "1.91"


def test_the_mean_of_one_two_and_two_is_rounded_up() -> None:
    assert paid(stage({"base": 1}, {"base": 2}, {"base": 2}, average=True), quiz=part()) == "1.67"


def test_a_stage_that_was_not_completed_pays_nothing_and_counts_in_the_mean() -> None:
    of = stage({"base": 1, "questions": {"a": 1}})

    assert paid(of, quiz=None) == "0.00"
    assert paid(stage({"base": 1}, {"base": 1, "stage": "other"}, average=True), quiz=part(), other=None) == "0.50"


def test_the_answers_of_the_winner_count_instead_of_ones_own() -> None:
    of = stage({"base": 1, "questions": {"a": 2}, "winner_of": "vote"})
    view = seen(of, quiz=part(wrong=("a",)), vote={"winner": str(BEN.id)})
    parts = {BEN.id: part("a"), ANN.id: part(wrong=("a",))}
    read = StageRead("Quiz", (), own=parts[ANN.id], is_completed=True, members=parts)
    elected = own(ANN, draws=view.draws, reads={**view.reads, "quiz": read})
    no_one = own(ANN, draws=view.draws, reads={"quiz": read, "vote": StageRead("Vote", ())})

    assert as_text(payment(of, elected).amount, "USD") == "3.00"
    assert as_text(payment(of, no_one).amount, "USD") == "1.00"


def test_points_are_paid_at_a_rate_for_all_rounds_or_one() -> None:
    game = part(points=12.3, rounds=(3, 0, 9.3))

    assert paid(stage({"points": "points", "rate": 0.01}), quiz=game) == "0.13"
    drawn = {paid(stage({"points": "points", "rounds": "one"}), quiz=game, seed=seed) for seed in range(40)}
    assert drawn == {"3.00", "0.00", "9.30"}
    assert paid(stage({"points": "points", "rounds": "one"}), quiz=part(points=4)) == "0.00"
    assert paid(stage({"points": "points"}), quiz=part(points=-4)) == "0.00"


def test_of_a_group_one_item_is_paid_each_as_often() -> None:
    of = stage({"base": 1, "selection": "g"}, {"base": 2, "selection": "g"}, {"base": 10})

    counts = Counter(paid(of, quiz=part(), seed=seed) for seed in range(400))

    assert set(counts) == {"11.00", "12.00"}
    assert 150 < counts["11.00"] < 250


def test_what_is_drawn_for_someone_stays_and_is_its_own() -> None:
    of = stage({"base": 1, "selection": "g"}, {"base": 2, "selection": "g"})
    members = [a_member(f"m{number}") for number in range(40)]
    first = PayoutDraws(of).draw(members[:20], {}, Random(1))
    later = PayoutDraws(of).draw(members, first, Random(1))

    assert {one: later[one] for one in first} == first
    assert len({str(one["selected"]) for one in later.values()}) == 2
    assert later == PayoutDraws(of).draw(members, {}, Random(1))


amounts = st.decimals(0, 1000, places=6)


@given(st.lists(amounts, min_size=1, max_size=8), st.booleans())
def test_what_is_paid_is_never_less_and_less_than_a_cent_more(bases: list[Decimal], is_mean: bool) -> None:
    of = stage(*({"base": str(base)} for base in bases), average=is_mean)

    amount = payment(of, seen(of, quiz=part())).amount

    exact = sum(bases, Decimal(0)) / (len(bases) if is_mean else 1)
    assert 0 <= amount - exact < Decimal("0.01")
    assert amount == amount.quantize(Decimal("0.01"))


def test_a_number_of_the_file_is_the_decimal_that_is_there() -> None:
    (item,) = stage({"base": 0.1, "rate": 0.005, "points": "points"}).items

    assert (item.base, item.rate) == (Decimal("0.1"), Decimal("0.005"))
    assert PayoutStage.model_validate(stage({"base": 0.1}).model_dump(mode="json")) == stage({"base": 0.1})
    with pytest.raises(ValidationError):
        stage({"base": -1})


def test_going_on_keeps_each_part_and_the_sum() -> None:
    of = stage({"base": 1, "questions": {"a": 0.005}}, currency="EUR")

    done = KIND.completion(of, seen(of, quiz=part("a")))

    assert isinstance(done, Done)
    (pay,) = done.effects
    assert (pay.currency, pay.amount, pay.parts["sum"]) == ("EUR", Decimal("1.01"), "1.005")  # type: ignore[union-attr]
    assert pay.parts["items"][0]["questions"] == {"a": "0.005"}  # type: ignore[union-attr]
    assert isinstance(KIND.completion(of, own(ANN)), Blocked)


def test_page_and_prompt_say_the_same() -> None:
    of = stage(
        {"base": 1, "questions": {"a": 0.5}, "description": "For the quiz."}, {"points": "points", "rounds": "one"}
    )
    view = seen(of, quiz=part("a", points=3, rounds=(3,)))

    page, prompt = KIND.page(of, view), KIND.prompt(of, view)[0].text

    assert f"You are paid USD {page.amount}." in prompt
    for item in page.items:
        for fact in (item.name, item.amount, item.description):
            assert fact in prompt
    assert "round 1, which was drawn" in prompt


@pytest.mark.parametrize(
    ("items", "where"),
    [
        ([{}], "items[0]"),
        ([{"base": 1}, {"base": 1, "id": "i0"}], "items[1].id"),
        ([{"base": 1, "winner_of": "vote"}], "items[0].winner_of"),
        ([{"base": 1, "rounds": "one"}], "items[0].rounds"),
    ],
)
def test_what_is_wrong_with_a_payment_is_told_at_its_place(items: list[dict[str, Any]], where: str) -> None:
    assert [problem.where for problem in KIND.problems(stage(*items), [])] == [where]


def test_it_reads_everybody_only_for_the_winners_answers() -> None:
    reads = KIND.parts(stage({"base": 1}, {"questions": {"a": 1}, "winner_of": "vote"})).reads

    assert [(one.stage, one.everybody, one.where) for one in reads] == [
        ("quiz", False, "items[0].stage"),
        ("quiz", True, "items[1].stage"),
        ("vote", True, "items[1].winner_of"),
    ]


@pytest.mark.parametrize(
    ("currency", "text"), [("CHF", "2.35"), ("JPY", "3"), ("KWD", "2.341"), ("points", "2.35"), ("USD", "2.35")]
)
def test_a_payment_is_rounded_up_to_the_smallest_coin_of_its_currency(currency: str, text: str) -> None:
    assert paid(stage({"base": "2.3401"}, currency=currency), quiz=part()) == text


@pytest.mark.parametrize(
    ("currency", "told"),
    [("CHF", "You are paid CHF 12.00."), ("JPY", "You are paid JPY 12."), ("points", "You are paid 12 points.")],
)
def test_a_prompt_tells_the_payment_in_its_currency(currency: str, told: str) -> None:
    of = stage({"base": 12}, currency=currency)

    (block,) = KIND.prompt(of, seen(of, quiz=part()))
    assert block.text.startswith(told)


@pytest.mark.parametrize("currency", ["EURO", "chf", "$", "Points", ""])
def test_what_is_no_currency_is_refused(currency: str) -> None:
    with pytest.raises(ValidationError):
        stage({"base": 1}, currency=currency)
