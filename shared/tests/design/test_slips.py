"""Slips of YAML: each is told where it began, with what to type."""

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.design.parsing import parse

SLIPS = [
    (
        "a:\n  - { id: a, title: Hello, world, and you }\n",
        "line 2, column 21: found a comma in a text without quotes, after 'Hello'; "
        'expected the text in quotes: title: "Hello, world, and you"',
    ),
    (
        "a: [{ id: a, base: 3,00 }]\n",
        "line 1, column 20: found a comma in a number, after '3'; expected 3.00, with a point",
    ),
    (
        "questions:\n  - id: a\n    kind: text\n    id: b\n    kind: text\n",
        "line 4, column 5: found the key 'id' twice in one object; "
        "expected every key once, or `- id`, where the next one of the list begins",
    ),
    ("a:\n  - { id: a, title: What: now }\n", 'line 2, column 25: found a colon .* title: "What: now"'),
    ("a:\n  - { id: a, title: How? }\n", 'line 2, column 24: found a question mark .* title: "How\\?"'),
    ("a: 1\ntitle: Note: this is it\n", 'line 2, column 12: found a colon .* title: "Note: this is it"'),
    ("a:\n\u00a0\u00a0b: 1\n  c: 2\n", "line 2, column 1: found a space that does not break lines, .* common spaces"),
    ("a:\n  - id: x\n \u2003  kind: y\n    z: 1\n", "line 3, column 2: found a space that does not break lines"),
    (
        "a:\n  b: 1\n\t- c: [\n",
        "line 3, column 1: found a tab; expected spaces: type two for each step of indentation",
    ),
    ("a:\n    b:\n\tc: 2\n", "line 3, column 1: found a tab"),
    ('a: 1\nb: "open\nc: 2\n', 'line 2, column 4: found a text that begins with " and does not end'),
    ('a: 1\nb: "open\nc: 2\nd: "x"\n', 'line 2, column 4: found a text that begins with " and ends only in line 4'),
    (
        'a:\n  - {id: q, title: "open, x: 1}\n  - {id: r, title: "b", x: 2}\n',
        'line 2, column 20: found a text that begins with " and ends only in line 3',
    ),
    (
        "stages:\n  - id: a\n      kind: info\n",
        "line 3: found .* column 7; expected it in column 5, like 'id' in line 2",
    ),
    ("stages:\n  - id: a\n   kind: info\n", "line 3: found .* column 4; expected it in column 5, like 'id' in line 2"),
    ("stages:\n  - id: a\n - id: b\n", "line 3: found .* column 2; expected it in column 3, like '- id' in line 2"),
    ("stages:\n  - {id: a, kind: info\n  - {id: b}\n", "found { in line 2 that is not closed"),
    ("stages:\n  - {id: a, lines: [x, y}\n", r"found \[ in line 2 that is not closed"),
    ("text: {{town}} is nice\n", 'line 1: found a text that begins with {{; .* text: "{{town}} is nice"'),
    ("text: {{town}}\n", "line 1, column 8: found a text that begins with {{; expected it in quotes"),
    ("a: {text: {{town}} is}\n", 'text: "{{town}} is"'),
    ("text: *bold* it\n", r'found a text that begins with \* or &; expected it in quotes: text: "\*bold\* it"'),
    ("text: @me\n", 'found a text that begins with @; expected it in quotes: text: "@me"'),
    ("a: 1\nb\nc: 2\n", "line 2, column 1: found 'b'; expected `name: value`"),
    ("text: 'it's'\nb: 1\n", 'found a text that goes on after its closing quote; expected it in quotes: text: "it\'s"'),
    ('text: "Hello" he said\n', "expected it in quotes: text: '\"Hello\" he said'"),
    ("seats: [{open}]\n", "line 1, column 9: found 'open' without a value"),
]


@pytest.mark.parametrize(("text", "told"), SLIPS)
def test_a_slip_is_told_where_it_began_with_what_to_type(text: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told if "\n" not in told else None):
        parse(text, "x.yaml")


@pytest.mark.parametrize(
    "text", ["a: {b: , c: 1}\n", "a: {b: null}\n", "a: ['x, y', z]\n", 'a: {b: "x, y"}\n', "a:\n  b:\n  c: 1\n"]
)
def test_what_is_no_slip_is_read(text: str) -> None:
    parse(text, "x.yaml")


def test_every_comma_of_a_file_is_told() -> None:
    with pytest.raises(InvalidInput) as refused:
        parse("- {a: one, two}\n- {b: three, four}\n", "x.yaml")

    assert [problem.where for problem in refused.value.problems] == ["line 1, column 7", "line 2, column 7"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a:\n\tb: 1\n", {"a": {"b": 1}}),
        ("a:\n\t- b: 1\n\t  c: 2\n", {"a": [{"b": 1, "c": 2}]}),
        ("a:\r\n\tb:\r\n\t\tc: 1\r\n", {"a": {"b": {"c": 1}}}),
        ("a: |\n  x\n  \ty\n", {"a": "x\n\ty\n"}),
        ("\ufeffa: 1\r\n", {"a": 1}),
    ],
)
def test_tabs_marks_and_line_ends_of_windows_are_read(text: str, value: object) -> None:
    assert parse(text.encode(), "x.yaml") == value


def test_all_slips_are_listed_at_once() -> None:
    text = """\
parley: 1
name: Table: two
description: @home
stages:
  - { id: pre, kind: survey, title: Why: x }
  - id: c
    lines: [{{x}}]
    id: d
    info: "a" b
"""

    with pytest.raises(InvalidInput) as refused:
        parse(text, "x.yaml")

    assert [problem.where for problem in refused.value.problems] == [
        "line 2, column 12",
        "line 3, column 14",
        "line 5, column 40",
        "line 7, column 14",
        "line 8, column 5",
        "line 9, column 15",
    ]


def test_a_slip_that_may_be_the_reason_for_others_is_the_last() -> None:
    with pytest.raises(InvalidInput) as refused:
        parse("a: [b\nc: d: e\nf: @g\n", "x.yaml")

    assert len(refused.value.problems) == 1
