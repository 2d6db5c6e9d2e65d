"""Which values of a link are placeholders that were not filled in."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput
from parley_lab.people.link_values import is_placeholder, require_filled_in
from parley_lab.testing.link_values import IDS, PLACEHOLDERS


@pytest.mark.parametrize("value", PLACEHOLDERS)
def test_what_was_not_filled_in_is_a_placeholder(value: str) -> None:
    assert is_placeholder(value)


@pytest.mark.parametrize("value", IDS)
def test_what_may_be_an_id_is_none(value: str) -> None:
    assert not is_placeholder(value)


@given(st.text(), st.text(), st.text())
def test_doubled_brackets_are_one_wherever_they_are_and_however_encoded(before: str, name: str, after: str) -> None:
    value = f"{before}{{{{{name}}}}}{after}"

    assert is_placeholder(value)
    assert is_placeholder(quote(value, safe="", errors="replace"))


@given(st.text("0123456789abcdefABCDEF-_.@~ ", max_size=200))
def test_ids_of_services_are_none(value: str) -> None:
    assert not is_placeholder(value)


def test_the_problem_says_what_was_found() -> None:
    with pytest.raises(InvalidInput) as refused:
        require_filled_in("{{%PROLIFIC_PID%}}")

    (problem,) = refused.value.problems
    assert (problem.where, problem.code) == ("external_id", "placeholder")
    assert "{{%PROLIFIC_PID%}}" in problem.found
