"""What a message shows of the one that it answers."""

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.contracts.audience import LONGEST_QUOTE, excerpt, may_quote, may_read, quote_of

ANN, BEN, CLO = "ann", "ben", "clo"
READERS = (ANN, BEN, CLO)
audiences = st.none() | st.lists(st.sampled_from(READERS), unique=True)


def quoted(text: str = "Hello.", audience: Collection[str] | None = None) -> dict[str, object]:
    return {"id": "m", "author_id": ANN, "profile": {"name": "Ann"}, "text": text, "audience": audience}


def test_a_text_of_280_characters_is_quoted_whole_and_one_more_is_cut_with_an_ellipsis() -> None:
    assert excerpt("x" * 280) == "x" * 280
    assert excerpt("x" * 281) == "x" * 280 + "…"


@given(st.text(max_size=600))
def test_a_quote_is_the_beginning_of_what_was_said(text: str) -> None:
    shown = excerpt(text)

    assert len(shown) <= LONGEST_QUOTE + 1
    assert shown == text or (shown.endswith("…") and text.startswith(shown[:-1]))


@given(audience=audiences, quoted_audience=audiences, author=st.sampled_from(READERS))
def test_no_one_is_shown_a_quote_of_what_they_may_not_read(
    audience: list[str] | None, quoted_audience: list[str] | None, author: str
) -> None:
    readers = READERS if audience is None else audience
    allowed = may_quote(audience=audience, quoted_author=author, quoted_audience=quoted_audience)

    assert not allowed or all(may_read(reader, author=author, audience=quoted_audience) for reader in readers)


def test_a_quote_has_the_id_the_author_and_the_text() -> None:
    assert quote_of(quoted(), None) == {
        "id": "m",
        "author": {"id": ANN, "profile": {"name": "Ann"}},
        "text": "Hello.",
    }


@pytest.mark.parametrize("private", [[], [ANN], [ANN, BEN]])
def test_what_is_not_for_everybody_is_not_quoted_to_everybody(private: list[str]) -> None:
    assert quote_of(quoted(audience=private), None) is None


def test_what_is_for_two_is_quoted_to_the_two() -> None:
    assert quote_of(quoted(audience=[BEN]), [BEN]) is not None
    assert quote_of(quoted(audience=[BEN]), [BEN, CLO]) is None
