"""The terminal output for many cohorts: each stage at its first arrival, and equal lines once."""

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.cli.telling import AND_OTHERS, Line, Openings, Repeated, cohorts_text, folded


def test_a_stage_that_was_open_from_the_start_is_told_when_someone_comes() -> None:
    openings, cohort = Openings(), uuid4()

    told = [
        openings.opened((cohort, "welcome"), participants=3),
        openings.opened((cohort, "after"), participants=3),
        *_come(openings, cohort, "talk"),
        openings.opened((cohort, "talk"), participants=3),
        *_come(openings, cohort, "after"),
    ]

    assert [line for line in told if line] == [
        "welcome is open",
        "talk is open: 3 of 3 have arrived",
        "after is open",
    ]


def test_what_was_told_before_a_run_was_resumed_is_not_told_again() -> None:
    openings, cohort = Openings(), uuid4()
    openings.skip((cohort, "welcome"))

    assert _come(openings, cohort, "welcome") == [None, None, None]


def _come(openings: Openings, cohort: UUID, stage_id: str) -> list[str | None]:
    return [openings.arrived((cohort, stage_id), f"c1/m{number}", participants=3) for number in (1, 2, 3)]


def test_what_befalls_many_for_one_reason_is_told_of_the_first() -> None:
    repeated = Repeated()

    told = [repeated.new_lines(reason, f"{who} {reason}") for who, reason in enumerate(["no", "no", "none", "no"])]

    assert told == [["0 no"], [AND_OTHERS], ["2 none"], []]
    assert repeated.has_told("c1/m1 got no usable reply: none")
    assert not repeated.has_told("c1/m1 got no usable reply: nothing")


def test_what_happens_in_several_cohorts_is_told_once() -> None:
    lines = [
        Line("c1", "talk is open"),
        Line("c1", "Hello", "talk", "Ana"),
        Line("c1", "has ended"),
        Line("c2", "talk is open"),
        Line("c2", "Hello", "talk", "Ana"),
        Line("c2", "has ended"),
    ]

    assert [(cohorts, line.text) for cohorts, line in folded(lines)] == [
        (["c1", "c2"], "talk is open"),
        (["c1"], "Hello"),
        (["c1"], "has ended"),
        (["c2"], "Hello"),
        (["c2"], "has ended"),
    ]


@given(
    st.lists(
        st.builds(
            Line,
            cohort_path=st.sampled_from(["c1", "c2", "c3"]),
            text=st.sampled_from(["a", "b"]),
            author=st.sampled_from([None, "Ana"]),
        )
    )
)
def test_folding_keeps_every_line_of_every_cohort_in_its_order(lines: list[Line]) -> None:
    told = list(folded(lines))

    for path in ("c1", "c2", "c3"):
        kept = [(line.text, line.author) for cohorts, line in told if path in cohorts]
        assert kept == [(line.text, line.author) for line in lines if line.cohort_path == path]


@pytest.mark.parametrize(
    ("paths", "text"),
    [
        (["c1"], "c1"),
        (["c2", "c1"], "c1, c2"),
        (["c1", "c2", "c3", "c7"], "c1 to c3, c7"),
        (["c1", "c3", "c5", "c7"], "4 cohorts"),
    ],
)
def test_cohorts_are_named_in_spans(paths: list[str], text: str) -> None:
    assert cohorts_text(paths) == text
