"""Figures and lines for the terminal: everything that is in the data is in them, and whatever names are like."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from shared.arena.figures import bars, heat_map, lines
from shared.arena.standings import Standing
from shared.arena.terminal import heat_map_lines, leaderboard_lines

NAMES = st.text(max_size=30)
RATES = st.none() | st.floats(min_value=0, max_value=1)


def parsed(figure: str) -> ElementTree.Element:
    return ElementTree.fromstring(figure)


def texts(figure: str) -> list[str]:
    return [element.text or "" for element in parsed(figure).iter() if element.tag.endswith("text")]


def of(figure: str, tag: str) -> list[ElementTree.Element]:
    return [element for element in parsed(figure).iter() if element.tag.endswith(f"}}{tag}")]


def test_a_curve_runs_from_the_first_round_to_the_last() -> None:
    figure = lines("Cooperation", {"tft vs alld": [1.0, 0.5, 0.0]})
    points = of(figure, "polyline")[0].attrib["points"].split()
    assert [float(point.split(",")[1]) for point in points] == [40.0, 170.0, 300.0]
    assert [float(point.split(",")[0]) for point in points] == [44.0, 324.0, 604.0]
    assert "tft vs alld" in texts(figure)


def test_a_missing_value_interrupts_the_curve() -> None:
    assert len(of(lines("Cooperation", {"a": [1.0, None, 0.5, 0.5]}), "polyline")) == 2


def test_bars_are_as_long_as_their_values_and_negative_ones_go_the_other_way() -> None:
    figure = bars("Points", {"pair": [("a", 10.0), ("b", -5.0), ("c", None)]})
    drawn = [(float(one.attrib["x"]), float(one.attrib["width"])) for one in of(figure, "rect")[1:]]
    assert drawn[0][1] == 2 * drawn[1][1]
    assert drawn[1][0] + drawn[1][1] == drawn[0][0]
    assert {"a: 10", "b: -5", "c: none"} <= set(texts(figure))


def test_a_heat_map_has_a_square_for_every_two_and_is_darker_where_the_rate_is_higher() -> None:
    figure = heat_map("Cooperation", {("a", "b"): 1.0, ("b", "a"): 0.0, ("a", "a"): 0.5})
    squares = [one.attrib["fill"] for one in of(figure, "rect")[1:]]
    assert len(squares) == 4
    assert squares[1] < squares[0] < squares[2]
    assert squares[3] == "#eeeeee"
    assert {"100%", "0%", "50%"} <= set(texts(figure))


@given(
    curves=st.dictionaries(NAMES, st.lists(RATES, max_size=5), max_size=4),
    groups=st.dictionaries(NAMES, st.lists(st.tuples(NAMES, st.none() | st.floats(-1e6, 1e6)), max_size=3), max_size=4),
    rates=st.dictionaries(st.tuples(NAMES, NAMES), st.floats(0, 1), max_size=5),
    title=NAMES,
)
def test_whatever_is_in_them_figures_are_valid(
    curves: dict[str, list[float | None]],
    groups: dict[str, list[tuple[str, float | None]]],
    rates: dict[tuple[str, str], float],
    title: str,
) -> None:
    for figure in (lines(title, curves), bars(title, groups), heat_map(title, rates)):
        assert parsed(figure).tag == "{http://www.w3.org/2000/svg}svg"


def test_a_leaderboard_names_its_convention() -> None:
    found = list(leaderboard_lines([Standing(1, "alld", 508.0, 4), Standing(2, "tft", 499.0, 4)], "without self-play"))
    assert found[0].startswith("Leaderboard, without self-play: sum over the opponents")
    assert found[1].split() == ["1.", "alld", "508.00"]


def test_a_leaderboard_of_players_who_met_different_numbers_of_others_says_so() -> None:
    found = list(leaderboard_lines([Standing(1, "tft", 90.0, 3), Standing(2, "person", 60.0, 1)], "without self-play"))

    assert [line.split()[-3:] for line in found[1:3]] == [["of", "3", "pairings"], ["of", "1", "pairing"]]
    assert "compare these scores with care" in found[-1]


def test_the_heat_map_in_the_terminal_has_all_rates_in_columns_of_one_width() -> None:
    found = list(heat_map_lines({("a", "b"): 1.0, ("b", "a"): 0.255, ("bb", "a"): 0.0}))
    assert len({len(line) for line in found[1:4]}) == 1
    assert "100%" in found[1]
    assert " 26%" in found[2]
