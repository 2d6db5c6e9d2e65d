"""Rounds of a game that a later stage reads, by their numbers."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from parley_lab.kinds import PAGE
from parley_lab.kinds.stages import kind_of, read_stage
from parley_lab.testing.thread_world import a_member
from parley_lab.testing.views import row_of
from parley_lab.views.builder import Facts, People, own_view

ANN, BEN = a_member("ann"), a_member("ben")
GAME = read_stage(
    {
        "kind": "matrix_game",
        "id": "game",
        "on_invalid": "exclude_round",
        "horizon": {"type": "fixed", "rounds": 4},
    }
)
PAY = read_stage(
    {
        "kind": "payout",
        "id": "pay",
        "items": [{"id": "one", "stage": "game", "points": "points", "rounds": "one"}],
    }
)
SEATS: dict[str, Any] = {"a": str(ANN.id), "b": str(BEN.id), "rounds": 4, "luck_a": 1, "luck_b": 2}


@pytest.mark.parametrize(("luck", "number", "points"), [(0, 3, 3), (2**32 - 1, 4, 1)])
def test_the_round_that_is_paid_keeps_its_number_when_earlier_ones_do_not_count(
    luck: int, number: int, points: int
) -> None:
    rows = tuple(replace(row_of(one, ("game", "pay"), "pay"), player="person") for one in (ANN, BEN))
    own: dict[UUID, Any] = {ANN.id: {PAGE: {"points": 4}}}
    facts = Facts(
        people=People(rows),
        answers={"game": own},
        draws={"game": SEATS, "pay": {str(ANN.id): {"selected": {}, "luck": {"one": luck}}}},
        stages={"game": GAME, "pay": PAY},
        states={"game": {"actions": ["--CD", "--CD"], "status": "over"}},
        whole=("game", "pay"),
    )
    view = own_view(facts, PAY, ANN.id)

    (item,) = kind_of(PAY).page(PAY, view).model_dump()["items"]
    prompt = kind_of(PAY).prompt(PAY, view)[0].text

    assert (item["round"], float(item["points"])) == (number, points)
    assert f"({points} points of round {number}, which was drawn" in prompt
