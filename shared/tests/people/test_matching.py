"""Rules of who is grouped with whom: no person twice, none who is away, none who waits while there could be a group."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from parley_lab.people.matching import Decision, Rule, Waiting, decide

ROWS = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=12).map(
    lambda found: [Waiting(UUID(int=place), there, late) for place, (there, late) in enumerate(found)]
)
RULES = st.builds(
    Rule,
    people=st.integers(1, 5),
    fewest=st.integers(1, 5),
    then=st.sampled_from(("release", "go_on", "fill")),
)


def played(row: list[Waiting], rule: Rule) -> list[Decision]:
    """All decisions until there is none any more."""
    decisions = []
    while (decision := decide(row, rule)) is not None:
        decisions.append(decision)
        gone = {*decision.group, *decision.released}
        assert gone, "a decision moves somebody"
        row = [one for one in row if one.id not in gone]
    return decisions


@given(ROWS, RULES)
def test_no_schedule_puts_anybody_in_two_groups_or_a_person_who_is_away_in_one(row: list[Waiting], rule: Rule) -> None:
    chosen = [one for decision in played(row, rule) for one in (*decision.group, *decision.released)]
    grouped = {one for decision in played(row, rule) for one in decision.group}

    assert len(chosen) == len({*chosen})
    assert grouped <= {one.id for one in row if one.is_there}


@given(ROWS, RULES)
def test_no_one_waits_while_a_group_could_be_made_and_no_one_longer_than_they_may(
    row: list[Waiting], rule: Rule
) -> None:
    decisions = played(row, rule)

    left = {one.id for one in row} - {one for two in decisions for one in (*two.group, *two.released)}
    assert sum(one.is_there for one in row if one.id in left) < rule.people
    assert not any(one.time_is_up for one in row if one.id in left)
    assert all(len(one.group) <= rule.people for one in decisions)


@given(ROWS, RULES)
def test_the_first_who_came_are_the_first_in_a_group(row: list[Waiting], rule: Rule) -> None:
    there = [one.id for one in row if one.is_there]

    first = next((one.group for one in played(row, rule) if one.group), ())

    assert len(first) < rule.people or list(first) == there[: rule.people]
