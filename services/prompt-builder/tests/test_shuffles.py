"""Groups of items in a shuffled order: which orders there are, and who shares one."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.contracts.prompt_items import Shuffle
from parley_lab.prompt_builder.items import Page, shuffled
from parley_lab.prompt_builder.rendering import render
from parley_lab.prompt_builder.testing.items import BOB, context, member, shown, text

LETTERS = "abcdefgh"


def group(*items: dict[str, Any], title: str = "reasons", **fields: Any) -> dict[str, Any]:
    return {"type": "group", "title": title, "items": list(items), **fields}


def letters(count: int = len(LETTERS)) -> list[dict[str, Any]]:
    return [text(f"<{letter}>") for letter in LETTERS[:count]]


def order(said: str) -> str:
    return "".join(part[1] for part in said.split("\n\n") if part.startswith("<"))


def test_a_group_without_shuffle_stays_in_order() -> None:
    said = shown(group(*letters()))

    assert order(said) == LETTERS
    assert "reasons" not in said


@given(st.integers(0, 2**63 - 1), st.sampled_from(["experiment", "cohort", "participant", "custom"]))
def test_a_shuffle_is_a_permutation_that_repeats(seed: int, scope: str) -> None:
    item = group(*letters(), shuffle={"seed": scope})

    first, second = (order(shown(item, seed=seed)) for _ in range(2))

    assert first == second
    assert sorted(first) == list(LETTERS)


@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(0, 3), st.booleans())
def test_a_shuffle_is_stable_when_other_items_are_added(seed: int, count: int, around: int, with_stage: bool) -> None:
    few = group(*letters(count), shuffle={})
    more = group(*letters(), shuffle={})
    others = [text("Other."), {"type": "stage_context"}, group(text("Else."), title="else", shuffle={})][:around]

    alone = order(shown(few, seed=seed))

    assert order(shown(*others, few, *([{"type": "stage_context"}] * with_stage), seed=seed)) == alone
    assert "".join(letter for letter in order(shown(more, seed=seed)) if letter in LETTERS[:count]) == alone


def test_every_order_comes_up_about_equally_often() -> None:
    page = Page(context([]), "talk", task="")

    drawn = [tuple(shuffled(page, Shuffle(), f"/{number}", 3)) for number in range(1200)]

    counts = [drawn.count(one) for one in set(drawn)]
    assert len(counts) == 6
    assert all(140 < count < 260 for count in counts)


@pytest.mark.parametrize(
    ("scope", "same_for_bob", "same_elsewhere"),
    [("experiment", True, True), ("cohort", True, False), ("participant", False, False), ("custom", True, True)],
)
def test_scopes_say_who_shares_an_order(scope: str, same_for_bob: bool, same_elsewhere: bool) -> None:
    item = group(*letters(), shuffle={"seed": scope, "custom_seed": "x"})
    elsewhere = replace(context([{"type": "task"}, item], author=member("Ann", path="c2/ann")), cohort_path="c2")

    own = order(shown(item))

    assert (order(shown(item, author=BOB)) == own) == same_for_bob
    assert (order(render(elsewhere).messages[1].content) == own) == same_elsewhere


def test_groups_are_shuffled_apart_from_each_other() -> None:
    first, second = group(*letters(), shuffle={}), group(*letters(), shuffle={})
    nested = group(group(*letters(), shuffle={}), title="outer")

    assert len({order(shown(first, second))[8:], order(shown(first)), order(shown(nested))}) == 3
