"""Changes in the text of a file: the values are the wanted ones, and every other byte is as it was."""

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput
from parley_lab.design.editing import Change, edit_text
from parley_lab.design.parsing import parse

FILE: Final = """\
# An arena.
parley: 1
name: Arena  # its name

stages:
  - id: game
    kind: matrix_game   # two players
    payoffs: {CC: [3, 3], CD: [0, 5], DC: [5, 0], DD: [1, 1]}
    # so long
    horizon: {type: fixed, rounds: 20}

pairings:
  stage: game
  # those who meet
  pairs:
    - seats: [tft, alld]   # the classic
    # and by chance
    - {seats: [tft, coin], replicates: 3}
  round_robin: [a, b]

description: |
  Some words.

"""


def change(*path: str | int, value: Any) -> str:
    return edit_text(FILE, "experiment.yaml", [Change(path, value)]).text


@pytest.mark.parametrize(
    ("path", "value", "before", "after"),
    [
        (("stages", 0, "payoffs", "CC"), [4, 4], "CC: [3, 3]", "CC: [4, 4]"),
        (("stages", 0, "horizon", "rounds"), 50, "rounds: 20", "rounds: 50"),
        (("stages", 0, "chat"), True, "rounds: 20}\n", "rounds: 20}\n    chat: true\n"),
        (("pairings", "replicates"), 5, "[a, b]\n", "[a, b]\n  replicates: 5\n"),
        (("pairings", "round_robin"), ["a", "b", "c d"], "[a, b]", '[a, b, "c d"]'),
        (("pairings", "round_robin"), ["b"], "[a, b]", "[b]"),
        (("pairings", "round_robin"), None, "  round_robin: [a, b]\n", ""),
        (("pairings", "pairs", 0), None, "    - seats: [tft, alld]   # the classic\n", ""),
        (("pairings", "pairs", 1, "replicates"), None, ", replicates: 3", ""),
        (("stages", 0, "horizon"), {"type": "geometric"}, "{type: fixed, rounds: 20}", "{type: geometric}"),
    ],
)
def test_a_change_replaces_what_is_written_for_the_value_alone(
    path: tuple[str | int, ...], value: Any, before: str, after: str
) -> None:
    assert FILE.count(before) == 1
    assert change(*path, value=value) == FILE.replace(before, after)


def test_a_pair_is_added_after_the_last_one_and_comments_stay() -> None:
    pairs = [*parse(FILE, "experiment.yaml")["pairings"]["pairs"], {"seats": ["tft", {"open": True}]}]

    text = change("pairings", "pairs", value=pairs)

    last = "    - {seats: [tft, coin], replicates: 3}\n"
    assert text == FILE.replace(last, f"{last}    - {{seats: [tft, {{open: true}}]}}\n")


@pytest.mark.parametrize(
    ("text", "path", "value", "after"),
    [
        ("a:\nb: 1\n", ("a",), 2, "a: 2\nb: 1\n"),
        ("pairs:\n- a\n- b\n", ("pairs",), [], "pairs:\n  []\n"),
        ("pairs:\n- a\n", ("pairs",), ["x", "a"], "pairs:\n- x\n- a\n"),
        ("a: 1", ("b", "c"), "yes", 'a: 1\nb: {c: "yes"}\n'),
        ("a: 1\r\nc: |+\r\n  x\r\n\r\n", ("b",), 1, "a: 1\r\nc: |+\r\n  x\r\n\r\nb: 1\r\n"),
        ('{\n  "a": 1\n}\n', ("b",), "é", '{\n  "a": 1,\n  "b": "é"\n}\n'),
        ("base: &x {a: 1}\nmore: {<<: *x, b: 2}\n", ("more", "b"), 3, "base: &x {a: 1}\nmore: {<<: *x, b: 3}\n"),
        ("a: 1  # one\n", ("a",), True, "a: true  # one\n"),
        ("a:\n  b: 1\n", ("a",), {"c": 2}, "a:\n  {c: 2}\n"),
        ('{\n\t"a":\t1,\n\t"b": "x"\n}\n', ("a",), 2, '{\n\t"a":\t2,\n\t"b": "x"\n}\n'),
        ('{\n\t"a": 1\n}\n', ("b",), 2, '{\n\t"a": 1,\n\t"b": 2\n}\n'),
    ],
)
def test_a_change_fits_into_how_the_text_is_written(text: str, path: tuple[str, ...], value: Any, after: str) -> None:
    name = "experiment.json" if text.startswith("{") else "experiment.yaml"
    assert edit_text(text, name, [Change(path, value)]).text == after


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a: &x 1\nb: *x\n", ("a",)),
        ("a: [1]\n", ("a", 3)),
        ("a: [1]\n", ("a", -1)),
        ("a: [1]\n", ("a", -9)),
        ("a: 1\n", ("a", "b")),
        ("a: [\n", ("a",)),
    ],
)
def test_a_change_that_would_change_more_or_leads_nowhere_is_refused(text: str, path: tuple[str | int, ...]) -> None:
    with pytest.raises(InvalidInput):
        edit_text(text, "experiment.yaml", [Change(path, 2)])


def test_a_text_of_json_in_which_no_places_are_found_is_refused() -> None:
    text = json.dumps({"k" * 1100: 1, "a": 1})

    with pytest.raises(InvalidInput, match="cannot be changed"):
        edit_text(text, "experiment.json", [Change(("a",), 2)])


words = st.sampled_from(
    ["tft", "alld", "no", "a b", "1", "{x}", "# x", "é", "x: y", "-", "null", "\u2028", "a\nb", "😀", ""]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-2, 2).map(lambda x: round(x, 3)) | words,
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(words, parts, max_size=3),
    max_leaves=6,
)
entries = st.lists(values, max_size=4)


@st.composite
def write(draw: st.DrawFn, value: Any, indent: int) -> str:
    """A value in one of the ways in which people write YAML, after a key or a dash."""
    if isinstance(value, list | dict) and value and draw(st.booleans()):
        lines = []
        for key, one in value.items() if isinstance(value, dict) else ((None, one) for one in value):
            comment = draw(st.sampled_from(["", f"{' ' * indent}# kept\n", "\n"]))
            head = "-" if key is None else f"{quote(key)}:"
            lines.append(f"{comment}{' ' * indent}{head} {draw(write(one, indent + 2))}")
        return "  # kept\n" + "".join(lines)
    end = draw(st.sampled_from(["\n", "   # kept\n"]))
    return quote(value) + end


def quote(value: Any) -> str:
    # JSON, which is YAML but for this end of a line.
    return json.dumps(value, ensure_ascii=False).replace("\u2028", "\\u2028")


@given(data=st.data(), before=entries, after=entries, fields=st.dictionaries(words, values, max_size=3))
def test_after_a_change_the_values_are_the_wanted_ones_and_the_other_bytes_are_as_they_were(
    data: st.DataObject, before: list[Any], after: list[Any], fields: dict[str, Any]
) -> None:
    head = f"# head\nfirst: {data.draw(write(fields, 2))}"
    own = data.draw(write({"list": before, "fields": fields}, 2))
    tail = "# tail\nlast: |\n  text # no comment\n\n"
    text = f"{head}own: {own}{tail}"
    value = parse(text, "experiment.yaml")
    kept = data.draw(st.permutations(before)) if data.draw(st.booleans()) else before
    wanted_list = [*kept[: data.draw(st.integers(0, len(kept)))], *after]
    changes = [Change(("own", "list"), wanted_list), Change(("own", "new", "deep"), 1)]
    for key in fields:
        changes.append(Change(("own", "fields", key), data.draw(values)))

    result = edit_text(text, "experiment.yaml", changes).text

    wanted = {one.path[2]: one.value for one in changes[2:] if one.value is not None}
    value["own"] = {"list": wanted_list, "fields": wanted, "new": {"deep": 1}}
    assert json.dumps(parse(result, "experiment.yaml"), sort_keys=True) == json.dumps(value, sort_keys=True)
    assert result.startswith(head)
    assert result.endswith(tail)


@given(data=st.data(), before=entries, new=values)
def test_an_entry_is_added_to_a_list_by_an_insertion_alone(data: st.DataObject, before: list[Any], new: Any) -> None:
    text = f"own: {data.draw(write({'list': before, 'more': before}, 2))}"
    changes = [Change(("own", "list"), [*before, new])]

    result = edit_text(text, "experiment.yaml", changes).text

    length = len(result) - len(text)
    same = next((at for at, (a, b) in enumerate(zip(text, result, strict=False)) if a != b), len(text))
    assert text[same:] == result[same + length :]
    assert parse(result, "experiment.yaml")["own"] == {"list": [*before, new], "more": before}
