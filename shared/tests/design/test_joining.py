"""Which arms people draw who join: permuted blocks over the arms that still have a place."""

from collections import Counter
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from parley_lab.contracts.allocation import Allocation
from parley_lab.design import ArmDraw, Block, draw_arm, give_back

SEEDS = st.integers(0, 2**63 - 1)


def drawn(places: Mapping[str, int], seed: int) -> list[ArmDraw]:
    """The draws of as many people as there are places."""
    left, block, draws = dict(places), Block(), []
    while any(left.values()):
        draw, block = draw_arm(block, sorted(arm for arm, number in left.items() if number), seed)
        left[draw.arm] -= 1
        draws.append(draw)
    return draws


@given(places=st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 30), min_size=1), seed=SEEDS)
def test_a_block_has_every_arm_with_a_place_once_and_no_arm_gets_more_than_it_has(
    places: dict[str, int], seed: int
) -> None:
    draws = drawn(places, seed)

    assert Counter(draw.arm for draw in draws) == places
    assert [draw.draw for draw in draws] == list(range(1, len(draws) + 1))
    for number in range(1, draws[-1].block + 1):
        block = [draw for draw in draws if draw.block == number]
        # Every arm has one place a block: in the block n, those are open that have n places or more.
        assert sorted(draw.arm for draw in block) == sorted(arm for arm, most in places.items() if most >= number)
        assert [draw.probability for draw in block] == [1 / left for left in range(len(block), 0, -1)]


@given(taken=st.lists(st.sampled_from("abc"), max_size=40), seed=SEEDS)
def test_whatever_places_go_meanwhile_only_an_arm_with_a_place_is_drawn(taken: list[str], seed: int) -> None:
    """People who name a cohort take places between the draws."""
    left, block = dict.fromkeys("abc", 8), Block()
    for other in taken:
        left[other] = max(0, left[other] - 1)
        open_arms = sorted(arm for arm, number in left.items() if number)
        if not open_arms:
            break
        draw, block = draw_arm(block, open_arms, seed)
        left[draw.arm] -= 1

        assert draw.arm in open_arms
        assert 0 < draw.probability <= 1


@given(seed=SEEDS)
def test_the_same_seed_draws_the_same(seed: int) -> None:
    assert drawn({"a": 5, "b": 3}, seed) == drawn({"a": 5, "b": 3}, seed)


def test_every_arm_is_as_likely_as_it_is_said_to_be() -> None:
    draws = [drawn({"a": 1, "b": 1, "c": 1}, seed) for seed in range(6000)]

    orders = Counter(tuple(draw.arm for draw in one) for one in draws)

    assert len(orders) == 6
    assert all(abs(count - 1000) < 150 for count in orders.values())


@given(weights=st.dictionaries(st.sampled_from("abc"), st.integers(5, 70), min_size=2), seed=SEEDS)
def test_weights_are_met_closely_within_every_twenty_people(weights: dict[str, int], seed: int) -> None:
    cycle, how = sum(weights.values()), Allocation(method="blocked", weights={**weights})
    drawn, block = list[str](), Block()
    for _ in range(2 * cycle):
        draw, block = draw_arm(block, sorted(weights), seed, how)
        drawn.append(draw.arm)

    assert Counter(drawn) == {arm: 2 * weight for arm, weight in weights.items()}
    assert Counter(drawn[:cycle]) == weights
    if cycle > 20:
        for end in range(20, cycle, 20):
            for arm, weight in weights.items():
                assert abs(drawn[:end].count(arm) - end * weight / cycle) < len(weights)


ARMS = st.sampled_from((list("ab"), list("abc"), list("abcd")))


@given(arms=ARMS, begins=st.lists(st.booleans(), max_size=60), seed=SEEDS)
def test_arms_differ_by_one_group_at_most_over_groups_that_began(
    arms: list[str], begins: list[bool], seed: int
) -> None:
    """A group that does not begin returns its draw."""
    block, began = Block(), Counter(dict.fromkeys(arms, 0))
    for number, has_begun in enumerate(begins):
        draw, block = draw_arm(block, arms, seed, path="room/talk")
        if has_begun:
            began[draw.arm] += 1
        else:
            block = give_back(block, draw.arm, seed, path=f"room/talk/{number}")

        assert max(began.values()) - min(began.values()) <= 1


@given(arms=ARMS, turns=st.lists(st.tuples(st.sampled_from("mmbg"), st.integers(0, 9)), max_size=80), seed=SEEDS)
def test_each_block_gives_each_arm_once_whatever_draws_come_back_while_groups_are_made(
    arms: list[str], turns: list[tuple[str, int]], seed: int
) -> None:
    """A group is made (m), one that was made begins (b), or one is given back (g)."""
    block, made, began = Block(), list[str](), Counter[str]()
    for number, (turn, place) in enumerate(turns):
        if turn == "m":
            draw, block = draw_arm(block, arms, seed, path="room/talk")
            made.append(draw.arm)
        elif made:
            arm = made.pop(place % len(made))
            began[arm] += turn == "b"
            block = block if turn == "b" else give_back(block, arm, seed, path=f"room/talk/{number}")

        counted = {arm: began[arm] + made.count(arm) + block.left.count(arm) for arm in arms}
        assert counted == dict.fromkeys(arms, block.number)
