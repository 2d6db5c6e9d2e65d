"""Thoughts under labels come off: no word of them is said, and an answer below them counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.replies import answer_after_labels, words_after_labels
from parley_lab.base.replies.labels import without_lines_of_thoughts

LABELS = (
    "Thought:",
    "**Thoughts:**",
    "**Analysis**\n",
    "### Reasoning\n",
    "- Thinking:",
    "Internal monologue:",
    "[Thought]:",
)
ANSWERS = ("Answer:", "**Response:**", "**Reply**\n", "### Final answer\n", "My message:", "Antwort:")


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("read", [words_after_labels, answer_after_labels])
def test_what_an_answer_says_is_left(label: str, answer: str, read: object) -> None:
    assert callable(read)
    assert read(f"{label} SECRET\n{answer} I am for it.") == "I am for it."
    assert read(f"{label} SECRET\n\nSECRET\n\n{answer} I am for it.\n{label} SECRET") == "I am for it."


@pytest.mark.parametrize("label", LABELS)
def test_words_before_a_thought_are_said_and_a_thought_alone_says_nothing(label: str) -> None:
    assert words_after_labels(f"I am for it.\n{label} SECRET") == "I am for it."
    assert words_after_labels(f"{label} SECRET\n\nI am for it.") == ""


@pytest.mark.parametrize(
    "said",
    [
        "I think so.",
        "My reasoning: trams are quiet.",
        "Any thoughts?",
        "A thought: trams.",
        "Answer: 8",
        "Analysis of trams: none.",
        "The reasoning is this: no.",
    ],
)
def test_words_about_thinking_are_no_labels(said: str) -> None:
    assert words_after_labels(said) == said
    assert answer_after_labels(said) == said
    assert without_lines_of_thoughts(said) == said


def test_reasons_that_have_an_answer_in_them_stay_where_no_one_reads_them() -> None:
    assert answer_after_labels("Reasoning: I choose B.") == "I choose B."
    assert answer_after_labels("Thought: I choose B.") == ""
    assert answer_after_labels("Thought: A?\nAction: B") == "B"
    assert words_after_labels("Thought: A?\nAction: B") == ""


def test_an_object_on_a_line_of_its_own_is_left() -> None:
    assert without_lines_of_thoughts('Thought: {"a": 1}\n{"a": 2}') == '\n{"a": 2}'
    assert without_lines_of_thoughts('Thought: no. Answer: {"a": 2}') == '{"a": 2}'


PIECES = st.lists(
    st.sampled_from([*LABELS, *ANSWERS, "Hello.", "\n", "\n\n", "(Thought: x)", "Note:", "**"]), max_size=8
)


@given(PIECES)
def test_no_word_right_after_the_label_of_a_thought_is_said(pieces: list[str]) -> None:
    said = words_after_labels("".join([*pieces, "\nThought: SECRET\n", *pieces]))

    assert "SECRET" not in said
