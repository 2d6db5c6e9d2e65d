"""The interpretation of replies to interview questions, and the text of options."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.replies.spellings import bare
from parley_lab.kinds.stages.group_interview.options import (
    ListOptions,
    Options,
    RangeOptions,
    TextOptions,
    drawn_order,
    shown,
    with_options,
)
from parley_lab.kinds.stages.group_interview.replies import match, read_reply

ONE_TO_THREE = ListOptions(values=(1, 2, 3))
YES_NO = ListOptions(values=("yes", "No"))
ZERO_TO_FIVE = RangeOptions(low=0, high=5)


@pytest.mark.parametrize(
    "reply",
    [
        "[2]",
        "**2**",
        "Answer: 2",
        "\\boxed{2}",
        "2",
        " 2 ",
        "2.",
        "2.0",
        "02",
        "+2",
        "2e0",
        "'2'",
        '"2."',
        "```\n2\n```",
        "`2`",
        "\u201c2\u201d",
        "```json\n2```",
    ],
    ids=repr,
)
def test_a_number_matches_in_any_spelling(reply: str) -> None:
    assert match(reply, ONE_TO_THREE, None).value == 2


@pytest.mark.parametrize(
    "reply",
    ["I choose 2.", "two", "7", "99 but maybe 3", "2 or 3", "-2", "2.7", "", "  ", "1, 2", "2%", "#2"],
    ids=repr,
)
def test_a_reply_that_mentions_an_option_is_not_one(reply: str) -> None:
    found = match(reply, ONE_TO_THREE, None)

    assert not found.is_valid
    assert found.value is None


@pytest.mark.parametrize(("reply", "option"), [("YES", "yes"), ("no.", "No"), ("'Yes'", "yes")], ids=repr)
def test_a_text_matches_in_any_case_and_gives_the_option_as_it_was_written(reply: str, option: str) -> None:
    assert match(reply, YES_NO, "category").value == option


def test_options_that_end_in_a_full_stop_or_have_quotes_can_be_met() -> None:
    options = ListOptions(values=("It falls.", '"nothing"'))

    assert match("it falls", options, None).value == "It falls."
    assert match("nothing", options, None).value == '"nothing"'


@given(st.lists(st.text(alphabet="abcxyz 0123456789.-'\"", min_size=1), min_size=1, max_size=5, unique=True))
def test_every_option_answers_its_own_question(values: list[str]) -> None:
    kept = [value for value in values if bare(value)]
    options = ListOptions(values=tuple(kept)) if kept else None

    assert all(match(value, options, None).is_valid for value in kept)


@pytest.mark.parametrize(("reply", "value"), [("0", 0), ("5", 5), ("5.0", 5), ("3", 3)], ids=repr)
def test_both_ends_of_a_range_are_in_it(reply: str, value: int) -> None:
    assert match(reply, ZERO_TO_FIVE, "integer").value == value


@pytest.mark.parametrize("reply", ["6", "-3", "2.7", "five", "3 tokens", "1e999999999"], ids=repr)
def test_what_is_not_in_a_range_or_not_whole_is_no_integer(reply: str) -> None:
    assert not match(reply, ZERO_TO_FIVE, "integer").is_valid


def test_a_range_of_floats_takes_what_lies_between() -> None:
    found = match("2.70", ZERO_TO_FIVE, "float")

    assert (found.value, type(found.value)) == (2.7, float)
    assert match("0.1", RangeOptions(low=0.1, high=0.3), None).is_valid


@pytest.mark.parametrize(
    ("reply", "variable_type", "value"),
    [("1,000", "integer", 1000), ("4", "float", 4.0), ("\u22124", "integer", -4), ("anything", None, "anything")],
)
def test_without_options_the_type_decides(reply: str, variable_type: str, value: object) -> None:
    assert match(reply, None, variable_type).value == value  # type: ignore[arg-type]  # as the parameters are listed


@pytest.mark.parametrize("reply", ["many", "1.5", "12 apples"], ids=repr)
def test_without_options_a_typed_variable_takes_nothing_else(reply: str) -> None:
    assert not match(reply, TextOptions(text="Any whole number"), "integer").is_valid


def test_the_value_of_a_typed_option_has_its_type() -> None:
    found = match("10", ListOptions(values=("10", "20")), "integer")

    assert (found.value, type(found.value)) == (10, int)


def test_the_reason_of_a_mismatch_names_what_would_match() -> None:
    assert match("4", ONE_TO_THREE, None).expected == "one of: 1, 2, 3"
    assert "from 0 to 5" in match("9", ZERO_TO_FIVE, None).expected


# parts of replies


@pytest.mark.parametrize(
    "raw",
    ['{"response": 2}', '```json\n{"response": "2"}\n```', '{"Response": 2.0}', '```\n{"response": " 2 "}```', "2"],
    ids=repr,
)
def test_the_response_is_found_in_json_and_in_text(raw: str) -> None:
    assert match(read_reply(raw).response, ONE_TO_THREE, None).value == 2


def test_all_parts_of_a_json_reply_are_read() -> None:
    reply = read_reply('{"response":"3","reasoning":"r","speculation_score":10}')

    assert (reply.response, reply.reasoning, reply.speculation_score) == ("3", "r", 10)


@pytest.mark.parametrize(
    "raw",
    [
        "I think so.\nSpeculation Score: 3",
        "I think so.\n**Speculation score:** 3",
        "I think so.\nspeculation_score = 3%",
    ],
    ids=repr,
)
def test_the_score_of_a_plain_reply_is_its_last_line(raw: str) -> None:
    reply = read_reply(raw)

    assert (reply.response, reply.speculation_score) == ("I think so.", 3)


@pytest.mark.parametrize("score", ["101", "-1", '"high"', "true", "null", "[5]"])
def test_a_score_out_of_its_limits_is_none(score: str) -> None:
    assert read_reply(f'{{"response": "a", "speculation_score": {score}}}').speculation_score is None


@given(st.text())
def test_reading_and_matching_any_reply_ends_in_a_value_or_a_reason(raw: str) -> None:
    reply = read_reply(raw)

    for options in (None, ONE_TO_THREE, ZERO_TO_FIVE):
        for variable_type in (None, "category", "integer", "float"):
            found = match(reply.response, options, variable_type)
            assert (found.value is None) == bool(found.expected)


# what is shown


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (ListOptions(values=("a", "b", "c")), "Answer with one of these: a, b, c."),
        (ListOptions(values=("a",)), "Answer with a."),
        (ZERO_TO_FIVE, "Answer with a number from 0 to 5 (both included)."),
        (TextOptions(text="As you like."), "As you like."),
        (None, ""),
    ],
)
def test_options_are_shown_in_the_order_of_the_sheet(options: Options | None, sentence: str) -> None:
    assert shown(options) == sentence


def test_options_are_where_the_text_wants_them_and_else_below_it() -> None:
    assert with_options("Give. {response_options} Now!", ZERO_TO_FIVE).startswith("Give. Answer with")
    assert with_options("Give.", ZERO_TO_FIVE) == "Give.\nAnswer with a number from 0 to 5 (both included)."
    assert with_options("Give. {response_options}", None) == "Give. "
    assert with_options("Give.", None) == "Give."


@given(st.integers())
def test_a_drawn_order_shows_every_option_once(seed: int) -> None:
    options = ListOptions(values=tuple(range(10)))

    order = drawn_order(options, Random(seed))

    assert sorted(order or []) == list(range(10))
    assert order == drawn_order(options, Random(seed))
