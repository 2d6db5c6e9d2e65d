"""Figures as SVG, written as text: three simple shapes do not justify a library of forty megabytes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Final
from unicodedata import east_asian_width

from parley_lab.kinds.stages.matrix_game.arena.intervals import Estimate

COLOURS: Final = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#777777")
"""Distinguishable with colour blindness, too (Paul Tol's bright scheme)."""
_FONT: Final = "font-family='sans-serif' font-size='12'"
_LETTER: Final = 7.2
"""The approximate width of a letter; wider than most, so that labels do not overlap."""
_LONGEST: Final = 28
_ROW: Final = 18
_TOP: Final = 74
_MARGIN: Final = 16


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a figure: its subject, and the number of cases."""

    title: str
    note: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One small diagram: a value from 0 to 1 for each round from 1, with the number of cases at each."""

    name: str
    points: Sequence[Estimate]


@dataclass(frozen=True, slots=True)
class Scored:
    """One line of the figure of scores: a player with a score for each series, and the total in words."""

    name: str
    scores: Sequence[Estimate]
    total: str


def panels(heading: Heading, found: Sequence[Panel], *, y_title: str, across: Sequence[str] = ()) -> str:
    """Small multiples on common axes, side by side: the mean as a line, its interval as a band.

    A curve ends with its longest game. It is thin where fewer than half of its cases have come so far. across: the
    titles of the columns; `found` then has a panel for each of them, row by row.
    """
    columns = len(across) or min(4, max(1, len(found)))
    width, height, left, gap = 190, 110, 64, 30
    longest = max((len(panel.points) for panel in found), default=0)
    top = _TOP + 18 + (22 if across else 0)
    parts = [_text(left + at * (width + gap), _TOP + 6, _short(name), weight="bold") for at, name in enumerate(across)]
    for index, panel in enumerate(found):
        x, y = left + index % columns * (width + gap), top + index // columns * (height + 62)
        parts += _axes(x, y, width, height, longest, with_rates=index % columns == 0)
        parts += _curve(panel.points, longest, x, y, width, height)
        counts = [one.count for one in panel.points]
        shown = f"{_short(panel.name, 19)}, n = {max(counts, default=0)}"
        parts.append(_text(x, y - 6, shown, weight="bold"))
    rows = -(-len(found) // columns)
    bottom = top + rows * (height + 62) - 22
    middle = left + (columns * (width + gap) - gap) / 2
    parts.append(_text(middle, bottom, "round", anchor="middle"))
    turned = _text(0, 0, y_title, anchor="middle")
    parts.append(f"<g transform='translate(16,{(_TOP + bottom - 20) / 2:g}) rotate(-90)'>{turned}</g>")
    return _svg(heading, left + columns * (width + gap), bottom + 14, parts)


def _axes(x: float, y: float, width: float, height: float, longest: int, *, with_rates: bool) -> Iterator[str]:
    for rate in (0.0, 0.5, 1.0):
        at = y + height * (1 - rate)
        yield f"<line x1='{x:g}' x2='{x + width:g}' y1='{at:g}' y2='{at:g}' stroke='#dddddd'/>"
        if with_rates:
            yield _text(x - 6, at + 4, f"{rate:.0%}", anchor="end")
    for number in sorted({1, longest}) if longest else ():
        yield _text(_across(number, longest, x, width), y + height + 15, str(number), anchor="middle")


def _across(number: int, longest: int, x: float, width: float) -> float:
    return x + width * ((number - 1) / (longest - 1) if longest > 1 else 0.5)


def _curve(points: Sequence[Estimate], longest: int, x: float, y: float, width: float, height: float) -> Iterator[str]:
    most = max((one.count for one in points), default=0)
    for piece in _pieces(points):
        upper = [_at(number, one.high, longest, x, y, width, height) for number, one in piece if one.high is not None]
        lower = [_at(number, one.low, longest, x, y, width, height) for number, one in piece if one.low is not None]
        if upper:
            yield f"<polygon points='{' '.join([*upper, *reversed(lower)])}' fill='{COLOURS[0]}' fill-opacity='0.2'/>"
        middle = [(_at(number, one.mean, longest, x, y, width, height), one.count * 2 >= most) for number, one in piece]
        full = [point for point, is_full in middle if is_full]
        rest = [point for point, is_full in middle if not is_full]
        yield _line(full, 2)
        yield _line([*full[-1:], *rest] if rest else [], 0.7)


def _line(points: Sequence[str], stroke: float) -> str:
    """A line, or a dot for a single point."""
    if len(points) == 1:
        x, _, y = points[0].partition(",")
        return f"<circle cx='{x}' cy='{y}' r='2' fill='{COLOURS[0]}'/>"
    if not points:
        return ""
    return f"<polyline points='{' '.join(points)}' fill='none' stroke='{COLOURS[0]}' stroke-width='{stroke:g}'/>"


def _pieces(points: Sequence[Estimate]) -> Iterator[list[tuple[int, Estimate]]]:
    """The stretches without a missing value."""
    piece: list[tuple[int, Estimate]] = []
    for number, one in enumerate(points, start=1):
        if one.mean is None:
            yield from [piece] if piece else []
            piece = []
        else:
            piece.append((number, one))
    yield from [piece] if piece else []


def _at(number: int, value: float | None, longest: int, x: float, y: float, width: float, height: float) -> str:
    return f"{_across(number, longest, x, width):.1f},{y + height * (1 - (value or 0.0)):.1f}"


def dots(heading: Heading, rows: Sequence[Scored], series: Sequence[str], *, x_title: str, totals: str) -> str:
    """A line for each player: a dot with an error bar for each series, and the total in words at the end."""
    left, width = 24 + _LETTER * min(_longest([row.name for row in rows]), _LONGEST), 400
    least, most = _span([one for row in rows for one in row.scores])
    lane = 14 if len(series) > 1 else _ROW
    parts: list[str] = []
    y: float = _TOP + 16
    top = y
    for row in rows:
        height = lane * len(row.scores) + 6
        parts.append(_text(left - 10, y + height / 2 + 1, _short(row.name), anchor="end"))
        for index, one in enumerate(row.scores):
            if one.mean is not None:
                parts += _bar(one, y + lane * (index + 0.5), left, width, least, most, COLOURS[index % len(COLOURS)])
        parts.append(_text(left + width + 16, y + height / 2 + 1, row.total))
        y += height
    for tick in _ticks(least, most):
        at = left + width * (tick - least) / (most - least)
        parts.insert(0, f"<line x1='{at:.1f}' x2='{at:.1f}' y1='{top:g}' y2='{y:g}' stroke='#dddddd'/>")
        parts.append(_text(at, y + 16, f"{tick:g}", anchor="middle"))
    parts.append(_text(left + width / 2, y + 34, x_title, anchor="middle"))
    parts.append(_text(left + width + 16, top - 6, totals, weight="bold"))
    y += 50
    for index, name in enumerate(series if len(series) > 1 else ()):
        parts.append(f"<circle cx='{left}' cy='{y - 4:g}' r='4' fill='{COLOURS[index % len(COLOURS)]}'/>")
        parts.append(_text(left + 10, y, name))
        y += _ROW
    words = _longest([totals, *(row.total for row in rows)])
    return _svg(heading, left + width + 32 + _LETTER * words, y + 4, parts)


def _bar(one: Estimate, y: float, left: float, width: float, least: float, most: float, colour: str) -> Iterator[str]:
    def at(value: float) -> float:
        return left + width * (value - least) / (most - least)

    if one.low is not None and one.high is not None:
        low, high = at(max(one.low, least)), at(min(one.high, most))
        yield f"<line x1='{low:.1f}' x2='{high:.1f}' y1='{y:g}' y2='{y:g}' stroke='{colour}' stroke-width='2'/>"
        for end in (low, high):
            yield f"<line x1='{end:.1f}' x2='{end:.1f}' y1='{y - 4:g}' y2='{y + 4:g}' stroke='{colour}'/>"
    yield f"<circle cx='{at(one.mean or 0.0):.1f}' cy='{y:g}' r='4' fill='{colour}'/>"


def _span(found: Sequence[Estimate]) -> tuple[float, float]:
    """From 0, or less, to the largest value shown."""
    values = [value for one in found for value in (one.mean, one.low, one.high) if value is not None]
    least, most = min([0.0, *values]), max([0.0, *values])
    return (least, most) if most > least else (least, least + 1.0)


def _ticks(least: float, most: float) -> list[float]:
    """Four to ten round numbers between the two."""
    step = 1.0
    while (most - least) / step > 10:
        step *= 10
    while (most - least) / step < 1:
        step /= 10
    for part in (5, 2, 1):
        if (most - least) / (step / part) <= 10:
            step /= part
            break
    first = int(least / step) if least >= 0 else -int(-least / step)
    return [number * step for number in range(first, int(most / step) + 1)]


def heat_map(heading: Heading, names: Mapping[str, str], rates: Mapping[tuple[str, str], float]) -> str:
    """A square for each (row, column), darker for higher rates, with the rate in it.

    names: the names of the players, in order.
    """
    side, left = 52, 46 + _LETTER * min(_longest(list(names.values())), _LONGEST)
    parts = [_text(left - 10, _TOP + 8, "player", anchor="end", weight="bold")]
    top = _TOP + 16
    for row, (player, name) in enumerate(names.items()):
        y = top + row * side
        parts.append(_text(left - 10, y + side / 2 + 4, _short(name), anchor="end"))
        for column, opponent in enumerate(names):
            x, rate = left + column * side, rates.get((player, opponent))
            parts.append(
                f"<rect x='{x:g}' y='{y}' width='{side}' height='{side}' stroke='#ffffff' fill='{_shade(rate)}'/>"
            )
            ink = "#ffffff" if rate is not None and rate > 0.5 else "#222222"
            parts.append(_text(x + side / 2, y + side / 2 + 4, "" if rate is None else f"{rate:.0%}", "middle", ink))
    bottom = top + len(names) * side
    for column, name in enumerate(names.values()):
        middle = left + column * side + side / 2
        turned = _text(0, 0, _short(name), "end")
        parts.append(f"<g transform='translate({middle:g},{bottom + 14}) rotate(-45)'>{turned}</g>")
    deep = 30 + 0.75 * _LETTER * min(_longest(list(names.values())), _LONGEST)
    parts.append(_text(left + len(names) * side / 2, bottom + deep + 12, "opponent", anchor="middle", weight="bold"))
    return _svg(heading, left + len(names) * side + 20, bottom + deep + 26, parts)


def _shade(rate: float | None) -> str:
    """From a pale to a dark blue; grey for a missing value."""
    if rate is None:
        return "#eeeeee"
    pale, dark = (0xE8, 0xF0, 0xF8), (0x11, 0x44, 0x77)
    return "#" + "".join(f"{round(one + (other - one) * rate):02x}" for one, other in zip(pale, dark, strict=True))


def _longest(names: Sequence[str]) -> int:
    return max(map(_letters, names), default=0)


def _letters(text: str) -> int:
    """The width in letters: letters of some scripts, and emoji, count twice."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _short(name: str, most: int = _LONGEST) -> str:
    """A name cut in the middle: similar names differ at their ends."""
    if _letters(name) <= most:
        return name
    kept = most - 9 if _letters(name) == len(name) else (most - 9) // 2
    return f"{name[:kept]}…{name[-8 if kept == most - 9 else -4 :]}"


def _text(x: float, y: float, text: str, anchor: str = "start", ink: str = "#222222", weight: str = "normal") -> str:
    heavy = "" if weight == "normal" else f" font-weight='{weight}'"
    return f"<text x='{x:g}' y='{y:g}' text-anchor='{anchor}' fill='{ink}'{heavy}>{escape(_printable(text))}</text>"


def _printable(text: str) -> str:
    """The text without control characters, which XML does not allow, escaped or not."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _svg(heading: Heading, width: float, height: float, parts: Sequence[str]) -> str:
    lines = wrap(_printable(heading.note), max(90, len(heading.note) // 2 + 15))
    width = max(width, 2 * _MARGIN + _LETTER * max(1.1 * _letters(heading.title), _longest(lines)))
    head = f"<svg xmlns='http://www.w3.org/2000/svg' width='{width:g}' height='{height:g}' {_FONT}>"
    name = f"<title>{escape(_printable(heading.title))}</title><rect width='100%' height='100%' fill='#ffffff'/>"
    above = [_text(_MARGIN, 22, heading.title, weight="bold")]
    above += [_text(_MARGIN, 40 + 16 * index, line) for index, line in enumerate(lines)]
    return "\n".join([head, name, *above, *parts, "</svg>", ""])
