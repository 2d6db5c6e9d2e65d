"""What a researcher may choose of the look of pages, and what is refused."""

import base64

import pytest
from pydantic import ValidationError

from parley_lab.contracts.appearance import LARGEST_LOGO_BYTES, Appearance


def logo(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def test_a_small_image_is_taken() -> None:
    assert Appearance(logo=logo(b"x" * LARGEST_LOGO_BYTES), accent="#7A1f5c").logo is not None


@pytest.mark.parametrize(
    "address",
    [
        logo(b"x" * (LARGEST_LOGO_BYTES + 1)),
        logo(b""),
        logo(b"x", "text/html"),
        "https://example.org/logo.png",
        "data:image/png;base64,not base64",
        "logo.png",
    ],
)
def test_what_is_no_small_image_is_refused_with_what_to_do(address: str) -> None:
    with pytest.raises(ValidationError, match="data:image/png;base64") as refused:
        Appearance(logo=address)

    assert refused.value.errors()[0]["loc"] == ("logo",)


@pytest.mark.parametrize("accent", ["red", "#fff", "#12345g", "rgb(1, 2, 3)"])
def test_an_accent_has_six_digits(accent: str) -> None:
    with pytest.raises(ValidationError):
        Appearance(accent=accent)


def test_words_of_null_are_left_out_as_experiments_stored_before_have_them() -> None:
    assert Appearance.model_validate({"words": {"go_on": "Onwards", "leave": None}}).words == {"go_on": "Onwards"}
