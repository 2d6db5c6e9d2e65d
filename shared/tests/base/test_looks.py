"""Names that look alike are told apart; a name that shows nothing is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.looks import is_seen, is_told_apart_from, looks_of, told_apart


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Owl", "owl"),
        ("Owl", "\uff2f\uff57\uff4c"),  # full width
        ("Owl", "O\u200bwl"),  # a space of no width
        ("Owl", " Owl\u00a0"),
        ("Ana", "\u0410\u043d\u0430".replace("\u043d", "n")),  # Cyrillic A and a
        ("Nikos", "\u039dikos"),  # Greek N
        ("Ian", "lan"),
        ("Person 10", "Person 1O"),
        ("\U0001d400na", "Ana"),  # a bold letter of mathematics
        ("Stra\u00dfe", "STRASSE"),
    ],
)
def test_names_that_look_alike_are_alike(name: str, other: str) -> None:
    assert looks_of(name) & looks_of(other)
    assert told_apart(name, [other]) == f"{name} (2)" if name[-1].isdigit() else f"{name} 2"


@pytest.mark.parametrize(("name", "other"), [("Owl", "Owl 2"), ("Zo\u00eb", "Zoe"), ("Ana", "Anna"), ("1", "7")])
def test_names_that_differ_stay_as_they_are(name: str, other: str) -> None:
    assert told_apart(name, [other]) == name


def test_the_first_number_that_is_free_is_put_behind_the_name() -> None:
    assert told_apart("Owl", ["owl", "Owl 2", "OWL 3"]) == "Owl 4"
    assert told_apart("Participant 1", ["participant 1"]) == "Participant 1 (2)"


def test_a_numbered_name_is_known_by_the_one_it_was_made_of() -> None:
    assert is_told_apart_from("Accountant 2", "Accountant")
    assert is_told_apart_from("Player 1 (12)", "Player 1")


@pytest.mark.parametrize(
    "name", ["Accountant", "Accountant 1", "Accountant2", "Accountant 02", "Accountant (2)", "Ana 2", "2", ""]
)
def test_a_name_with_anything_else_behind_it_was_not_made_of_it(name: str) -> None:
    assert not is_told_apart_from(name, "Accountant")


@pytest.mark.parametrize("name", ["", " ", "\u200b", "\u3164", "\u2800\u2800", "\ufe0f", "\u0301", "\u00ad \u202e"])
def test_a_name_that_shows_nothing_is_not_seen(name: str) -> None:
    assert not is_seen(name)


@pytest.mark.parametrize("name", ["A", "7", "\U0001f98a", "\u5c71", "\u0635", "-"])
def test_any_sign_is_seen(name: str) -> None:
    assert is_seen(name)


@given(st.lists(st.text("aA\u0430\u0410lI1 \u200b2", min_size=1).filter(is_seen), max_size=6))
def test_names_that_are_told_apart_one_after_another_have_no_look_in_common(names: list[str]) -> None:
    known: list[str] = []

    for name in names:
        known.append(told_apart(name, known))

    assert all(looks_of(a).isdisjoint(looks_of(b)) for n, a in enumerate(known) for b in known[:n])
