"""Figures and terminal lines contain all data, whatever the names of players."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from parley_lab.kinds.stages.matrix_game.arena.figures import Heading, Panel, Scored, dots, heat_map, panels
from parley_lab.kinds.stages.matrix_game.arena.intervals import Estimate
from parley_lab.kinds.stages.matrix_game.arena.standings import Rank
from parley_lab.kinds.stages.matrix_game.reporting import heat_map_lines, leaderboard_lines

NAMES = st.text(max_size=30)
HEADING = Heading("Title", "note")


def parsed(figure: str) -> ElementTree.Element:
    return ElementTree.fromstring(figure)


def texts(figure: str) -> list[str]:
    return [element.text or "" for element in parsed(figure).iter() if element.tag.endswith("text")]


def of(figure: str, tag: str) -> list[ElementTree.Element]:
    return [element for element in parsed(figure).iter() if element.tag.endswith(f"}}{tag}")]


def sure(*means: float | None, count: int = 2) -> list[Estimate]:
    return [Estimate(0 if mean is None else count, 0, mean, 0.0, mean, mean) for mean in means]


def test_a_curve_ends_at_its_own_last_round_on_an_axis_that_all_panels_share() -> None:
    figure = panels(HEADING, [Panel("long", sure(1.0, 0.5, 0.0)), Panel("short", sure(0.0, 0.5))], y_title="rate")
    long, short = (one.attrib["points"].split() for one in of(figure, "polyline"))
    assert [float(point.split(",")[0]) - 64 for point in long] == [0.0, 95.0, 190.0]
    assert [float(point.split(",")[0]) - 64 - 220 for point in short] == [0.0, 95.0]
    assert {"long, n = 2", "short, n = 2", "round", "rate", "1", "3", "100%"} <= set(texts(figure))


def test_arms_are_columns_of_panels_and_a_player_is_a_row() -> None:
    found = [Panel("Ana", sure(1.0, 0.5)), Panel("Ana", ()), Panel("Ben", sure(0.0)), Panel("Ben", sure(0.0, 0.5))]
    figure = panels(HEADING, found, y_title="rate", across=["loss", "gain"])
    named = {one.text: (one.attrib["x"], one.attrib["y"]) for one in of(figure, "text")}
    assert named["loss"][1] == named["gain"][1]
    assert named["Ana, n = 2"][0] == named["loss"][0]
    assert named["Ana, n = 0"][0] == named["Ben, n = 2"][0] == named["gain"][0]
    assert float(named["Ana, n = 2"][1]) > float(named["loss"][1])
    assert float(named["Ben, n = 2"][1]) > float(named["Ana, n = 2"][1])


def test_labels_of_wide_letters_and_long_notes_have_room() -> None:
    note = " ".join(["words"] * 40)
    figure = heat_map(Heading("Title", note), {"a": "夜行バス" * 9, "b": "x" * 60}, {("a", "b"): 1.0})
    left = float(of(figure, "rect")[1].attrib["x"])
    assert {"夜行バス夜行バス夜…夜行バス", f"{'x' * 19}…{'x' * 8}"} <= set(texts(figure))
    assert left > 28 * 7
    assert sum(line.startswith("words") for line in texts(figure)) == 2
    assert float(parsed(figure).attrib["width"]) > 7 * max(map(len, texts(figure)))


def test_a_missing_value_interrupts_the_curve() -> None:
    figure = panels(HEADING, [Panel("a", sure(1.0, 0.0, None, 0.5, 0.5))], y_title="rate")
    assert len(of(figure, "polyline")) == 2


def test_scores_have_error_bars_and_totals_and_every_series_its_colour() -> None:
    score = [Estimate(3, 0, 2.0, 0.5, 1.0, 3.0), Estimate(1, 0, 4.0)]
    figure = dots(HEADING, [Scored("Ana", score, "n = 3, 1; 40.0")], ["loss", "gain"], x_title="points", totals="total")
    means = [one for one in of(figure, "circle") if float(one.attrib["cy"]) < 122]
    assert [one.attrib["fill"] for one in means] == ["#4477aa", "#ee6677"]
    assert len([one for one in of(figure, "line") if one.attrib.get("stroke") == "#4477aa"]) == 3
    assert {"Ana", "n = 3, 1; 40.0", "points", "total", "loss", "gain"} <= set(texts(figure))


def test_a_heat_map_has_a_square_for_every_two_and_is_darker_where_the_rate_is_higher() -> None:
    names = {"a": "Ana", "b": "Ben"}
    figure = heat_map(HEADING, names, {("a", "b"): 1.0, ("b", "a"): 0.0, ("a", "a"): 0.5})
    squares = [one.attrib["fill"] for one in of(figure, "rect")[1:]]
    assert len(squares) == 4
    assert squares[1] < squares[0] < squares[2]
    assert squares[3] == "#eeeeee"
    assert {"100%", "0%", "50%", "Ana", "Ben", "player", "opponent"} <= set(texts(figure))


ESTIMATES = st.builds(
    lambda count, mean, half: Estimate(count, 0, mean, half, mean - half, mean + half),
    st.integers(1, 9), st.floats(0, 1), st.floats(0, 1),
) | st.just(Estimate(0, 0))  # fmt: skip


@given(
    curves=st.lists(st.builds(Panel, NAMES, st.lists(ESTIMATES, max_size=5)), max_size=6),
    rows=st.lists(st.builds(Scored, NAMES, st.lists(ESTIMATES, min_size=2, max_size=2), NAMES), max_size=4),
    names=st.dictionaries(NAMES, NAMES, max_size=5),
    title=NAMES,
)
def test_whatever_is_in_them_figures_are_valid(
    curves: list[Panel], rows: list[Scored], names: dict[str, str], title: str
) -> None:
    heading = Heading(title, title)
    rates = {(one, other): 0.5 for one in names for other in names}
    for figure in (
        panels(heading, curves, y_title=title),
        dots(heading, rows, [title, title], x_title=title, totals=title),
        heat_map(heading, names, rates),
    ):
        assert parsed(figure).tag == "{http://www.w3.org/2000/svg}svg"


def test_a_leaderboard_names_its_convention() -> None:
    found = list(leaderboard_lines([Rank(1, "alld", 508.0, 4), Rank(2, "tft", 499.0, 4)], "without self-play"))
    assert found[0].startswith("Leaderboard, without self-play: sum over the opponents")
    assert found[1].split() == ["1.", "alld", "508.00"]


def test_a_leaderboard_of_players_who_met_different_numbers_of_others_says_so() -> None:
    found = list(leaderboard_lines([Rank(1, "tft", 90.0, 3), Rank(2, "person", 60.0, 1)], "without self-play"))

    assert [line.split()[-3:] for line in found[1:3]] == [["of", "3", "pairings"], ["of", "1", "pairing"]]
    assert "compare these scores with care" in found[-1]


def test_the_heat_map_in_the_terminal_has_all_rates_in_columns_of_one_width() -> None:
    found = list(heat_map_lines({("a", "b"): 1.0, ("b", "a"): 0.255, ("bb", "a"): 0.0}))
    assert len({len(line) for line in found[1:4]}) == 1
    assert "100%" in found[1]
    assert " 26%" in found[2]
