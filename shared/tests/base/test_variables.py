"""Variables in texts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base import variables

VALUES = {"town": "Altmere", "n": 3, "yes": True, "none": None, "who": {"name": "Ana", "tags": ["a", "b"]}}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("In {{town}}.", "In Altmere."),
        ("{{ town }}{{n}}", "Altmere3"),
        ("{{who.name}} {{who.tags.1}}", "Ana b"),
        ("{{yes}}{{none}}", "true"),
        ("{{who.tags}}", '["a", "b"]'),
        ("{{unknown}} {{who.age}} {{a b}}", "{{unknown}} {{who.age}} {{a b}}"),
        ("{town} }}{{", "{town} }}{{"),
    ],
)
def test_texts_are_filled(text: str, filled: str) -> None:
    assert variables.fill(text, VALUES) == filled


def test_every_text_in_a_value_is_filled_but_no_key() -> None:
    value = {"{{town}}": ["{{town}}", {"deep": "{{n}}"}], "number": 5}

    assert variables.fill(value, VALUES) == {"{{town}}": ["Altmere", {"deep": "3"}], "number": 5}


@given(st.text())
def test_a_value_is_put_in_as_it_is(value: str) -> None:
    assert variables.fill("<{{x}}>", {"x": value, "town": "A"}) == f"<{value}>"


def test_a_later_layer_wins() -> None:
    assert variables.merged({"a": 1, "b": {"x": 1}}, {"b": 2}) == {"a": 1, "b": 2}


def test_places_without_a_variable_are_problems() -> None:
    value: Any = {"lines": ["{{town}}", "{{twon}} and {{ who.age }}"], "title": "{{a b}}"}

    problems = variables.problems(value, VALUES, "stages[0]")

    assert [(one.where, one.found) for one in problems] == [
        ("stages[0].lines[1]", "`{{twon}}`"),
        ("stages[0].lines[1]", "`{{who.age}}`"),
        ("stages[0].title", "`{{a b}}`"),
    ]
