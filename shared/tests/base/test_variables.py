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


@pytest.mark.parametrize(
    ("value", "text"), [(1500000.0, "1500000"), (1.5, "1.5"), (3, "3"), (True, "true"), (0.1, "0.1"), ([1.0], "[1.0]")]
)
def test_a_number_in_a_text_is_written_as_people_write_it(value: Any, text: str) -> None:
    assert variables.fill("{{n}} m", {"n": value}) == f"{text} m"


def test_braces_in_a_value_are_no_place_when_the_text_is_filled_once_more() -> None:
    written = variables.fill_before("{{said}} of {{row.what}}, {{ '{{' }}x}}", {"said": "{{row.right}}"})

    assert variables.fill(written, {"row.what": "A", "row.right": "secret"}) == "{{row.right}} of A, {{x}}"
