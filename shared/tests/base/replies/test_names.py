"""A member's own name comes off its words, and words in the name of another member are not its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.replies.names import OwnWords, other_speaker, own_words

OWN, OTHERS = ("Ana",), ("Ben", "Cleo B.", "Ana Maria")
HEADS = (
    "{}: ",
    "{}:",
    "{} : ",
    "**{}:** ",
    "**{}**: ",
    "*{}:* ",
    "[{}]: ",
    "[12:04] {}: ",
    "(12:04) {}: ",
    "12:04 {}: ",
    "(00:05) {} (you): ",
    "**[12:04] {}:** ",
    "\U0001f98a {}: ",
    "{}\uff1a",
    "{} says: ",
    "[00:05, from {}] ",
    "[from {}] ",
    '(00:05) {} [answering Ben at 00:01: "Hm"]: ',
    "<{}> ",
    "<{}>: ",
    "[{}] ",
    "> {}: ",
    "> **{}:** ",
    "### {}\n",
    "## **{}**\n",
    "**{}**\n",
    "{} (10:05): ",
    "{} [10:05]: ",
    "{}, 10:05: ",
    "{} at 10:05: ",
    "**{}** \u2013 ",
    "**{}** - ",
    '"{}": ',
    "\u201c{}\u201d: ",
    "{} | ",
    "{}> ",
)
SAID = (
    "I am for it.",
    "Note: the last one leaves at one.",
    "Ben, what do you say?",
    "What does Ben: the driver say?",
    "Ana is my name.",
    "They said:\n- Ben: for it\n- Cleo B.: against it",
    '"Ben: hi" is what I read.',
    "12:04 is late.",
    "Benjamin: a name.",
    "Ben said: hi",
    "I heard what Ben said: hi",
    "Ben wrote: no trams.",
    "Ben - you are right.",
    "Ben \u2013 what do you say?",
    "**Ben** is right.",
    "@Ben: what do you say?",
    "a < Ben > b",
)


@pytest.mark.parametrize("said", SAID)
def test_words_without_a_name_before_them_stay_as_they_are(said: str) -> None:
    assert own_words(said, OWN, OTHERS) == OwnWords(said)


@pytest.mark.parametrize("said", SAID)
def test_the_own_name_before_the_words_comes_off(said: str) -> None:
    for head in HEADS:
        assert own_words(f"{head.format('Ana')}{said}", OWN, OTHERS) == OwnWords(said, had_name=True)
        assert own_words(f"{head.format('ANA')}Ana: {said}", OWN, OTHERS) == OwnWords(said, had_name=True)


@pytest.mark.parametrize("name", OTHERS)
def test_words_end_where_another_member_would_speak(name: str) -> None:
    for head in HEADS:
        others = f"{head.format(name)}I am against it.\nAna: Well."

        assert own_words(f"I am for it.\n\n{others}", OWN, OTHERS) == OwnWords("I am for it.", of_another=name)
        assert own_words(f"Ana: I am for it.\n{others}", OWN, OTHERS) == OwnWords("I am for it.", True, name)
        assert own_words(others, OWN, OTHERS) == OwnWords("", of_another=name)


def test_the_head_of_a_line_in_a_prompt_comes_off() -> None:
    assert own_words("[00:05, from you] I am for it.", OWN, OTHERS) == OwnWords("I am for it.", had_name=True)
    assert own_words("Yes.\n[00:05, from the system] Ben has left.", OWN, OTHERS).text == "Yes."


def test_the_own_name_before_a_report_comes_off() -> None:
    assert own_words("Ana said: I am for it.", OWN, OTHERS) == OwnWords("I am for it.", had_name=True)


@pytest.mark.parametrize("role", ["User", "Human", "System"])
def test_words_end_where_a_role_of_a_chat_would_speak(role: str) -> None:
    assert own_words(f"I am for it.\n\n{role}: And then?", OWN, OTHERS) == OwnWords("I am for it.", of_another=role)
    assert own_words("Assistant: I am for it.", OWN, OTHERS) == OwnWords("I am for it.", had_name=True)


@pytest.mark.parametrize(
    ("written", "speaker"),
    [
        ({"speaker": "Ben", "message": "hi"}, "Ben"),
        ({"Name": " ben ", "text": "hi"}, "Ben"),
        ({"speaker": "Ana", "message": "hi"}, None),
        ({"to": "Ben", "message": "hi"}, None),
        ({"speaker": 3}, None),
    ],
)
def test_an_object_may_name_another_speaker(written: dict[str, object], speaker: str | None) -> None:
    assert other_speaker(written, OWN, OTHERS) == speaker


def test_a_name_that_two_members_share_is_the_own_one() -> None:
    assert own_words("Fox: I am for it.", ("Fox",), ("Fox",)) == OwnWords("I am for it.", had_name=True)


def test_without_names_words_are_as_they_are() -> None:
    assert own_words("Ana: hi", (), ()) == OwnWords("Ana: hi")


OF_OTHERS = (
    "Ben: SECRET",
    "**Cleo B.:** SECRET",
    "(00:01) Ben: SECRET",
    "<Ben> SECRET",
    "> Ben: SECRET",
    "### Ben\nSECRET",
)
LINES = st.lists(st.sampled_from([*SAID, "Ana: mine", *OF_OTHERS]), max_size=5)


@given(LINES)
def test_no_line_of_another_member_is_left(lines: list[str]) -> None:
    assert "SECRET" not in own_words("\n".join(lines), OWN, OTHERS).text


@pytest.mark.parametrize(
    "text",
    [
        "I propose:\nAna: 3\nBen: 4\nCleo B.: 3\nIs that fine?",
        "Ben: 4 tokens\nAna: 3 tokens\n\nFine?",
        "**Ana:** $3\n**Ben:** $4.50",
        "To sum up:\n\nBen: against it\nAna: for it",
    ],
)
def test_what_is_said_about_several_members_one_after_another_stays(text: str) -> None:
    assert own_words(text, OWN, OTHERS) == OwnWords(text)


def test_a_conversation_that_goes_on_is_no_list() -> None:
    assert own_words("Ana: yes\nBen: me too", OWN, OTHERS) == OwnWords("yes", had_name=True, of_another="Ben")
    assert own_words("Ana: 3\nAna: 4", OWN, OTHERS) == OwnWords("3\n4", had_name=True)
