"""Student's quantile against published tables, and intervals where the textbook formula has none."""

import math
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.kinds.stages.matrix_game.arena.intervals import Estimate, estimate, student_t

# Two-sided 95 % and 99 %, NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2.
TABLE = {
    1: (12.706, 63.657),
    2: (4.303, 9.925),
    3: (3.182, 5.841),
    4: (2.776, 4.604),
    5: (2.571, 4.032),
    6: (2.447, 3.707),
    7: (2.365, 3.499),
    8: (2.306, 3.355),
    9: (2.262, 3.250),
    10: (2.228, 3.169),
    15: (2.131, 2.947),
    20: (2.086, 2.845),
    29: (2.045, 2.756),
    30: (2.042, 2.750),
    60: (2.000, 2.660),
    100: (1.984, 2.626),
    10**9: (1.960, 2.576),
}


@pytest.mark.parametrize("degrees", TABLE)
def test_quantiles_are_those_of_the_tables(degrees: int) -> None:
    assert (round(student_t(0.95, degrees), 3), round(student_t(0.99, degrees), 3)) == TABLE[degrees]


def test_quantiles_of_one_and_two_degrees_are_those_of_their_formulas() -> None:
    for confidence in (0.1, 0.5, 0.95, 0.999):
        assert math.isclose(student_t(confidence, 1), math.tan(math.pi * confidence / 2), rel_tol=1e-9)
        assert math.isclose(student_t(confidence, 2), confidence * math.sqrt(2 / (1 - confidence**2)), rel_tol=1e-9)


def test_the_expansion_goes_on_where_the_exact_sum_ends() -> None:
    exact, expanded, after = (student_t(0.95, degrees) for degrees in (2000, 2001, 2002))

    assert exact > expanded > after
    assert math.isclose(exact - expanded, expanded - after, rel_tol=0.01)


@pytest.mark.parametrize(("confidence", "degrees"), [(0.95, 0), (0.0, 3), (1.0, 3), (1.2, 3)])
def test_there_is_no_quantile_without_degrees_or_confidence(confidence: float, degrees: int) -> None:
    with pytest.raises(ValueError, match="degree"):
        student_t(confidence, degrees)


def test_five_replicates() -> None:
    found = estimate([0.8, 0.9, 1, 0.9, 0.9], bounds=(0, 1))

    assert found.mean == pytest.approx(0.9)
    assert found.deviation == pytest.approx(0.0707, abs=1e-4)
    assert found.low == pytest.approx(0.8122, abs=1e-4)
    assert found.high == pytest.approx(0.9878, abs=1e-4)


def test_equal_values_have_an_interval_without_width() -> None:
    assert estimate([0.1] * 5) == Estimate(5, 0, 0.1, 0.0, 0.1, 0.1)


def test_one_value_has_no_interval() -> None:
    assert estimate([0.4]) == Estimate(1, 0, 0.4)


def test_missing_values_are_left_out_and_counted() -> None:
    assert estimate([None, 0.4, None]) == Estimate(1, 2, 0.4)
    assert estimate([None]) == Estimate(0, 1)
    assert estimate([]) == Estimate(0, 0)


def test_an_interval_stays_within_the_bounds_of_its_measure() -> None:
    found = estimate([0, 1, 1], bounds=(0, 1))

    assert (found.low, found.high) == (0, 1)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_the_interval_holds_the_mean(values: list[float]) -> None:
    found = estimate(values, bounds=(0, 1))

    assert found.mean is not None
    assert found.low is not None
    assert found.high is not None
    assert math.isclose(found.mean, fmean(values), abs_tol=1e-12)
    assert found.low <= found.mean <= found.high
