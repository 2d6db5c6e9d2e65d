"""Orders that come out as they do in Deliberate Lab; the values are those that its own functions give."""

from itertools import islice

import pytest

from parley_lab.base.deliberate_lab_draws import drawn, shuffled, uniform_numbers


@pytest.mark.parametrize(
    ("items", "seed_text", "order"),
    [
        ("abcde", "seed", "eadbc"),
        ("abcde", "cohort-1-stage-1-0", "acdeb"),
        ("abcde", "cohort-1-stage-1-1", "daebc"),
        ("123", "cohort-1-stage-1-0", "123"),
        ("123", "cohort-1-stage-1-1", "213"),
    ],
)
def test_known_orders(items: str, seed_text: str, order: str) -> None:
    assert "".join(shuffled(items, seed_text)) == order


def test_a_known_choice_of_some() -> None:
    assert drawn("rgby", 2, "exp1") == ["b", "r"]


def test_known_numbers() -> None:
    assert list(islice(uniform_numbers("seed"), 2)) == pytest.approx([0.93763499, 0.12297725], abs=5e-9)


def test_more_than_there_are_is_all_of_them() -> None:
    assert sorted(drawn("ab", 5, "any")) == ["a", "b"]
