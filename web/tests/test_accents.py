"""Accent colours are readable on every page, whatever a researcher chooses."""

from hypothesis import given
from hypothesis import strategies as st

from parley_lab.web.accents import DARK_GROUND, LIGHT_GROUND, Colour, accents, contrast

AA = 4.5


def colour_of(text: str) -> Colour:
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


@given(st.integers(0, 0xFFFFFF).map(lambda number: f"#{number:06x}"))
def test_any_colour_is_readable_on_light_and_dark_pages_and_carries_text(chosen: str) -> None:
    found = accents(chosen)

    light, on_light, dark, on_dark = map(colour_of, (found.light, found.on_light, found.dark, found.on_dark))
    assert contrast(light, LIGHT_GROUND) >= AA
    assert contrast(dark, DARK_GROUND) >= AA
    assert contrast(light, on_light) >= AA
    assert contrast(dark, on_dark) >= AA


def test_a_colour_that_can_be_read_stays_as_it_is() -> None:
    assert accents("#7a1f5c").light == "#7a1f5c"
    assert accents("#ffd166").dark == "#ffd166"
