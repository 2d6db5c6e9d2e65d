"""Rules of who is grouped with whom: no person twice, none who is away, none who waits while there could be a group."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.people import matching
from parley_lab.people.matching import Decision, Growing, Kind, Rule, Waiting, decide, joining_only

PEOPLE = st.lists(st.tuples(st.booleans(), st.booleans(), st.sampled_from("abc")), max_size=9)
PAIRS = st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=8)


def _row(found: Sequence[tuple[bool, bool, str]], met: set[tuple[int, int]]) -> list[Waiting]:
    """People with those whom they have met; one who has met others is met by them."""
    both = {*met, *((other, one) for one, other in met)}
    return [
        Waiting(
            UUID(int=place), there, late, value, frozenset(UUID(int=b) for a, b in both if a == place and b != place)
        )
        for place, (there, late, value) in enumerate(found)
    ]


ROWS = st.builds(_row, PEOPLE, st.just(set()) | PAIRS)


def plain_rule(*, values: str = "any") -> st.SearchStrategy[Rule]:
    return st.builds(
        Rule,
        people=st.integers(1, 5),
        fewest=st.integers(1, 5),
        then=st.sampled_from(("release", "go_on", "fill")),
        values=st.just(values),
    )


PLACES = st.dictionaries(
    st.sampled_from("abc"),
    st.tuples(st.integers(0, 2), st.integers(0, 2)).map(lambda two: (min(two), max(1, *two))),
    min_size=1,
)
KINDS = st.lists(st.tuples(PLACES, st.integers(0, 9)), min_size=1, max_size=2).map(
    lambda found: tuple(Kind(places, str(place), had) for place, (places, had) in enumerate(found))
)
COMPOSED = st.builds(
    Rule,
    people=st.integers(4, 6),
    fewest=st.integers(1, 4),
    then=st.sampled_from(("release", "go_on", "fill")),
    values=st.just("composed"),
    kinds=KINDS,
    is_balanced=st.booleans(),
)
RULES = plain_rule() | plain_rule(values="same") | plain_rule(values="different") | COMPOSED


def played(row: Sequence[Waiting], rule: Rule) -> list[Decision]:
    """All decisions until there is none any more."""
    decisions = []
    while (decision := decide(row, rule)) is not None:
        decisions.append(decision)
        gone = {*decision.group, *decision.released}
        assert gone, "a decision moves somebody"
        row = [one for one in row if one.id not in gone]
    return decisions


def left_by(decisions: Sequence[Decision], row: Sequence[Waiting]) -> list[Waiting]:
    moved = {one for two in decisions for one in (*two.group, *two.released)}
    return [one for one in row if one.id not in moved]


def fits(people: Sequence[Waiting], rule: Rule, *, loosely: bool = False) -> bool:
    """Whether these people may be a group, said in another way than the rule does. `loosely`: agents take the seats
    that are empty."""
    counted = Counter(one.value for one in people)
    if not 0 < len(people) <= rule.people or any(one.id in two.met for one in people for two in people):
        return False
    match rule.values:
        case "same":
            return len(counted) == 1
        case "different":
            return max(counted.values()) == 1
        case "composed":
            return any(_is(counted, kind.places, loosely) for kind in rule.kinds)
        case _:
            return True


def _is(counted: Mapping[str, int], places: Mapping[str, tuple[int, int]], loosely: bool) -> bool:
    if not counted.keys() <= places.keys():
        return False
    return all(
        (loosely or least <= counted.get(one, 0)) and counted.get(one, 0) <= places[one][1]
        for one, (least, _) in places.items()
    )


@given(ROWS, RULES)
def test_no_schedule_puts_anybody_in_two_groups_or_a_person_who_is_away_in_one(row: list[Waiting], rule: Rule) -> None:
    decisions = played(row, rule)

    chosen = [one for decision in decisions for one in (*decision.group, *decision.released)]
    grouped = {one for decision in decisions for one in decision.group}
    assert len(chosen) == len({*chosen})
    assert grouped <= {one.id for one in row if one.is_there}


@given(ROWS, RULES)
def test_no_one_waits_while_a_group_could_be_made_and_no_one_longer_than_they_may(
    row: list[Waiting], rule: Rule
) -> None:
    left = left_by(played(row, rule), row)

    there = [one for one in left if one.is_there]
    fewest = rule.fewest if rule.values == "composed" else rule.people
    possible = [size for size in range(fewest, rule.people + 1) if size <= len(there)]
    assert not any(fits(people, rule) for size in possible for people in combinations(there, size))
    assert not any(one.time_is_up for one in left)


@given(ROWS, RULES)
def test_every_group_is_such_as_the_file_wants(row: list[Waiting], rule: Rule) -> None:
    by_id = {one.id: one for one in row}
    by_name = {one.id: one for one in rule.kinds}

    for decision in played(row, rule):
        people = [by_id[one] for one in decision.group]
        assert not people or fits(people, rule, loosely=rule.then == "fill" and any(one.time_is_up for one in people))
        assert not people or not rule.kinds or {one.value for one in people} <= by_name[decision.kind].places.keys()


@pytest.mark.parametrize("met", [frozenset[UUID](), frozenset({UUID(int=5_000)})], ids=["nobody met", "some met"])
def test_a_group_may_have_more_people_than_a_search_has_calls(met: frozenset[UUID]) -> None:
    row = [Waiting(UUID(int=number), is_there=True, met=met) for number in range(1_200)]

    decision = decide(row, Rule(people=1_200))

    assert decision is not None
    assert len(decision.group) == 1_200


@given(ROWS, plain_rule())
def test_the_first_who_came_are_the_first_in_a_group(row: list[Waiting], rule: Rule) -> None:
    row = [replace(one, met=frozenset()) for one in row]
    there = [one.id for one in row if one.is_there]

    first = next((one.group for one in played(row, rule) if one.group), ())

    assert len(first) < rule.people or list(first) == there[: rule.people]


@pytest.mark.parametrize("then", ["release", "go_on", "fill"])
@pytest.mark.parametrize("values", ["any", "same"])
def test_a_search_among_people_who_have_all_met_ends_soon(
    monkeypatch: pytest.MonkeyPatch, then: Literal["release", "go_on", "fill"], values: Literal["any", "same"]
) -> None:
    """Seven groups of eight have met, and eight strangers are wanted: there are 8^7 ways to look for them."""
    steps = Counter[str]()
    add = matching._Group._add

    def count(group: matching._Group, one: Waiting) -> None:
        steps["added"] += 1
        add(group, one)

    monkeypatch.setattr(matching._Group, "_add", count)
    groups = [[UUID(int=8 * group + place) for place in range(8)] for group in range(7)]
    row = [Waiting(one, True, True, "a", frozenset({*group} - {one})) for group in groups for one in group]

    decision = decide(row, Rule(people=8, fewest=8, then=then, values=values))

    assert decision == Decision(released=tuple(one.id for one in row))
    assert steps["added"] < 2 * matching.MOST_STEPS + 1000


def people(values: str, *, late: str = "") -> list[Waiting]:
    """One for each letter, in the order in which they came."""
    return [Waiting(UUID(int=place), True, value in late, value) for place, value in enumerate(values)]


def places_of(decision: Decision | None) -> list[int]:
    return [] if decision is None else [one.int for one in decision.group]


def test_the_oldest_who_fill_a_composition_become_a_group() -> None:
    rule = Rule(people=4, values="composed", kinds=(Kind({"a": (2, 3), "b": (1, 1)}),))

    assert decide(people("aab"[:2]), rule) is None
    assert places_of(decide(people("aab"), rule)) == [0, 1, 2]
    assert places_of(decide(people("bbaaaa"), rule)) == [0, 2, 3, 4]


def test_a_person_whose_value_no_group_takes_does_not_wait_in_vain() -> None:
    rule = Rule(people=2, values="composed", kinds=(Kind({"a": (1, 1), "b": (1, 1)}),))

    assert decide(people("ac"), rule) == Decision(released=(UUID(int=1),))


def test_with_balancing_the_composition_comes_first_that_has_had_fewer_people() -> None:
    kinds = (Kind({"a": (2, 2)}, "pure", 6), Kind({"a": (1, 1), "b": (1, 1)}, "mixed", 4))

    usual = decide(people("aab"), Rule(people=2, values="composed", kinds=kinds))
    balanced = decide(people("aab"), Rule(people=2, values="composed", kinds=kinds, is_balanced=True))

    assert (usual and usual.kind, places_of(usual)) == ("pure", [0, 1])
    assert (balanced and balanced.kind, places_of(balanced)) == ("mixed", [0, 2])


def test_agents_take_the_places_of_a_value_that_no_one_has_when_the_time_is_up() -> None:
    kinds = (Kind({"a": (1, 1), "b": (1, 1)}),)

    filled = decide(people("aa", late="a"), Rule(people=2, then="fill", values="composed", kinds=kinds))
    fewer = decide(people("aa", late="a"), Rule(people=2, then="go_on", values="composed", kinds=kinds))

    assert places_of(filled) == [0]
    assert fewer == Decision(released=(UUID(int=0), UUID(int=1)))


def test_people_join_groups_that_grow_and_no_more_are_made_than_these_take() -> None:
    places = {"pro": (0, 2), "con": (0, 2)}
    rule = Rule(people=2, values="composed", kinds=(Kind(places, "open"), Kind({"pro": (2, 2)}, "pairs")))
    group = UUID(int=9)

    full = joining_only(rule, [])
    half = joining_only(rule, [Growing(group, "open", 1), Growing(group, "pairs", 1)])
    any_one = joining_only(Rule(people=2), [Growing(group, "", 1)])

    assert full.kinds == ()
    assert [(one.id, one.people) for one in half.kinds] == [("open", 1)]
    assert any_one.people == 1
    three = [Waiting(UUID(int=number), True, value="pro") for number in range(3)]
    assert decide(three, half) == Decision(group=(UUID(int=0),), kind="open")
    assert decide(three, any_one) == Decision(group=(UUID(int=0),))
