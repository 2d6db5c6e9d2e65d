"""Slips of YAML: each is told where it began, with what to type."""

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.design.parsing import parse

SLIPS = [
    (
        "a:\n  - { id: a, title: Hello, world, and you }\n",
        "line 2, column 21: a comma in a text without quotes, after 'Hello', cannot be used here. "
        'Write the text in quotes: title: "Hello, world, and you"',
    ),
    (
        "a: [{ id: a, base: 3,00 }]\n",
        "line 1, column 20: a comma in a number, after '3', cannot be used here. Write 3.00, with a point",
    ),
    (
        "questions:\n  - id: a\n    kind: text\n    id: b\n    kind: text\n",
        "line 4, column 5: the key 'id' is twice in one object. "
        "Write every key once, or `- id`, where the next one of the list begins",
    ),
    ("a:\n  - { id: a, title: What: now }\n", 'line 2, column 25: a colon .* title: "What: now"'),
    ("a:\n  - { id: a, title: How? }\n", 'line 2, column 24: a question mark .* title: "How\\?"'),
    ("a: 1\ntitle: Note: this is it\n", 'line 2, column 12: a colon .* title: "Note: this is it"'),
    ("a:\n\u00a0\u00a0b: 1\n  c: 2\n", "line 2, column 1: a space that does not break lines, .* common spaces"),
    ("a:\n  - id: x\n \u2003  kind: y\n    z: 1\n", "line 3, column 2: a space that does not break lines"),
    (
        "a:\n  b: 1\n\t- c: [\n",
        "line 3, column 1: a tab cannot be used here. Write spaces: type two for each step of indentation",
    ),
    ("a:\n    b:\n\tc: 2\n", "line 3, column 1: a tab"),
    ('a: 1\nb: "open\nc: 2\n', 'line 2, column 4: the text that begins with " does not end'),
    ('a: 1\nb: "open\nc: 2\nd: "x"\n', 'line 2, column 4: the text begins with " and ends only in line 4'),
    (
        'a:\n  - {id: q, title: "open, x: 1}\n  - {id: r, title: "b", x: 2}\n',
        'line 2, column 20: the text begins with " and ends only in line 3',
    ),
    (
        "stages:\n  - id: a\n      kind: info\n",
        "line 3: the line begins in column 7. Write it in column 5, like 'id' in line 2",
    ),
    (
        "stages:\n  - id: a\n   kind: info\n",
        "line 3: the line begins in column 4. Write it in column 5, like 'id' in line 2",
    ),
    (
        "stages:\n  - id: a\n - id: b\n",
        "line 3: the line begins in column 2. Write it in column 3, like '- id' in line 2",
    ),
    ("stages:\n  - {id: a, kind: info\n  - {id: b}\n", "the { in line 2 is not closed"),
    ("stages:\n  - {id: a, lines: [x, y}\n", r"the \[ in line 2 is not closed"),
    ("text: {{town}} is nice\n", 'line 1: a text that begins with {{ .* text: "{{town}} is nice"'),
    ("text: {{town}}\n", "line 1, column 8: a text that begins with {{ cannot be used here. Write it in quotes"),
    ("a: {text: {{town}} is}\n", 'text: "{{town}} is"'),
    (
        "text: *bold* it\n",
        r'a text that begins with \* or & cannot be used here. Write it in quotes: text: "\*bold\* it"',
    ),
    ("text: @me\n", 'a text that begins with @ cannot be used here. Write it in quotes: text: "@me"'),
    ("a: 1\nb\nc: 2\n", "line 2, column 1: 'b' cannot be used here. Write `name: value`"),
    (
        "text: 'it's'\nb: 1\n",
        'a text that goes on after its closing quote cannot be used here. Write it in quotes: text: "it\'s"',
    ),
    ('text: "Hello" he said\n', "Write it in quotes: text: '\"Hello\" he said'"),
    ("seats: [{open}]\n", "line 1, column 9: 'open' has no value"),
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
