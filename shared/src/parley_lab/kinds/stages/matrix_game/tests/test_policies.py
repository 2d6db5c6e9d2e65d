"""Every policy and every type of persona plays as described against any opponent."""

from collections.abc import Callable, Iterator
from itertools import product, repeat

import pytest
from pydantic import ValidationError

from parley_lab.kinds.stages.matrix_game.payoffs import Payoffs
from parley_lab.kinds.stages.matrix_game.policies import Policy, Rule, generosity_of, luck, persona_rule, rule_of
from parley_lab.testing.dilemmas import prisoners_dilemma

PAYOFFS = Payoffs()
LENGTH = 10
GENEROSITY, ALPHA = 0.3, 0.7
"""With LUCK, both outcomes of each probability occur."""
LUCK = (0.1, 0.9, 0.29, 0.31, 0.5, 0.69, 0.71, 0.0, 0.999, 0.2)


def policy(name: str, **parameters: float) -> Rule:
    return rule_of(Policy.model_validate({"policy": name, **parameters}), PAYOFFS)


def described_grim(opponent: str) -> Iterator[str]:
    provoked = False
    for action in opponent:
        yield "D" if provoked else "C"
        provoked = provoked or action == "D"


def described_tit_for_tat(opponent: str) -> Iterator[str]:
    yield from "C" + opponent[:-1]


def described_win_stay_lose_shift(opponent: str) -> Iterator[str]:
    # In points, at 5/3/1/0: a win is worth 3 or 5.
    worth = {"CC": 3, "CD": 0, "DC": 5, "DD": 1}
    own = "C"
    for action in opponent:
        yield own
        if worth[own + action] < 3:
            own = {"C": "D", "D": "C"}[own]


def described_generous(opponent: str) -> Iterator[str]:
    yield "C"
    for previous, chance in zip(opponent, LUCK[1:], strict=False):
        yield "C" if previous == "C" or chance < GENEROSITY else "D"


def described_random(opponent: str) -> Iterator[str]:
    yield from ("C" if chance < ALPHA else "D" for chance in LUCK)


def defects_after(streak: int) -> Callable[[str], Iterator[str]]:
    def described(opponent: str) -> Iterator[str]:
        defections = 0
        for action in opponent:
            yield "D" if defections >= streak else "C"
            defections = defections + 1 if action == "D" else 0

    return described


DESCRIBED: dict[str, tuple[Rule, Callable[[str], Iterator[str]]]] = {
    "ALLC": (policy("ALLC"), lambda _: repeat("C", LENGTH)),
    "ALLD": (policy("ALLD"), lambda _: repeat("D", LENGTH)),
    "TFT": (policy("TFT"), described_tit_for_tat),
    "GRIM": (policy("GRIM"), described_grim),
    "GTFT": (policy("GTFT", generosity=GENEROSITY), described_generous),
    "WSLS": (policy("WSLS"), described_win_stay_lose_shift),
    "RANDOM": (policy("RANDOM", alpha=ALPHA), described_random),
    "cooperative": (persona_rule("cooperative"), defects_after(3)),
    "tit_for_tat": (persona_rule("tit_for_tat"), described_tit_for_tat),
    "selfish": (persona_rule("selfish"), lambda _: repeat("D", LENGTH)),
    "forgiving": (persona_rule("forgiving"), defects_after(2)),
    "random": (persona_rule("random"), lambda _: iter("C" if chance < 0.5 else "D" for chance in LUCK)),
    "custom": (persona_rule("custom"), described_tit_for_tat),
}


def against(rule: Rule, opponent: str) -> str:
    own = ""
    for number, chance in zip(range(len(opponent)), LUCK, strict=True):
        own += rule(own, opponent[:number], chance)
    return own


@pytest.mark.parametrize("name", DESCRIBED)
def test_plays_as_described_against_every_opponent(name: str) -> None:
    rule, described = DESCRIBED[name]

    for actions in product("CD", repeat=LENGTH):
        opponent = "".join(actions)
        assert against(rule, opponent) == "".join(described(opponent))[:LENGTH], opponent


def test_forgiving_lets_a_single_defection_pass_and_tit_for_tat_does_not() -> None:
    assert against_short("forgiving", "CDCC") == "CCCC"
    assert against_short("tit_for_tat", "CDCC") == "CCDC"


def against_short(persona_type: str, opponent: str) -> str:
    rule, _ = DESCRIBED[persona_type]
    own = ""
    for number in range(len(opponent)):
        own += rule(own, opponent[:number], 0.5)
    return own


def test_win_stay_lose_shift_looks_at_outcomes_and_not_at_points() -> None:
    tenfold = prisoners_dilemma(50, 30, 10, 0)
    rule = rule_of(Policy(policy="WSLS"), tenfold)

    assert all(
        against(rule, "".join(actions)) == against(policy("WSLS"), "".join(actions))
        for actions in product("CD", repeat=LENGTH)
    )


def test_generosity_follows_from_the_payoffs() -> None:
    assert generosity_of(PAYOFFS) == pytest.approx(1 / 3)
    # 1 - (4 - 3) / (3 - 0) = 2/3 and (3 - 1) / (4 - 1) = 2/3.
    assert generosity_of(prisoners_dilemma(4, 3, 1, 0)) == pytest.approx(2 / 3)
    # 1 - (7 - 4) / (4 - 0) = 1/4 is less than (4 - 1) / (7 - 1) = 1/2.
    assert generosity_of(prisoners_dilemma(7, 4, 1, 0)) == pytest.approx(1 / 4)


@pytest.mark.parametrize("payoffs", [prisoners_dilemma(1, 3, 1, 3), prisoners_dilemma(100, 3, 1, 0)])
def test_a_game_that_gives_no_generosity_needs_one(payoffs: Payoffs) -> None:
    with pytest.raises(ValueError, match="state one"):
        rule_of(Policy(policy="GTFT"), payoffs)

    assert rule_of(Policy(policy="GTFT", generosity=0.1), payoffs)("C", "D", 0.05) == "C"


@pytest.mark.parametrize("parameters", [{"policy": "TFT", "alpha": 0.5}, {"policy": "RANDOM", "generosity": 0.5}])
def test_a_parameter_of_another_policy_is_refused(parameters: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="has no use for it"):
        Policy.model_validate(parameters)


def test_random_0_never_cooperates_and_random_1_never_defects() -> None:
    drawn = [chance for seed in range(20) for chance, _ in zip(luck(seed), range(1000), strict=False)]

    assert {policy("RANDOM", alpha=0)("", "", chance) for chance in drawn} == {"D"}
    assert {policy("RANDOM", alpha=1)("", "", chance) for chance in drawn} == {"C"}


def test_the_same_seed_has_the_same_luck() -> None:
    first, second = luck(7), luck(7)

    assert [next(first) for _ in range(50)] == [next(second) for _ in range(50)]
