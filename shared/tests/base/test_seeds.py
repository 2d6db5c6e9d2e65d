"""Random streams: each place of an experiment has its own."""

from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.seeds import rng


@given(st.integers(0, 2**32), st.lists(st.text(), min_size=2, max_size=5, unique=True))
def test_each_place_draws_by_itself_and_the_same_each_time(seed: int, places: list[str]) -> None:
    drawn = [rng(seed, place).random() for place in places]

    assert len(set(drawn)) == len(places)
    assert drawn == [rng(seed, place).random() for place in places]
