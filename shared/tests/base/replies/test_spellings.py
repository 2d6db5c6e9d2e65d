"""One table of spellings: what plainly means one thing is read, and what could mean another is not."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.replies import spellings

MARKS = (
    "{}",
    " {}\n",
    "**{}**",
    "__{}__",
    "*{}*",
    "`{}`",
    "```\n{}\n```",
    "# {}",
    "### **{}**",
    "Answer: {}",
    "**Answer:** {}",
    "**Final answer: {}**",
    "My answer: {}",
    "\\boxed{{{}}}",
    "$\\boxed{{{}}}$",
    "\\(\\boxed{{\\text{{{}}}}}\\)",
    "({})",
    "[{}]",
    "{{{}}}",
    "<answer>{}</answer>",
    '"{}"',
    "\u201c{}\u201d",
    "{}.",
    "\u200b{}\u2060",
    "\ufeff{}",
    "Antwort: {}",
    "\u7b54\u6848\uff1a{}",
)
OPTIONS = {"y": "Yes, I do", "n": "No, I do not", "m": "Maybe"}


@pytest.mark.parametrize("answer", ["8", "-3", "0.5", "1,000"])
def test_marks_around_a_number_come_off(answer: str) -> None:
    for mark in MARKS:
        assert spellings.number(mark.format(answer)) == Decimal(answer.replace(",", "")), mark


@pytest.mark.parametrize("answer", ["y", "Yes, I do", "yes, i do", "y (Yes, I do)", "y: Yes, I do", "Yes, I do (y)"])
def test_an_option_is_known_by_its_id_its_words_or_both(answer: str) -> None:
    for mark in MARKS:
        assert spellings.option(mark.format(answer), OPTIONS) == "y", mark


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("\uff18", 8),
        ("\u0668", 8),
        ("\u06f8\u06f5", 85),
        ("\u0661\u0662\u066b\u0665", Decimal("12.5")),
        ("\u22123", -3),
        ("+8.0", 8),
        ("2e1", 20),
        ("8/10", 8),
        ("8 out of 10", 8),
        ("**8** / 10", 8),
        ("8/10.", 8),
    ],
)
def test_a_number_is_read_in_digits_of_any_script_and_out_of_the_highest(written: str, expected: int | Decimal) -> None:
    assert spellings.number(written, highest=10) == expected


@pytest.mark.parametrize(
    "written",
    [
        "I choose 8.",
        "8 or 9",
        "8-9",
        "8/100",
        "8 of 12",
        "eight",
        "8\u00b2",
        "\u00bd",
        "8k",
        "8 thousand",
        "8%",
        "$5",
        "8 tokens",
        "about 8",
        "not 8",
        "8 9",
        "",
        "Answer:",
        "1,00",
        "0,500",
        "00,500",
        "<8",
        "> 8",
        "8\n9",
        "x8",
        "\u2467",
    ],
)
def test_a_text_that_mentions_a_number_or_could_mean_another_is_none(written: str) -> None:
    assert spellings.number(written, highest=10) is None


@pytest.mark.parametrize(
    ("written", "about"),
    [
        ("$5", "How many dollars do you give?"),
        ("5 dollars", "How much of the $10 do you give?"),
        ("5 USD", "In $, please"),
        ("\u20ac5", "How many euros?"),
        ("5 tokens", "How many tokens do you give?"),
        ("1 token", "How many tokens?"),
        ("5 %", "In percent?"),
        ("5 percent", "What share, in %?"),
        ("**$5**", "Dollars?"),
        ("5 trams", "How many trams?"),
    ],
)
def test_a_unit_that_the_question_names_may_come_with_the_number(written: str, about: str) -> None:
    assert spellings.number(written, about=about) in (1, 5)
    assert spellings.number(written) is None
    assert spellings.number(written, about="How many horses do you see?") is None


@pytest.mark.parametrize(
    "written",
    ["7 (strongly agree)", "**7** (Strongly agree).", "7 - strongly agree", "7 \u2014 agree", "7\ufe0f\u20e3"],
)
def test_words_that_explain_a_number_come_off(written: str) -> None:
    assert spellings.number(written, highest=7) == 7


@pytest.mark.parametrize(
    "written", ["7 (or 6)", "7 (not sure)", "7 - or more", "7 - 6", "7 (\u00bd)", "7 ()", "a (seven)"]
)
def test_words_that_doubt_a_number_leave_none(written: str) -> None:
    assert spellings.number(written, highest=7) is None


@pytest.mark.parametrize("written", ["8 thousand", "about 8", "8 or more", "8 less", "minus 8", "8k", "8 more"])
def test_words_that_make_it_another_number_are_no_unit(written: str) -> None:
    assert spellings.number(written, about=f"Is it {written}? thousand about or more less minus k tokens") is None


@pytest.mark.parametrize(
    "written",
    [
        *(True, 1, 1.0, "yes", "Yes.", "**TRUE**", "y", "1", "Ja", ["yes"], "Answer: yes", "Yes, I am.", "\u2705"),
        *({"value": True}, {"answer": "yes", "reason": "No bus comes."}),
    ],
    ids=repr,
)
def test_yes_is_known(written: object) -> None:
    assert spellings.truth(written) is True


@pytest.mark.parametrize(
    "written", [False, 0, "no", "No!", "`false`", "n", "0", "Nein", ["no"], "No \u2014 never", "\u274c"], ids=repr
)
def test_no_is_known(written: object) -> None:
    assert spellings.truth(written) is False


@pytest.mark.parametrize(
    "written",
    [
        *(
            2,
            None,
            "maybe",
            "yes and no",
            "",
            [],
            ["yes", "no"],
            {},
            "not yes",
            "no?",
            "10",
            "Yes, but no",
            "Yes, or not",
        ),
        *({"value": True, "answer": False}, {"value": 1, "score": True}, {"reason": "yes"}),
    ],
    ids=repr,
)
def test_neither_yes_nor_no_is_nothing(written: object) -> None:
    assert spellings.truth(written) is None


@pytest.mark.parametrize(
    "written",
    [
        "y)",
        "Option y",
        "Option: y",
        {"id": "y", "text": "Yes, I do"},
        {"choice": "Yes, I do", "reason": "no"},
        {"y": True, "n": False},
    ],
    ids=repr,
)
def test_an_option_is_known_in_a_list_or_an_object_of_its_own(written: object) -> None:
    assert spellings.option(written, OPTIONS) == "y"


@pytest.mark.parametrize(
    "written",
    [
        *("y (Maybe)", "y, n", "y or n", ["y", "n"], "not y", "z", "", 1, None, {}, "I say y", "Yes, of course"),
        *({"id": "y", "text": "Maybe"}, {"y": True, "n": True}, {"reason": "y"}, "Option y or n"),
    ],
    ids=repr,
)
def test_what_names_no_option_or_two_is_none(written: object) -> None:
    assert spellings.option(written, OPTIONS) is None


def test_words_that_two_options_share_name_none() -> None:
    assert spellings.option("same", {"a": "Same", "b": "same"}) is None
    assert spellings.option("B", {"a": "B", "b": "Other"}) is None
    assert spellings.option("b", {"a": "B", "b": "Other"}) == "b"


@pytest.mark.parametrize(
    ("written", "ids", "expected"),
    [
        (True, {"y": "Yes", "n": "No"}, "y"),
        ("false", {"a": "Yes", "b": "No"}, "b"),
        ("yes", {"y": "", "n": ""}, "y"),
        (2, {"1": "", "2": ""}, "2"),
        (2.0, {"1": "", "2": ""}, "2"),
        (True, {"1": "", "0": ""}, None),
        (1, {"y": "", "n": ""}, None),
    ],
)
def test_yes_no_and_numbers_name_options_that_say_so(
    written: object, ids: dict[str, str], expected: str | None
) -> None:
    assert spellings.option(written, ids) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["y", "Maybe"], ["y", "m"]),
        ("y, Maybe", ["y", "m"]),
        ("Yes, I do", ["y"]),
        ("y", ["y"]),
        ([], []),
        ("y; z", None),
        (["z"], None),
        ({"y": True, "n": False, "m": True}, ["y", "m"]),
        ({"y": True, "z": True}, None),
        ("", None),
        (None, None),
    ],
)
def test_several_options_are_named_in_a_list_or_a_text(written: object, expected: list[str] | None) -> None:
    assert spellings.options(written, OPTIONS) == expected


@given(st.text(max_size=30), st.sampled_from(MARKS))
def test_marks_never_make_another_number_of_a_text(text: str, mark: str) -> None:
    plain, marked = spellings.number(text), spellings.number(mark.format(text))

    assert plain is None or marked in (plain, None)


@given(st.integers(-(10**12), 10**12), st.sampled_from(MARKS), st.sampled_from(["0", "\uff10", "\u0660", "\u0966"]))
def test_a_number_is_read_as_itself_in_every_script_and_mark(number: int, mark: str, zero: str) -> None:
    written = "".join(chr(ord(zero) + int(digit)) if digit.isdigit() else digit for digit in str(number))

    assert spellings.number(mark.format(written)) == number


@pytest.mark.parametrize(("value", "named"), [(2500000.0, "2500000"), (2.0, "2"), (2.5, "2.5"), (float("nan"), None)])
def test_a_number_names_the_option_with_this_id(value: float, named: str | None) -> None:
    assert spellings.option(value, {"2500000": "Much", "2": "Two", "2.5": "Between"}) == named
