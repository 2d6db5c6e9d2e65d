"""An order is read by the ranks that a reply gives, wherever it writes them."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.replies.orders import order

WORDS = {"p1": "Plan A", "p2": "Plan B", "p3": "Two roads", "p4": ""}
Ranked = list[tuple[int, str]]
FORMS: list[Callable[[Ranked], object]] = [
    lambda ranked: " ".join(f"{rank}. {item}" for rank, item in ranked),
    lambda ranked: "\n".join(f"{rank}) {WORDS[item] or item}" for rank, item in ranked),
    lambda ranked: "\n".join(f"- **{rank}:** {item}" for rank, item in ranked),
    lambda ranked: ", ".join(f"{item}: {rank}" for rank, item in ranked),
    lambda ranked: "; ".join(f"{item} ({rank})" for rank, item in ranked),
    lambda ranked: [f"{rank}. {item}" for rank, item in ranked],
    lambda ranked: {item: rank for rank, item in ranked},
    lambda ranked: {f"rank {rank}": WORDS[item] or item for rank, item in ranked},
    lambda ranked: [{"item": item, "rank": rank} for rank, item in ranked],
    lambda ranked: [{"rank": str(rank), "code": item, "reason": "So."} for rank, item in ranked],
    lambda ranked: [item for _, item in sorted(ranked)],
    lambda ranked: " > ".join(item for _, item in sorted(ranked)),
]


@given(st.permutations(sorted(WORDS)), st.permutations(range(4)), st.sampled_from(FORMS))
def test_an_order_is_read_by_its_ranks_or_refused(
    meant: list[str], written: list[int], form: Callable[[Ranked], object]
) -> None:
    ranked = [(place + 1, meant[place]) for place in written]

    assert order(form(ranked), WORDS) in (meant, None)


@pytest.mark.parametrize("number", range(len(FORMS)))
def test_every_form_is_read(number: int) -> None:
    written = FORMS[number]([(2, "p1"), (1, "p3"), (4, "p2"), (3, "p4")])

    assert order(written, WORDS) == ["p3", "p1", "p4", "p2"]


@pytest.mark.parametrize("written", ["2. 1 1. 2", {"1": "2", "2": "1"}, ["2. 1", "1. 2"]])
def test_numbers_that_may_be_ranks_or_codes_are_no_order(written: object) -> None:
    assert order(written, {"1": "", "2": ""}) in (None, ["2", "1"])


@given(st.recursive(st.none() | st.text(max_size=8) | st.integers(), lambda one: st.lists(one, max_size=3)))
def test_nothing_breaks_the_reader(written: object) -> None:
    order(written, WORDS)
