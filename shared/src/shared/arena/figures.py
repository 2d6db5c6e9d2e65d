"""Figures as SVG, written as text: three plain shapes do not need a library of forty megabytes."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

_COLOURS: Final = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb")
"""Told apart by people who see colours differently, too (Paul Tol's bright scheme)."""
_FONT: Final = "font-family='sans-serif' font-size='12'"
_ROW: Final = 18
_TOP: Final = 40
_LETTER: Final = 7
"""The width of a letter, roughly."""


def lines(title: str, curves: Mapping[str, Sequence[float | None]]) -> str:
    """Rates from 0 to 1 over rounds from 1, a line for each name; missing values interrupt it."""
    width, height, left = 560, 260, 44
    longest = max((len(curve) for curve in curves.values()), default=0)
    parts = [*_frame(left, width, height, longest)]
    for index, (name, curve) in enumerate(curves.items()):
        colour = _COLOURS[index % len(_COLOURS)]
        dash = "" if index < len(_COLOURS) else f" stroke-dasharray='{2 + 2 * (index // len(_COLOURS))}'"
        for points in _pieces(curve, left, width, height):
            parts.append(f"<polyline points='{points}' fill='none' stroke='{colour}' stroke-width='2'{dash}/>")
        y = _TOP + 6 + index * _ROW
        parts.append(
            f"<line x1='{left + width + 12}' x2='{left + width + 32}' y1='{y}' y2='{y}' stroke='{colour}' "
            f"stroke-width='2'{dash}/>"
        )
        parts.append(_text(left + width + 38, y + 4, name))
    whole = max(_TOP + height + 40, _TOP + len(curves) * _ROW + 20)
    return _svg(title, left + width + 60 + _LETTER * _longest(curves), whole, parts)


def _frame(left: int, width: int, height: int, longest: int) -> Iterator[str]:
    for rate in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _TOP + height * (1 - rate)
        yield f"<line x1='{left}' x2='{left + width}' y1='{y:g}' y2='{y:g}' stroke='#dddddd'/>"
        yield _text(left - 6, y + 4, f"{rate:.0%}", anchor="end")
    for number in sorted({1, longest}) if longest else ():
        yield _text(_x(number, longest, left, width), _TOP + height + 18, str(number), anchor="middle")
    yield _text(left + width / 2, _TOP + height + 34, "round", anchor="middle")


def _x(number: int, longest: int, left: int, width: int) -> float:
    return left + width * ((number - 1) / (longest - 1) if longest > 1 else 0.5)


def _pieces(curve: Sequence[float | None], left: int, width: int, height: int) -> Iterator[str]:
    piece: list[str] = []
    for number, rate in enumerate(curve, start=1):
        if rate is None:
            yield from [" ".join(piece)] if piece else []
            piece = []
        else:
            piece.append(f"{_x(number, len(curve), left, width):.1f},{_TOP + height * (1 - rate):.1f}")
    yield from [" ".join(piece)] if piece else []


def bars(title: str, groups: Mapping[str, Sequence[tuple[str, float | None]]]) -> str:
    """A group of bars for each name, each bar with a label and its value."""
    left, width = 20 + _LETTER * _longest(groups), 420
    values = [value for group in groups.values() for _, value in group if value is not None]
    least, most = min([0.0, *values]), max([0.0, *values])
    scale = width / (most - least) if most > least else 0.0
    parts: list[str] = []
    y: float = _TOP
    for name, group in groups.items():
        parts.append(_text(left - 8, y + _ROW * len(group) / 2 + 4, name, anchor="end"))
        for index, (label, value) in enumerate(group):
            if value is not None:
                x = left + (min(value, 0.0) - least) * scale
                parts.append(
                    f"<rect x='{x:.1f}' y='{y + 2}' width='{abs(value) * scale:.1f}' height='{_ROW - 4}' "
                    f"fill='{_COLOURS[index % len(_COLOURS)]}'/>"
                )
            shown = "none" if value is None else f"{value:g}" if value == int(value) else f"{value:.2f}"
            end = left + (max(value or 0.0, 0.0) - least) * scale
            parts.append(_text(end + 6, y + _ROW - 5, f"{label}: {shown}"))
            y += _ROW
        y += _ROW / 2
    labels = [label for group in groups.values() for label, _ in group]
    return _svg(title, left + width + 80 + _LETTER * _longest(labels), y + 10, parts)


def heat_map(title: str, rates: Mapping[tuple[str, str], float]) -> str:
    """A square for each (row, column), darker where the rate is higher, with the rate in it."""
    names = sorted({name for pair in rates for name in pair})
    side, left = 52, 20 + _LETTER * _longest(names)
    parts = []
    for row, player in enumerate(names):
        y = _TOP + row * side
        parts.append(_text(left - 8, y + side / 2 + 4, player, anchor="end"))
        for column, opponent in enumerate(names):
            x, rate = left + column * side, rates.get((player, opponent))
            parts.append(
                f"<rect x='{x}' y='{y}' width='{side}' height='{side}' stroke='#ffffff' fill='{_shade(rate)}'/>"
            )
            ink = "#ffffff" if rate is not None and rate > 0.5 else "#222222"
            parts.append(_text(x + side / 2, y + side / 2 + 4, "" if rate is None else f"{rate:.0%}", "middle", ink))
    bottom = _TOP + len(names) * side
    for column, opponent in enumerate(names):
        middle = left + column * side + side / 2
        parts.append(
            f"<g transform='translate({middle:g},{bottom + 14}) rotate(-45)'>{_text(0, 0, opponent, 'end')}</g>"
        )
    return _svg(title, left + len(names) * side + 20, bottom + 24 + _LETTER * _longest(names), parts)


def _shade(rate: float | None) -> str:
    """From a pale to a dark blue; grey where there is nothing."""
    if rate is None:
        return "#eeeeee"
    pale, dark = (0xE8, 0xF0, 0xF8), (0x11, 0x44, 0x77)
    return "#" + "".join(f"{round(one + (other - one) * rate):02x}" for one, other in zip(pale, dark, strict=True))


def _longest(names: Sequence[str] | Mapping[str, object]) -> int:
    return max(map(len, names), default=0)


def _text(x: float, y: float, text: str, anchor: str = "start", ink: str = "#222222") -> str:
    return f"<text x='{x:g}' y='{y:g}' text-anchor='{anchor}' fill='{ink}'>{escape(_printable(text))}</text>"


def _printable(text: str) -> str:
    """XML knows no control characters, escaped or not."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _svg(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    width = max(width, 40 + _LETTER * len(title))
    head = f"<svg xmlns='http://www.w3.org/2000/svg' width='{width:g}' height='{height:g}' {_FONT}>"
    name = f"<title>{escape(_printable(title))}</title><rect width='100%' height='100%' fill='#ffffff'/>"
    return "\n".join([head, name, f"<g font-weight='bold'>{_text(12, 22, title)}</g>", *parts, "</svg>", ""])
