"""Prompts in pieces: put together they are what was cut, and what two prompts have in common is the same piece."""

from uuid import UUID

import orjson
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.drafts.prompts import MOST_AT_THE_TOP, Pieces, in_pieces

LINES = st.lists(st.text(max_size=30) | st.sampled_from(["", "\n", "\\", "\\n", "(00:01) Ana: yes"]), max_size=200)


def whole(pieces: Pieces, digests: list[UUID]) -> str:
    return "".join(pieces.texts[one] if one in pieces.texts else whole(pieces, pieces.parts[one]) for one in digests)


def as_prompt(lines: list[str]) -> str:
    return orjson.dumps([{"role": "user", "content": "\n".join(lines)}]).decode()


def talk(*numbers: int) -> list[str]:
    return [f"({number // 60:02}:{number % 60:02}) Ana: message {number} of them" for number in numbers]


@given(lines=LINES)
def test_a_prompt_is_the_texts_of_its_pieces(lines: list[str]) -> None:
    prompt = as_prompt(lines)
    pieces = in_pieces(prompt)

    assert whole(pieces, pieces.top) == prompt


@given(text=st.text())
def test_any_text_can_be_cut(text: str) -> None:
    pieces = in_pieces(text)

    assert whole(pieces, pieces.top) == text


def test_a_call_keeps_few_digests_of_a_long_prompt() -> None:
    pieces = in_pieces(as_prompt(talk(*range(5_000))))

    assert len(pieces.texts) > 500
    assert len(pieces.top) <= MOST_AT_THE_TOP


def test_the_next_prompt_of_a_conversation_has_few_pieces_of_its_own() -> None:
    for length in (500, 2_000):
        first, second = (in_pieces(as_prompt(talk(*range(length + more)))) for more in (0, 1))

        assert len(second.texts.keys() - first.texts.keys()) <= 2
        assert len(second.parts.keys() - first.parts.keys()) <= 4


def test_so_has_a_prompt_that_leaves_out_the_oldest_message() -> None:
    first, second = (in_pieces(as_prompt(["(... left out)", *talk(*range(start, 900))])) for start in (300, 301))

    assert len(second.texts.keys() - first.texts.keys()) <= 2


def test_lines_that_repeat_are_one_piece() -> None:
    pieces = in_pieces(as_prompt([""] * 3_000))

    assert len(pieces.texts) <= 3
    assert whole(pieces, pieces.top) == as_prompt([""] * 3_000)
