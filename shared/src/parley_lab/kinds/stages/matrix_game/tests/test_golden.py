"""Whole games and tournaments against figures that were computed elsewhere (Axelrod 4.14, 50 rounds, 5/3/1/0)."""

from math import sqrt
from statistics import fmean, stdev

import pytest

from parley_lab.base import seeds
from parley_lab.kinds.stages.matrix_game.arena.games import PlayedGame, Round, measures_of
from parley_lab.kinds.stages.matrix_game.arena.plots import plots
from parley_lab.kinds.stages.matrix_game.arena.standings import (
    Convention,
    cooperation_rates,
    pairings,
    scores,
    standings,
)
from parley_lab.kinds.stages.matrix_game.payoffs import Payoffs
from parley_lab.kinds.stages.matrix_game.play import play
from parley_lab.kinds.stages.matrix_game.policies import PersonaType, Policy, Rule, luck, persona_rule, rule_of
from parley_lab.testing.dilemmas import prisoners_dilemma
from parley_lab.testing.quick import quick_first

PAYOFFS = Payoffs()
FIELD = ("ALLC", "ALLD", "TFT", "GRIM", "WSLS")
GOLDEN = {
    "ALLC": (150, 0, 150, 150, 150),
    "ALLD": (250, 50, 54, 54, 150),
    "TFT": (150, 49, 150, 150, 150),
    "GRIM": (150, 49, 150, 150, 150),
    "WSLS": (150, 25, 150, 150, 150),
}
COOPERATION_WITH_ALLD = {"ALLC": 1.0, "ALLD": 0.0, "TFT": 0.02, "GRIM": 0.02, "WSLS": 0.5}


def policy(name: str, payoffs: Payoffs = PAYOFFS, **parameters: float) -> Rule:
    return rule_of(Policy.model_validate({"policy": name, **parameters}), payoffs)


def alternating(own: str, other: str, chance: float) -> str:
    return "CD"[len(own) % 2]


def game(
    first: Rule,
    second: Rule,
    players: tuple[str, str] = ("a", "b"),
    *,
    seed: int = 1,
    rounds: int = 50,
    payoffs: Payoffs = PAYOFFS,
) -> PlayedGame:
    ours, theirs = play(first, second, luck(2 * seed), luck(2 * seed + 1), rounds)
    return PlayedGame(
        pair=" vs ".join(players),
        replicate=0,
        players=players,
        rounds=tuple(
            Round(number, (one, other), payoffs.of(one, other))  # type: ignore[arg-type]
            for number, (one, other) in enumerate(zip(ours, theirs, strict=True), start=1)
        ),
    )


@pytest.fixture(scope="module")
def tournament() -> list[PlayedGame]:
    return [game(policy(a), policy(b), (a, b)) for a, b in pairings(FIELD)]


def test_round_robin_has_the_scores_of_the_golden_table(tournament: list[PlayedGame]) -> None:
    scored = scores(tournament)

    assert len(tournament) == 15
    assert {player: tuple(scored[player, opponent] for opponent in FIELD) for player in FIELD} == GOLDEN


def test_cooperation_has_the_rates_of_the_golden_table(tournament: list[PlayedGame]) -> None:
    rates = cooperation_rates(tournament)

    assert {player: rates[player, "ALLD"] for player in FIELD} == COOPERATION_WITH_ALLD
    assert all(rates[one, other] == 1 for one in FIELD if one != "ALLD" for other in FIELD if other != "ALLD")


@pytest.mark.parametrize(
    ("convention", "expected"),
    [
        ("without self-play", {"ALLD": 508, "GRIM": 499, "TFT": 499, "WSLS": 475, "ALLC": 450}),
        ("self-play once", {"GRIM": 649, "TFT": 649, "WSLS": 625, "ALLC": 600, "ALLD": 558}),
        ("self-play twice", {"GRIM": 133.17, "TFT": 133.17, "WSLS": 129.17, "ALLC": 125, "ALLD": 101.33}),
    ],
)
def test_standings_follow_their_convention(
    tournament: list[PlayedGame], convention: Convention, expected: dict[str, float]
) -> None:
    found = standings(scores(tournament), convention)

    assert {one.player: round(one.score, 2) for one in found} == expected
    assert [one.player for one in found] == list(expected)
    assert [one.rank for one in found] == ([1, 2, 2, 4, 5] if convention == "without self-play" else [1, 1, 3, 4, 5])


def test_tit_for_tat_against_always_defecting() -> None:
    found = measures_of(game(policy("TFT"), policy("ALLD")))

    assert (found["points_a"], found["points_b"]) == (49, 54)
    assert (found["cooperation_a"], found["cooperation_b"]) == (0.02, 0)
    assert (found["mutual_cooperation"], found["mutual_defection"], found["exploitation"]) == (0, 0.98, 0.02)
    assert (found["retaliation_a"], found["retaliation_b"]) == (1.0, 1.0)
    assert found["forgiveness_after_mutual_defection_a"] == 0


def test_win_stay_lose_shift_against_always_defecting() -> None:
    played = game(policy("WSLS"), policy("ALLD"))
    found = measures_of(played)

    assert played.play().own == "CD" * 25
    assert (found["points_a"], found["points_b"]) == (25, 150)
    assert (found["cooperation_a"], found["cooperation_b"]) == (0.5, 0)
    assert found["forgiveness_after_mutual_defection_a"] == 1.0
    assert found["retaliation_a"] == 25 / 49


def test_win_stay_lose_shift_does_the_same_for_ten_times_the_points() -> None:
    tenfold = prisoners_dilemma(50, 30, 10, 0)
    played = game(policy("WSLS", tenfold), policy("ALLD", tenfold), payoffs=tenfold)

    assert played.play() == game(policy("WSLS"), policy("ALLD")).play()
    assert (sum(played.points("a")), sum(played.points("b"))) == (250, 1500)


@pytest.mark.parametrize(
    ("persona_type", "actions", "points"),
    [
        ("cooperative", "CCC" + "D" * 47, (47, 62)),
        ("tit_for_tat", "C" + "D" * 49, (49, 54)),
        ("forgiving", "CC" + "D" * 48, (48, 58)),
        ("selfish", "D" * 50, (50, 50)),
        ("custom", "C" + "D" * 49, (49, 54)),
    ],
)
def test_personas_against_always_defecting(persona_type: PersonaType, actions: str, points: tuple[int, int]) -> None:
    played = game(persona_rule(persona_type), policy("ALLD"))

    assert played.play().own == actions
    assert (sum(played.points("a")), sum(played.points("b"))) == points


@pytest.mark.parametrize(("rule", "points"), [(policy("TFT"), (123, 128)), (persona_rule("forgiving"), (75, 200))])
def test_against_an_opponent_that_alternates(rule: Rule, points: tuple[int, int]) -> None:
    played = game(rule, alternating)  # type: ignore[arg-type]

    assert (sum(played.points("a")), sum(played.points("b"))) == points


@pytest.mark.parametrize(
    ("rule", "opponent", "points", "cooperation"),
    [
        (policy("GTFT"), policy("ALLD"), 32.667, 0.34667),
        (policy("TFT"), policy("RANDOM"), 111.75, 0.51),
        (policy("GRIM"), policy("RANDOM"), 147, 0.04),
        (policy("WSLS"), policy("RANDOM"), 111.75, 0.51),
        (policy("GTFT"), policy("RANDOM"), 99.5, 0.673),
        (persona_rule("forgiving"), policy("RANDOM"), 93, 0.76),
        (persona_rule("cooperative"), policy("RANDOM"), 83.81, 0.8825),
    ],
)
@pytest.mark.parametrize("seeds", quick_first([1000, 4000], 1))
def test_chance_has_its_expected_scores(
    rule: Rule, opponent: Rule, points: float, cooperation: float, seeds: int
) -> None:
    games = [game(rule, opponent, seed=seed) for seed in range(seeds)]
    scored = [sum(one.points("a")) for one in games]
    rates = [one.play().own.count("C") / 50 for one in games]

    assert abs(fmean(scored) - points) < 4 * stdev(scored) / sqrt(len(scored)) + 0.005
    assert abs(fmean(rates) - cooperation) < 4 * stdev(rates) / sqrt(len(rates)) + 0.0005


def test_the_opponent_of_a_generous_player_gets_what_is_expected() -> None:
    scored = [sum(game(policy("GTFT"), policy("ALLD"), seed=seed).points("b")) for seed in range(4000)]

    assert abs(fmean(scored) - 119.333) < 4 * stdev(scored) / sqrt(len(scored))


def test_the_same_seeds_give_the_same_game() -> None:
    first, second = (game(policy("GTFT"), policy("RANDOM"), seed=5) for _ in range(2))

    assert first == second
    assert game(policy("GTFT"), policy("RANDOM"), seed=6) != first


def test_a_players_parameter_moves_no_others_chance() -> None:
    def opponent_of(alpha: float) -> str:
        ours, theirs = play(
            policy("RANDOM", alpha=alpha),
            policy("RANDOM"),
            luck(seeds.rng(1, "pair/a").getrandbits(64)),
            luck(seeds.rng(1, "pair/b").getrandbits(64)),
            100,
        )
        assert len(ours) == 100
        return theirs

    assert opponent_of(0.1) == opponent_of(0.9)


def test_the_curves_of_tit_for_tat_against_always_defecting() -> None:
    played = game(policy("TFT"), policy("ALLD"), ("TFT", "ALLD"))

    (over_time, *_) = plots([("arm", played)], {}, is_dilemma=True)

    curves = {name: [row["mean"] for row in over_time.rows if row["player"] == name] for name in ("TFT", "ALLD")}
    assert curves["TFT"][:3] == [1, 0.5, 1 / 3]
    assert set(curves["TFT"][10:]) == {0}
    assert set(curves["ALLD"]) == {0}
    assert {row["arm"] for row in over_time.rows} == {""}
