"""Which values of a link are placeholders that were not filled in."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.acts.link_values import is_placeholder, require_filled_in
from shared.errors import InvalidInput

PLACEHOLDERS = [
    "{{%PROLIFIC_PID%}}",
    "{{PROLIFIC_PID}}",
    "{{ participant.id }}",
    "%7B%7B%25PROLIFIC_PID%25%7D%7D",
    "%257B%257B%2525PROLIFIC_PID%2525%257D%257D",
    "study-7-{{%PROLIFIC_PID%}}",
    # What a mail program leaves when it takes the brackets for the end of the link, and what a browser decodes.
    "{{%PROLIFIC_PID%",
    "{{\N{REPLACEMENT CHARACTER}Y%}}",
    "${e://Field/PROLIFIC_PID}",
    "${assignmentId}",
    "%SURVEY_CODE%",
    "<PROLIFIC_PID>",
    "%3Cyour id%3E",
    "[workerId]",
    "[Worker ID]",
    "{participant_id}",
    " {{%PROLIFIC_PID%}} ",
    "{{%PROLIFIC_PID%}}\n",
]
IDS = [
    "5f2b8c1e9d3a4b0012345678",
    "p 1",
    "ann@example.org",
    "<ann@example.org>",
    "{6F9619FF-8B86-D011-B42D-00CF4FC964FF}",
    "[17]",
    "100%",
    "%41%",
    "PROLIFIC_PID",
    "a{b}c",
    "a%20b",
    "\N{PARROT}",
    "{}",
    "$5",
]


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
