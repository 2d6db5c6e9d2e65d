"""The drawing of roles: minimums are met in every order of arrival, and maximums are kept."""

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.kinds import Blocked, Done, Member
from parley_lab.kinds.stages.role.config import RoleStage, players
from parley_lab.kinds.stages.role.rules import KIND, RoleDraws
from parley_lab.testing.thread_world import a_member
from parley_lab.testing.views import own

SEATS = [a_member(f"m{number}") for number in range(1, 13)]


def stage(*roles: dict[str, Any]) -> RoleStage:
    return RoleStage.model_validate(
        {"id": "roles", "roles": [{"id": f"r{at}", **role} for at, role in enumerate(roles)]}
    )


def least(count: int, most: int | None = None) -> dict[str, Any]:
    return {"min_participants": count, "max_participants": most}


def drawn(of: RoleStage, batches: list[list[Member]], seed: int = 1) -> dict[str, Any]:
    """What is drawn when members come in these batches."""
    there: list[Member] = []
    found: dict[str, Any] = {}
    for batch in batches:
        there = sorted([*there, *batch], key=lambda one: one.path)
        found = RoleDraws(of).draw(there, found, Random(seed))
    return found


bounds = st.integers(0, 3).flatmap(lambda low: st.tuples(st.just(low), st.none() | st.integers(max(low, 1), 5)))
cohorts = st.lists(bounds, min_size=1, max_size=4).map(lambda all_: stage(*(least(*one) for one in all_)))


@given(cohorts, st.permutations(SEATS), st.lists(st.integers(1, 4), min_size=12), st.integers(), st.integers(0, 12))
def test_minimums_are_met_and_maximums_kept_in_every_order_of_arrival(
    of: RoleStage, order: list[Member], sizes: list[int], seed: int, count: int
) -> None:
    fewest, most = players(of)
    come, batches = list(order[:count]), list[list[Member]]()
    while come:
        size = sizes[len(batches)]
        batches.append(come[:size])
        come = come[size:]

    counts = Counter(drawn(of, batches, seed).values())

    missing = sum(max(0, role.min_participants - counts[role.id]) for role in of.roles)
    assert missing == max(0, fewest - count)
    for role in of.roles:
        assert role.max_participants is None or counts[role.id] <= role.max_participants
    assert counts[None] == (0 if most is None else max(0, count - most))


@given(st.permutations(SEATS[:6]), st.integers())
def test_those_who_come_together_are_drawn_alike_in_every_order(order: list[Member], seed: int) -> None:
    of = stage(least(1, 1), least(2), least(0))
    by_seat = sorted(order, key=lambda one: one.path)

    assert RoleDraws(of).draw(by_seat, {}, Random(seed)) == drawn(of, [list(order)], seed)


def test_a_role_whose_owner_has_left_is_given_to_who_comes_next() -> None:
    of = stage(least(1, 1), least(0))
    first = RoleDraws(of).draw(SEATS[:3], {}, Random(3))
    owner = next(one for one in SEATS[:3] if first[str(one.id)] == "r0")
    left = [one for one in SEATS[:3] if one != owner]

    later = RoleDraws(of).draw([*left, SEATS[5]], first, Random(3))

    assert later[str(SEATS[5].id)] == "r0"
    assert {one: later[one] for one in first} == first


def test_who_comes_one_by_one_does_not_always_draw_the_same() -> None:
    of = stage(least(0), least(0))

    counts = [Counter(drawn(of, [[one] for one in SEATS], seed).values())["r0"] for seed in range(200)]

    assert 0.45 < sum(counts) / (200 * len(SEATS)) < 0.55


def test_a_page_tells_the_role_and_its_lines_to_who_has_it() -> None:
    of = stage({"name": "Chair", "lines": ["You begin."]}, {})
    me, other = SEATS[:2]
    view = own(me, other, draws={str(me.id): "r0", str(other.id): "r1"})

    page = KIND.page(of, view)

    assert page.role is not None
    assert (page.role.name, page.role.lines) == ("Chair", ["You begin."])
    assert KIND.prompt(of, view)[0].text == "Your role: Chair.\n\nYou begin."
    assert KIND.completion(of, view) == Done({"role": "r0", "name": "Chair"})
    assert isinstance(KIND.completion(of, own(me)), Blocked)


@pytest.mark.parametrize(
    ("roles", "where"),
    [([{"id": "a"}, {"id": "a"}], "roles[1].id"), ([least(2, 1)], "roles[0].max_participants")],
)
def test_what_is_wrong_with_roles_is_told_at_its_place(roles: list[dict[str, Any]], where: str) -> None:
    assert [problem.where for problem in KIND.problems(stage(*roles), [])] == [where]


def test_a_cohort_must_have_room_for_all_minimums_and_not_more_than_there_are_roles_for() -> None:
    assert players(stage(least(1, 2), least(2, 3))) == (3, 5)
    assert players(stage(least(1), least(2, 3))) == (3, None)
