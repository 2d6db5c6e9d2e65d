"""The report on games: measures with intervals, leaderboards by convention, and games left out of the figures."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from parley_lab.kinds.data import Report
from parley_lab.kinds.stages.matrix_game.arena.games import Pairing, PlayedGame, games_from, with_pairs
from parley_lab.kinds.stages.matrix_game.arena.plots import plots
from parley_lab.kinds.stages.matrix_game.arena.standings import pairings
from parley_lab.kinds.stages.matrix_game.payoffs import Payoffs
from parley_lab.kinds.stages.matrix_game.play import play
from parley_lab.kinds.stages.matrix_game.policies import Policy, luck, rule_of
from parley_lab.kinds.stages.matrix_game.reporting import GamesReporter

FIVE = ("ALLC", "ALLD", "TFT", "GRIM", "WSLS")
PAYOFFS = Payoffs()


def rows(a: str, b: str, cohort: str, status: str = "over", **changes: Any) -> Iterator[dict[str, Any]]:
    rules = [rule_of(Policy(policy=name), PAYOFFS) for name in (a, b)]  # type: ignore[arg-type]
    own, other = play(rules[0], rules[1], luck(1), luck(2), 50)
    for number, (one, two) in enumerate(zip(own, other, strict=True), start=1):
        points = PAYOFFS.of(one, two)  # type: ignore[arg-type]
        yield {
            "cohort_path": cohort,
            "cohort": cohort,
            "treatment": f"{a}-vs-{b}",
            "stage": "game",
            "status": status,
            "round": number,
            "player_a": a,
            "player_b": b,
            "action_a": one,
            "action_b": two,
            "points_a": points[0],
            "points_b": points[1],
            **changes,
        }


def reported(*games: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    reporter = GamesReporter(["game"])
    for game in games:
        reporter.add(game)
    report = reporter.report()
    assert report is not None
    return {table.name: [dict(row) for row in table.rows] for table in report.tables}


@pytest.mark.parametrize(
    ("convention", "expected"),
    [
        ("without self-play", {"ALLD": 508, "TFT": 499, "GRIM": 499, "WSLS": 475, "ALLC": 450}),
        ("self-play once", {"TFT": 649, "GRIM": 649, "WSLS": 625, "ALLC": 600, "ALLD": 558}),
    ],
)
def test_the_leaderboard_of_the_round_robin_is_the_golden_one_by_every_convention(
    convention: str, expected: dict[str, int]
) -> None:
    tables = reported(*([*rows(a, b, f"c{n}")] for n, (a, b) in enumerate(pairings(FIVE))))
    found = {row["player"]: row["score"] for row in tables["leaderboard"] if row["convention"] == convention}
    assert found == expected


def test_a_pair_has_every_measure_with_its_interval_and_one_replicate_has_none() -> None:
    tables = reported([*rows("TFT", "ALLD", "c1")])
    found = {row["measure"]: row for row in tables["pairs"]}
    assert found["points_a"]["mean"] == 49
    assert found["retaliation_a"]["mean"] == 1.0
    assert (found["points_a"]["low"], found["points_a"]["high"]) == (None, None)
    twice = reported([*rows("TFT", "ALLD", "c1")], [*rows("TFT", "ALLD", "c2")])
    again = {row["measure"]: row for row in twice["pairs"]}
    assert (again["points_a"]["low"], again["points_a"]["high"]) == (49, 49)
    assert "pseudo-replication" in twice["cautions"][0]["caution"]


def test_a_game_without_a_result_is_in_no_figure_and_is_counted() -> None:
    failed = [*rows("TFT", "ALLD", "c2", status="failed")]
    tables = reported([*rows("TFT", "ALLD", "c1")], failed)
    assert [row["replicate"] for row in tables["games"]] == [0]
    assert tables["cautions"][-1] == {
        "subject": "TFT vs ALLD",
        "caution": "1 game without a result, in no figure: failed, abandoned or not over.",
    }


def test_rates_are_told_with_and_without_rounds_that_could_not_be_read() -> None:
    game = [*rows("TFT", "ALLD", "c1")]
    game[0] = {**game[0], "flag_a": "fallback:C"}
    found = {(row["rounds"], row["measure"]): row["mean"] for row in reported(game)["pairs"]}
    assert found["all", "cooperation_a"] == 0.02
    assert found["unflagged", "cooperation_a"] == 0.0


def test_the_cells_of_a_design_are_pairs_of_their_own() -> None:
    cells = [[*rows("TFT", "ALLD", f"c{cell}", treatment=f"TFT-vs-ALLD-{cell}")] for cell in ("named", "neutral")]
    assert {row["pair"] for row in reported(*cells)["pairs"]} == {"TFT vs ALLD, named", "TFT vs ALLD, neutral"}


@pytest.mark.parametrize(
    ("arms", "named"), [(("loss", "gain"), "loss vs gain"), (("loss", "loss"), "loss"), (("", ""), "")]
)
def test_games_of_players_with_arms_of_their_own_are_pairs_by_both_arms(arms: tuple[str, str], named: str) -> None:
    game = [*rows("TFT", "ALLD", "c1", treatment="", treatment_a=arms[0], treatment_b=arms[1])]
    other = [*rows("TFT", "ALLD", "c2", treatment="", treatment_a="gain", treatment_b="gain")]

    tables = reported(game, other)

    pair = f"TFT vs ALLD, {named}" if named else "TFT vs ALLD"
    assert {row["pair"] for row in tables["pairs"]} == {pair, "TFT vs ALLD, gain"}


def test_nothing_is_reported_of_an_experiment_in_which_nothing_was_played() -> None:
    assert GamesReporter(["game"]).report() is None


def the_report(*games: Sequence[dict[str, Any]]) -> Report:
    reporter = GamesReporter(["game"])
    for game in games:
        reporter.add(game)
    report = reporter.report()
    assert report is not None
    return report


def test_where_lengths_differ_scores_are_per_round_and_totals_carry_a_caution() -> None:
    long, short = [*rows("ALLC", "ALLC", "c1")], [*rows("ALLD", "ALLC", "c2")][:10]
    report = the_report(long, short)
    tables = {table.name: [dict(row) for row in table.rows] for table in report.tables}
    board = [row for row in tables["leaderboard"] if row["convention"] == "self-play once"]
    assert [(row["player"], row["score"], row["unit"]) for row in board] == [
        ("ALLD", 5.0, "points per round"),
        ("ALLC", 1.5, "points per round"),
    ]
    assert [row["total"] for row in board] == [50.0, 150.0]
    assert "totals also rank the drawn lengths" in tables["cautions"][0]["caution"]
    assert any(line.startswith("Leaderboard, self-play once, points per round: mean over") for line in report.lines)


def test_every_figure_has_the_table_that_it_is_drawn_from_with_names_and_counts() -> None:
    names = {"name_a": "Tit for Tat", "name_b": "Always Defect"}
    report = the_report([*rows("TFT", "ALLD", "c1", **names)], [*rows("TFT", "ALLD", "c2", **names)])
    tables = {table.name: [dict(row) for row in table.rows] for table in report.tables}
    assert {name.removesuffix(".svg") for name in report.figures} <= set(tables)
    assert all("Tit for Tat" in drawing for drawing in report.figures.values())
    assert [row["name"] for row in tables["payoffs"]] == ["Always Defect", "Tit for Tat"]
    assert {(row["over"], row["count"]) for row in tables["payoffs"]} == {("games", 2)}
    assert len(tables["cooperation_over_time"]) == 100


def test_games_that_are_no_dilemma_are_not_told_in_its_words() -> None:
    report = the_report([*rows("TFT", "ALLD", "c1", is_dilemma=False)])
    assert set(report.figures) == {"first_action.svg", "first_action_over_time.svg", "payoffs.svg"}
    assert not any("ooperat" in drawing for drawing in report.figures.values())
    assert not any(line.startswith("Cooperation") for line in report.lines)


def test_arms_are_beside_each_other() -> None:
    games = [[*rows("TFT", "ALLD", f"c{arm}", treatment=f"TFT-vs-ALLD-{arm}")] for arm in ("loss", "gain")]
    report = the_report(*games)
    for figure in ("payoffs.svg", "cooperation_over_time.svg"):
        assert all(f">{arm}</text>" in report.figures[figure] for arm in ("loss", "gain"))
    (over_time,) = (table for table in report.tables if table.name == "cooperation_over_time")
    assert {row["arm"] for row in over_time.rows} == {"", "loss", "gain"}


def test_players_whose_names_are_drawn_or_shared_are_called_by_their_ids() -> None:
    games = [[*rows("TFT", "ALLD", f"c{n}", name_a=f"Fox {n}", name_b="Bear")] for n in (1, 2)]
    assert "TFT" in the_report(*games).figures["payoffs.svg"]
    both = the_report([*rows("TFT", "ALLD", "c1", name_a="Bear", name_b="Bear")]).figures["payoffs.svg"]
    assert "TFT" in both
    assert "ALLD" in both


def test_the_overview_counts_games_and_names_the_pairs_that_earn_the_most_and_the_least() -> None:
    tables = reported(
        [*rows("ALLC", "ALLC", "c1")],
        [*rows("ALLD", "ALLD", "c2")],
        [*rows("TFT", "ALLD", "c3")],
        [*rows("TFT", "ALLD", "c4")],
        [*rows("TFT", "ALLC", "c5", status="failed")],
    )

    found = {row["figure"]: row for row in tables["overview"]}

    assert found["games"]["value"] == 4
    # A pair is one value, the mean of both players: 1, 0 and 0.01.
    assert found["cooperation"]["value"] == pytest.approx(1.01 / 3)
    assert (found["best_pair"]["pair"], found["best_pair"]["value"]) == ("ALLC vs ALLC", 3.0)
    assert (found["worst_pair"]["pair"], found["worst_pair"]["value"]) == ("ALLD vs ALLD", 1.0)


def test_a_single_pair_is_neither_the_best_nor_the_worst() -> None:
    tables = reported([*rows("TFT", "ALLD", "c1", is_dilemma=False)])
    assert [row["figure"] for row in tables["overview"]] == ["games", "first_action"]


def test_cooperation_over_alpha_is_that_with_opponents_who_play_by_chance() -> None:
    games = [[*rows("TFT", "ALLD", f"c{alpha}", alpha_a=None, alpha_b=alpha)] for alpha in (0.0, 0.5)]
    other = [*rows("ALLC", "TFT", "c9", alpha_a=1.0, alpha_b=None)]

    found = {(row["player"], row["alpha"]): row["mean"] for row in reported(*games, other)["cooperation_over_alpha"]}

    assert found == {("TFT", 0.0): 0.02, ("TFT", 0.5): 0.02, ("TFT", 1.0): 1.0}
    assert "cooperation_over_alpha" not in reported(*games[:1])


class Counting(list[tuple[str, PlayedGame]]):
    """Games that count how often all of them are read."""

    reads = 0

    def __iter__(self) -> Iterator[tuple[str, PlayedGame]]:
        self.reads += 1
        return super().__iter__()


def test_figures_read_the_games_as_often_whatever_the_number_of_pairings() -> None:
    few, many = (
        Counting(
            ("", games_from([*with_pairs([*rows(a, b, f"c{number}")], Pairing())])[0])
            for number, (a, b) in enumerate(pairings(players))
        )
        for players in (FIVE[:2], FIVE)
    )

    for games in (few, many):
        plots(games, {}, is_dilemma=True)

    assert few.reads == many.reads > 0


def test_a_leaderboard_has_the_names_of_players_beside_their_ids_where_they_are_their_own() -> None:
    named = [*rows("TFT", "ALLD", "c1", name_a="Ada", name_b="Ben")]
    alike = [*rows("TFT", "ALLD", "c1", name_a="Fox", name_b="Fox")]
    reporter = GamesReporter(["game"])
    reporter.add(named)
    report = reporter.report()
    assert report is not None

    boards = [reported(one)["leaderboard"][:2] for one in (named, alike)]

    assert [[(row["player"], row["name"]) for row in board] for board in boards] == [
        [("ALLD", "Ben"), ("TFT", "Ada")],
        [("ALLD", "ALLD"), ("TFT", "TFT")],
    ]
    told = [line.split()[1] for line in report.lines if line[:4].strip() in ("1.", "2.")]
    assert told[:2] == ["Ben", "Ada"]
    heat = [line.split()[1] for line in report.lines if line[:4].strip() in ("1", "2") and "%" in line]
    assert heat == ["Ben", "Ada"]
