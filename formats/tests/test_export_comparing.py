"""What counts as the same data."""

import json
from itertools import pairwise

import pytest

from parley_lab.formats.exports import natural, without_ids_and_clocks

ONE, TWO = "0f0f0f0f-0000-4000-8000-000000000001", "0f0f0f0f-0000-4000-8000-000000000002"


def _json(**fields: object) -> bytes:
    return without_ids_and_clocks("data.json", json.dumps(fields).encode())


def test_ids_and_clocks_do_not_count() -> None:
    assert _json(member_id=ONE, at="2030", path="c1") == _json(member_id=TWO, at="2031", path="c1")


def test_everything_else_does() -> None:
    assert _json(text="yes") != _json(text="no")


def test_an_id_inside_a_text_still_refers_to_the_same_thing() -> None:
    assert _json(a=f"message:{ONE}", b=f"message:{ONE}") == _json(a=f"message:{TWO}", b=f"message:{TWO}")
    assert _json(a=f"message:{ONE}", b=f"message:{ONE}") != _json(a=f"message:{TWO}", b=f"message:{ONE}")


def test_cells_that_hold_json_are_compared_inside() -> None:
    one = b'path,prompt,created_at\r\nc1,"{""call_id"": ""a"", ""text"": ""x""}",2030\r\n'
    other = b'path,prompt,created_at\r\nc1,"{""call_id"": ""b"", ""text"": ""x""}",2031\r\n'

    assert without_ids_and_clocks("a.csv", one) == without_ids_and_clocks("a.csv", other)
    assert b"x" in without_ids_and_clocks("a.csv", one)


@pytest.mark.parametrize("paths", [["c1", "c2", "c10"], ["c1/m2", "c1/m10", "c2/m1"], ["c1", "c1/m1"]])
def test_numbers_in_paths_are_numbers(paths: list[str]) -> None:
    assert all(natural(one) < natural(other) for one, other in pairwise(paths))
