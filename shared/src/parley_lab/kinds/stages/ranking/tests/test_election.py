"""Who is elected: the pairs that are won, ties, and what holds for all orders."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.kinds.stages.ranking.election import leaders, winner, wins

NAMES = ("v", "w", "x", "y", "z")
ballots = st.lists(st.permutations(NAMES).flatmap(lambda one: st.integers(0, 5).map(lambda most: list(one)[:most])))
complete = st.lists(st.permutations(NAMES).map(list))


def test_an_absent_candidate_is_below_all_that_are_present() -> None:
    given_ballots = [["x", "y"], ["x", "y"], ["x", "y"], ["z"]]

    assert winner(["x", "y", "z"], given_ballots) == "x"
    assert winner(["z", "y", "x"], given_ballots) == "x"
    assert wins(["x", "y", "z"], given_ballots) == {"x": 2, "y": 1, "z": 0}


def test_of_a_cycle_the_first_listed_wins_or_the_one_that_is_drawn() -> None:
    cycle = [["x", "y", "z"], ["y", "z", "x"], ["z", "x", "y"]]

    assert winner(["x", "y", "z"], cycle) == "x"
    assert winner(["z", "y", "x"], cycle) == "z"
    assert winner(["x", "y", "z"], cycle, {"x": 9, "y": 2, "z": 5}) == "y"


def test_without_a_vote_there_is_no_winner() -> None:
    assert winner(["x", "y"], []) is None
    assert winner(["x", "y"], [[], []]) is None
    assert winner([], [["x"]]) is None


@given(ballots)
def test_who_wins_against_all_others_is_elected(given_ballots: list[list[str]]) -> None:
    won = wins(NAMES, given_ballots)

    assert sum(won.values()) <= len(NAMES) * (len(NAMES) - 1) // 2
    for name, count in won.items():
        if count == len(NAMES) - 1:
            assert leaders(NAMES, given_ballots) == [name]


@given(ballots, st.permutations(NAMES))
def test_the_order_of_votes_and_of_the_list_decides_ties_alone(
    given_ballots: list[list[str]], listed: list[str]
) -> None:
    assert set(leaders(listed, given_ballots)) == set(leaders(NAMES, given_ballots))
    assert leaders(NAMES, list(reversed(given_ballots))) == leaders(NAMES, given_ballots)
    elected = winner(listed, given_ballots)
    assert elected == next((one for one in listed if one in leaders(NAMES, given_ballots)), None)


@given(ballots, st.permutations(range(5)))
def test_drawn_ties_choose_among_the_leaders_alone(given_ballots: list[list[str]], numbers: list[int]) -> None:
    drawn = dict(zip(NAMES, numbers, strict=True))
    found = leaders(NAMES, given_ballots)

    assert winner(NAMES, given_ballots, drawn) == min(found, key=lambda one: drawn[one], default=None)


@given(complete)
def test_who_is_first_in_more_than_half_of_the_orders_is_elected(given_ballots: list[list[str]]) -> None:
    for name in NAMES:
        if sum(one[0] == name for one in given_ballots) * 2 > len(given_ballots):
            assert winner(NAMES, given_ballots) == name


@given(ballots, st.sampled_from(NAMES))
def test_one_more_order_that_names_the_winner_alone_keeps_it(given_ballots: list[list[str]], name: str) -> None:
    if winner(NAMES, given_ballots) == name:
        assert winner(NAMES, [*given_ballots, [name]]) == name


@pytest.mark.parametrize("order", list(permutations(("x", "y", "z"))))
def test_one_order_elects_its_first(order: tuple[str, ...]) -> None:
    assert winner(["x", "y", "z"], [order]) == order[0]
