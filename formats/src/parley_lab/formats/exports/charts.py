"""Charts of an experiment: Vega-Lite specifications over rows of its data files, which pages and notebooks draw."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

from parley_lab.base import csv_reading
from parley_lab.base.errors import NotFound
from parley_lab.formats.exports.files import row_counts

Cell = str | float | None
Spec = Mapping[str, Any]

MOST_ROWS: Final = 10_000
"""Of one chart; a caution says that there are more. Charts need no more rows of `LONG_TABLES`."""
_MOST_ARMS: Final = 7
"""With more arms nothing is split by arm: readers cannot tell so many colours apart."""
_MOST_QUESTIONS: Final = 24
_MOST_VALUES: Final = 11
"""A question with so many different numbers has a bar for each; more are put into bins."""
_NUMBERS: Final = ("integer", "number")
_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
_COOPERATION: Final = {"domain": [0, 1]}
_ALL_ARMS: Final = ""
"""In place of an arm, in tables of an arena: all arms together."""
_VERBS: Final = {"cooperation": "cooperates", "first_action": "takes the first action"}
"""The act of a player whose share a table of an arena has."""
_DASHES: Final = ((1, 0), (6, 3), (2, 2), (8, 2, 2, 2), (12, 3), (1, 4), (8, 2, 2, 2, 2, 2))
"""The lines of the arms have these, in their order."""


@dataclass(frozen=True, slots=True)
class Chart:
    """`rows` are those of the file, with these columns alone; what is drawn as a number is one. `spec` names them.

    `note` says what is drawn, and of whom."""

    id: str
    title: str
    note: str
    table: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    spec: Spec
    is_made_up: bool
    cautions: Sequence[str] = field(default=())


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a chart takes of a table: `only` has the cells of its rows by column, `numbers` the columns of numbers."""

    id: str
    title: str
    note: str
    table: str
    columns: Sequence[str]
    spec: Spec
    numbers: Sequence[str] = ()
    only: Mapping[str, Collection[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChartHead:
    """A chart of which only is known what it is of; `rows` is how many it draws."""

    id: str
    title: str
    table: str
    rows: int
    is_made_up: bool


def chart_heads(folder: Path) -> list[ChartHead]:
    """All charts of the data files in this folder; a chart without rows is left out. Long tables are not read."""
    heads = [_head(folder, one, None) for one in _at_once(folder)]
    heads += [_head(folder, one, count) for one, count in _of_answers(folder, _arms(folder))]
    return [one for one in heads if one.rows]


def _head(folder: Path, wanted: _Wanted, count: int | None) -> ChartHead:
    """count: the rows of the chart, where they are known."""
    if count is None:
        count = sum(1 for _ in _choose(folder, wanted)) if wanted.only else _length(folder, wanted.table)
    first = next(_rows(folder, wanted.table, ("made_up",)), ("no",))
    return ChartHead(wanted.id, wanted.title, wanted.table, min(count, MOST_ROWS), first != ("no",))


def chart(folder: Path, chart_id: str) -> Chart:
    """One of them.

    Raises:
        NotFound: there is no such chart.
    """
    known = [one for one in _at_once(folder) if one.id == chart_id]
    known = known or [one for one, _ in _of_answers(folder, _arms(folder)) if one.id == chart_id]
    found = _chart(folder, known[0]) if known else None
    if found is None or not found.rows:
        raise NotFound("There is no such chart.")
    return found


def _at_once(folder: Path) -> Iterator[_Wanted]:
    """Those that are known without reading all answers."""
    yield from _of_games(folder)
    yield from (_flow(_arms(folder)), _time(), _talk(), _calls())


def _arms(folder: Path) -> Sequence[str]:
    return sorted({arm for (arm,) in _rows(folder, "participants", ("treatment",))} - {""})


def _chart(folder: Path, wanted: _Wanted) -> Chart:
    found = [*islice(_choose(folder, wanted), MOST_ROWS)]
    count = len(found)
    if count == MOST_ROWS:
        count = sum(1 for _ in _choose(folder, wanted)) if wanted.only else _length(folder, wanted.table)
    are_numbers = [name in wanted.numbers for name in wanted.columns]
    rows = [[*map(_cell, cells, are_numbers)] for _, *cells in found]
    cautions = [f"The first {MOST_ROWS} of {count} rows are drawn."] if count > MOST_ROWS else []
    spec = {"$schema": _SCHEMA, "data": {"name": "rows"}, **wanted.spec}
    # All rows of a table are of one run.
    is_made_up = bool(found) and found[0][0] != "no"
    return Chart(wanted.id, wanted.title, wanted.note, wanted.table, wanted.columns, rows, spec, is_made_up, cautions)


def _choose(folder: Path, wanted: _Wanted) -> Iterator[tuple[str, ...]]:
    """The rows of a chart: whether they are made up, then the cells that it draws."""
    names, values = tuple(wanted.only), tuple(wanted.only.values())
    for row in _rows(folder, wanted.table, (*names, "made_up", *wanted.columns)):
        if all(cell in chosen for cell, chosen in zip(row, values, strict=False)):
            yield row[len(names) :]


def _cell(text: str, is_number: bool) -> Cell:
    if not is_number:
        return text
    return float(text) if text else None


def _rows(folder: Path, table: str, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The cells of these columns; a column that the table lacks is empty."""
    path = folder / f"{table}.csv"
    if not path.is_file():
        return
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv_reading.reader(file)
        known = {name: place for place, name in enumerate(next(lines, []))}
        places = [known.get(name) for name in columns]
        for line in lines:
            yield tuple(["" if place is None else line[place] for place in places])


def _length(folder: Path, table: str) -> int:
    """How many rows a table has."""
    known = row_counts(folder).get(f"{table}.csv")
    return sum(1 for _ in _rows(folder, table, ())) if known is None else known


def _by_arm(arms: Sequence[str], column: str = "treatment") -> Mapping[str, Any]:
    """Bars of the arms side by side, where they can be told apart; `column` has the arm."""
    if not 1 < len(arms) <= _MOST_ARMS:
        return {}
    arm = {"field": column, "type": "nominal", "title": "arm"}
    return {"color": arm, "yOffset": arm}


def _count(title: str) -> Spec:
    return {"aggregate": "count", "title": title, "axis": {"tickMinStep": 1, "format": ",d"}}


def _flow(arms: Sequence[str]) -> _Wanted:
    return _Wanted(
        "flow",
        "How participants ended",
        "The number of participants, people and agents, by their status.",
        "participants",
        ("status", "treatment", "player"),
        {
            "mark": "bar",
            "encoding": {
                "y": {"field": "status", "type": "nominal", "title": None},
                "x": _count("participants"),
                **_by_arm(arms),
            },
        },
    )


def _time() -> _Wanted:
    return _Wanted(
        "time",
        "How long participants took",
        "The minutes from joining to the end, of participants who completed the experiment.",
        "participants",
        ("status", "player", "joined_at", "ended_at"),
        {
            "transform": [
                {"filter": "datum.joined_at !== '' && datum.ended_at !== ''"},
                {"calculate": "(toDate(datum.ended_at) - toDate(datum.joined_at)) / 60000", "as": "minutes"},
            ],
            "mark": "bar",
            "encoding": {
                "x": {"field": "minutes", "type": "quantitative", "bin": {"maxbins": 30}, "title": "minutes"},
                "y": _count("participants"),
                "color": {"field": "player", "type": "nominal", "title": "player"},
            },
        },
        only={"status": ("completed",)},
    )


_OF_ANSWERS: Final = ("stage", "field", "label", "type", "value", "text", "key", "status", "row")


@dataclass(slots=True)
class _Answers:
    """The answers to a question of a page that are numbers, or those that are options."""

    stage: str
    name: str
    label: str
    are_numbers: bool
    count: int = 0
    types: set[str] = field(default_factory=set)
    values: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)


def _of_answers(folder: Path, arms: Sequence[str]) -> Iterator[tuple[_Wanted, int]]:
    """A chart for each question of a page whose answers are numbers or options, and how many of them there are.

    A question may be a number in one arm and have options in another: then it has two.
    """
    found: dict[tuple[str, str, bool], _Answers] = {}
    for stage, name, label, kind, value, text, key, status, row in _rows(folder, "answers", _OF_ANSWERS):
        is_number = kind in _NUMBERS
        is_option = text != "" and "." not in name.removeprefix(f"{row}.")
        if key or status != "valid" or not (is_number or is_option):
            continue
        answers = found.setdefault((stage, name, is_number), _Answers(stage, name, label, is_number))
        answers.count += 1
        answers.types.add(kind)
        answers.values.add(value)
        answers.texts.add(text)
    for (stage, name, is_number), answers in list(found.items())[:_MOST_QUESTIONS]:
        yield _bars(answers, arms, is_one_of_two=(stage, name, not is_number) in found), answers.count


def _bars(answers: _Answers, arms: Sequence[str], *, is_one_of_two: bool) -> _Wanted:
    sort = "numbers" if answers.are_numbers else "options"
    which = {"stage": answers.stage, "field": answers.name, "key": "", "status": "valid"}
    shown = {} if answers.are_numbers else {"text": answers.texts}
    return _Wanted(
        f"{sort if is_one_of_two else 'answers'}-{answers.stage}.{answers.name}",
        f"{answers.label or answers.name}{f' ({sort})' if is_one_of_two else ''}",
        "The number of participants who gave each answer; only valid answers count.",
        "answers",
        ("path", "treatment", "value", "text"),
        {
            "mark": "bar",
            "encoding": {
                "y": _value(answers.are_numbers, len(answers.values)),
                "x": _count("answers"),
                **_by_arm(arms),
            },
        },
        numbers=("value",) if answers.are_numbers else (),
        only={**{name: {cell} for name, cell in which.items()}, "type": answers.types, **shown},
    )


def _value(is_number: bool, count: int) -> Spec:
    """The axis of the answers to a question with so many different ones."""
    if not is_number:
        return {"field": "text", "type": "nominal", "title": None}
    if count <= _MOST_VALUES:
        return {"field": "value", "type": "ordinal", "sort": "descending", "title": None}
    return {"field": "value", "type": "ordinal", "bin": {"maxbins": 20}, "sort": "descending", "title": None}


def _talk() -> _Wanted:
    return _Wanted(
        "talk",
        "Messages over time",
        "Messages of all conversations, by the minutes since their conversation began.",
        "messages",
        ("thread_path", "author_kind", "elapsed_ms"),
        {
            "transform": [{"calculate": "datum.elapsed_ms / 60000", "as": "minutes"}],
            "mark": "bar",
            "encoding": {
                "x": {"field": "minutes", "type": "quantitative", "bin": {"maxbins": 30}, "title": "minutes"},
                "y": _count("messages"),
                "color": {"field": "author_kind", "type": "nominal", "title": "author"},
            },
        },
        numbers=("elapsed_ms",),
    )


def _calls() -> _Wanted:
    return _Wanted(
        "calls",
        "How long calls of models took",
        "The seconds of each call of a model, by how the call ended.",
        "model_calls",
        ("status", "model", "started_at", "finished_at"),
        {
            "transform": [
                {"filter": "datum.finished_at !== ''"},
                {"calculate": "(toDate(datum.finished_at) - toDate(datum.started_at)) / 1000", "as": "seconds"},
            ],
            "mark": "bar",
            "encoding": {
                "x": {"field": "seconds", "type": "quantitative", "bin": {"maxbins": 30}, "title": "seconds"},
                "y": _count("calls"),
                "color": {"field": "status", "type": "nominal", "title": "status"},
            },
        },
    )


def _of_games(folder: Path) -> Iterator[_Wanted]:
    """Those of an arena, for each convention of its leaderboard one."""
    conventions = dict.fromkeys(convention for (convention,) in _rows(folder, "leaderboard", ("convention",)))
    for convention in conventions:
        yield _leaderboard(convention)
    is_dilemma = not (folder / "first_action.csv").is_file()
    word = "cooperation" if is_dilemma else "first_action"
    yield _heat_map(word, _VERBS[word])
    yield _curves(word, _apart(folder, f"{word}_over_time"))
    yield _over_alpha(word)
    yield _payoffs(_apart(folder, "payoffs"))


def _apart(folder: Path, table: str) -> Sequence[str]:
    """The arms that the rows of this table are drawn for; only that of all arms together, where it is one or too many.

    A table has the rows of all arms together beside those of each: they are never drawn at once.
    """
    arms = [arm for arm in dict.fromkeys(arm for (arm,) in _rows(folder, table, ("arm",))) if arm]
    return arms if 1 < len(arms) <= _MOST_ARMS else [_ALL_ARMS]


def _leaderboard(convention: str) -> _Wanted:
    return _Wanted(
        f"leaderboard-{convention}",
        f"Leaderboard, {convention.replace('_', ' ')}",
        "The score of each player over all games that count under this convention.",
        "leaderboard",
        ("convention", "rank", "player", "name", "score", "unit"),
        {
            "mark": "bar",
            "encoding": {
                "y": {"field": "name", "type": "nominal", "sort": {"field": "rank"}, "title": None},
                "x": {"field": "score", "type": "quantitative", "title": "score"},
            },
        },
        numbers=("rank", "score"),
        only={"convention": (convention,)},
    )


def _beginning(word: str) -> str:
    return word.capitalize().replace("_", " ")


def _heat_map(table: str, title: str) -> _Wanted:
    place = {
        "y": {"field": "name", "type": "nominal", "title": title},
        "x": {"field": "opponent_name", "type": "nominal", "title": "with", "axis": {"labelAngle": -45}},
    }
    share = {"field": "mean", "type": "quantitative", "scale": _COOPERATION, "title": "share"}
    text = {"field": "mean", "type": "quantitative", "format": ".0%"}
    return _Wanted(
        "cooperation",
        f"How often the row {title} with the column",
        f"The share of rounds in which the player of the row {title}, with the player of the column.",
        table,
        ("player", "name", "opponent", "opponent_name", "games", "mean"),
        {
            "encoding": place,
            "layer": [
                {"mark": "rect", "encoding": {"color": share}},
                {"mark": {"type": "text", "fontSize": 10}, "encoding": {"text": text}},
            ],
        },
        numbers=("games", "mean"),
    )


def _curves(word: str, arms: Sequence[str]) -> _Wanted:
    """A line of each player, in other dashes for each arm."""
    round_number = {"field": "round", "type": "quantitative", "axis": {"tickMinStep": 1}, "title": "round"}
    player = {"field": "name", "type": "nominal", "title": "player"}
    share = {"type": "quantitative", "scale": _COOPERATION, "title": word.replace("_", " ")}
    dashes = {"domain": [*arms], "range": _DASHES[: len(arms)]}
    arm = {"field": "arm", "type": "nominal", "title": "arm"}
    is_split = len(arms) > 1
    area: Spec = {"detail": arm} if is_split else {}
    line: Spec = {"strokeDash": {**arm, "scale": dashes}} if is_split else {}
    return _Wanted(
        "cooperation-over-time",
        f"{_beginning(word)} over rounds",
        f"The share of games in which each player {_VERBS[word]} in a round, with its 95 % interval.",
        f"{word}_over_time",
        ("name", "arm", "round", "mean", "low", "high"),
        {
            "encoding": {"x": round_number, "color": player},
            "layer": [
                {
                    "mark": {"type": "area", "opacity": 0.12},
                    "encoding": {"y": {"field": "low", **share}, "y2": {"field": "high"}, **area},
                },
                {"mark": "line", "encoding": {"y": {"field": "mean", **share}, **line}},
            ],
        },
        numbers=("round", "mean", "low", "high"),
        only={"arm": arms},
    )


def _over_alpha(word: str) -> _Wanted:
    alpha = {"field": "alpha", "type": "quantitative", "scale": _COOPERATION, "title": "alpha of the opponent"}
    player = {"field": "name", "type": "nominal", "title": "player"}
    share = {"type": "quantitative", "scale": _COOPERATION, "title": word.replace("_", " ")}
    return _Wanted(
        "cooperation-over-alpha",
        f"{_beginning(word)} over alpha of the opponent",
        f"How often each player {_VERBS[word]}, by how often a random opponent does, with 95 % intervals.",
        f"{word}_over_alpha",
        ("name", "alpha", "mean", "low", "high"),
        {
            "encoding": {"x": alpha, "color": player},
            "layer": [
                {"mark": "rule", "encoding": {"y": {"field": "low", **share}, "y2": {"field": "high"}}},
                {"mark": {"type": "line", "point": True}, "encoding": {"y": {"field": "mean", **share}}},
            ],
        },
        numbers=("alpha", "mean", "low", "high"),
    )


def _payoffs(arms: Sequence[str]) -> _Wanted:
    player = {"field": "name", "type": "nominal", "sort": {"field": "mean", "order": "descending"}, "title": None}
    return _Wanted(
        "payoffs",
        "Points a round",
        "The mean points a round of each player over all games, with their 95 % intervals.",
        "payoffs",
        ("name", "arm", "mean", "low", "high", "games"),
        {
            "encoding": {"y": player, **_by_arm(arms, "arm")},
            "layer": [
                {
                    "mark": "rule",
                    "encoding": {
                        "x": {"field": "low", "type": "quantitative", "title": "points a round"},
                        "x2": {"field": "high"},
                    },
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 60},
                    "encoding": {"x": {"field": "mean", "type": "quantitative"}},
                },
            ],
        },
        numbers=("mean", "low", "high", "games"),
        only={"arm": arms},
    )
