"""An accent colour that can be read: darker on light pages, lighter on dark ones, with a colour for what is on it.

Contrast is that of WCAG 2.2 (1.4.3), https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio.
"""

from dataclasses import dataclass
from typing import Final

Colour = tuple[int, int, int]
"""Red, green and blue, from 0 to 255."""

ENOUGH: Final = 5.5
"""More than the 4.5 of level AA, since the colour is also shown on grounds that it tints."""
WHITE: Final[Colour] = (255, 255, 255)
BLACK: Final[Colour] = (16, 18, 20)
# The grounds of `lab.css`: `--paper` where it is light, `--raised` where it is dark.
LIGHT_GROUND: Final[Colour] = (250, 250, 248)
DARK_GROUND: Final[Colour] = (30, 33, 37)
_STEPS: Final = 50


@dataclass(frozen=True, slots=True)
class Accents:
    """Colours as `#rrggbb`: of marks and grounds on light and on dark pages, and of texts on them."""

    light: str
    on_light: str
    dark: str
    on_dark: str


def accents(colour: str) -> Accents:
    """The accents nearest to this colour, `#rrggbb`, that can be read on both kinds of pages."""
    given = (int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16))
    light = _readable(given, LIGHT_GROUND, towards=(0, 0, 0))
    dark = _readable(given, DARK_GROUND, towards=WHITE)
    return Accents(_hex(light), _hex(_on(light)), _hex(dark), _hex(_on(dark)))


def contrast(one: Colour, other: Colour) -> float:
    """From 1, the same, to 21, black and white."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _readable(colour: Colour, ground: Colour, *, towards: Colour) -> Colour:
    mixed = (_mixed(colour, towards, step / _STEPS) for step in range(_STEPS + 1))
    return next(one for one in mixed if contrast(one, ground) >= ENOUGH)


def _on(ground: Colour) -> Colour:
    return max((WHITE, BLACK), key=lambda one: contrast(one, ground))


def _mixed(colour: Colour, other: Colour, share: float) -> Colour:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(colour, other, strict=True))
    return red, green, blue


def _luminance(colour: Colour) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (value / 255 for value in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _hex(colour: Colour) -> str:
    return "#" + "".join(f"{value:02x}" for value in colour)
