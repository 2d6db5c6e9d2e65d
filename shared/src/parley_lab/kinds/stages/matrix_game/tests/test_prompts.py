"""Prompts have the parts, the order, the labels and the figures of the published templates."""

from typing import Any

import pytest

from parley_lab.kinds.stages.matrix_game import prompts
from parley_lab.kinds.stages.matrix_game.config import MatrixGameStage
from parley_lab.kinds.stages.matrix_game.parser import parse
from parley_lab.kinds.stages.matrix_game.payoffs import Action, Labels, Payoffs, labels_of
from parley_lab.kinds.stages.matrix_game.prompts import PlayedRound

NAMED = labels_of("named")
PAYOFFS = Payoffs()
TWELVE = "CDCCDDCCCDCC", "CCDCDCCDCCCD"
"""In round 12, the first player cooperates and is defected on."""


PUBLISHED = """You are playing round 3 of an iterated Prisoner's Dilemma game.

PAYOFF MATRIX:
- Both Cooperate (C,C): You get 3, opponent gets 3
- You Cooperate, Opponent Defects (C,D): You get 0, opponent gets 5
- You Defect, Opponent Cooperates (D,C): You get 5, opponent gets 0
- Both Defect (D,D): You get 1, opponent gets 1

HISTORY (last 10 rounds):
Round 1: You=C, Opponent=C → You got 3, Opponent got 3
Round 2: You=D, Opponent=C → You got 5, Opponent got 0

SCORES: You: 8 | Opponent: 3

Choose your action: respond with EXACTLY one character, either C or D.
Then briefly explain your reasoning."""


def stage(**fields: Any) -> MatrixGameStage:
    return MatrixGameStage.model_validate({"id": "game", **fields})


def turns(own: str, other: str) -> list[PlayedRound]:
    found: list[PlayedRound] = []
    for number, (one, two) in enumerate(zip(own, other, strict=True), start=1):
        if one == "-":
            found.append(PlayedRound(number, None))
        else:
            actions: tuple[Action, Action] = ("C" if one == "C" else "D", "C" if two == "C" else "D")
            found.append(PlayedRound(number, actions, PAYOFFS.of(*actions)))
    return found


def prompt(own: str = "", other: str = "", labels: Labels = NAMED, **fields: Any) -> str:
    parts = prompts.round_prompt(stage(**fields), PAYOFFS, labels, turns(own, other), 50)
    return "\n\n".join([*parts, prompts.instruction(labels)])


def history_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("Round ")]


def test_round_prompt_has_the_parts_of_the_template_in_their_order() -> None:
    assert prompt("C", "D").splitlines() == [
        "You are playing round 2 of an iterated Prisoner's Dilemma game.",
        "",
        "PAYOFF MATRIX:",
        "- Both Cooperate (C,C): You get 3, opponent gets 3",
        "- You Cooperate, Opponent Defects (C,D): You get 0, opponent gets 5",
        "- You Defect, Opponent Cooperates (D,C): You get 5, opponent gets 0",
        "- Both Defect (D,D): You get 1, opponent gets 1",
        "",
        "HISTORY (last 10 rounds):",
        "Round 1: You=C, Opponent=D → You got 0, Opponent got 5",
        "",
        "SCORES: You: 0 | Opponent: 5",
        "",
        "Choose your action: respond with EXACTLY one character, either C or D.",
        "Then briefly explain your reasoning.",
    ]


def test_named_actions_have_the_words_of_the_published_template() -> None:
    assert prompt("CD", "CC") == PUBLISHED


def test_the_window_holds_the_last_ten_rounds_oldest_first() -> None:
    lines = history_lines(prompt(*TWELVE))

    assert [line.split(":")[0] for line in lines] == [f"Round {number}" for number in range(3, 13)]


def test_each_player_sees_a_round_from_its_own_side() -> None:
    ours, theirs = history_lines(prompt(*TWELVE)), history_lines(prompt(*TWELVE[::-1]))

    assert ours[-1] == "Round 12: You=C, Opponent=D → You got 0, Opponent got 5"
    assert theirs[-1] == "Round 12: You=D, Opponent=C → You got 5, Opponent got 0"


def test_scores_are_the_totals_of_all_rounds_whatever_is_remembered() -> None:
    own, other = (
        sum(PAYOFFS.of(turn.actions[0], turn.actions[1])[side] for turn in turns(*TWELVE) if turn.actions)
        for side in (0, 1)
    )

    for memory in ("none", "window", "full", "summary"):
        assert f"SCORES: You: {own} | Opponent: {other}" in prompt(*TWELVE, memory=memory)


def test_without_memory_no_round_is_shown() -> None:
    text = prompt(*TWELVE, memory="none")

    assert history_lines(text) == []
    assert "HISTORY" not in text


def test_full_memory_shows_every_round() -> None:
    text = prompt(*TWELVE, memory="full")

    assert len(history_lines(text)) == 12
    assert "HISTORY (all rounds):" in text


def test_a_summary_counts_and_shows_no_round() -> None:
    text = prompt("CDDC", "CCDD", memory="summary")

    assert history_lines(text) == []
    assert "HISTORY (summary):\nRounds so far: 4\nYou=C, Opponent=C: 1\nYou=C, Opponent=D: 1" in text
    assert "Share of C: You 50% | Opponent 50%" in text
    assert "Last outcomes (You,Opponent), oldest first: (D,C), (D,D), (C,D)" in text
    assert "Longest run of D: You 2 | Opponent 2" in text


@pytest.mark.parametrize("memory", ["window", "full", "summary"])
def test_before_the_first_round_the_history_says_that_it_is_empty(memory: str) -> None:
    assert "No round has been played yet." in prompt(memory=memory)


def test_a_round_that_does_not_count_is_in_the_history_and_adds_no_points() -> None:
    text = prompt("C-", "C-", memory="full")

    assert history_lines(text) == ["Round 1: You=C, Opponent=C → You got 3, Opponent got 3", "Round 2: did not count"]
    assert "SCORES: You: 3 | Opponent: 3" in text
    assert "Rounds so far: 1\n" in prompt("-", "-", memory="summary")


def test_a_neutral_game_names_neither_the_game_nor_the_actions() -> None:
    text = prompt("CD", "DC", labels_of("neutral"), framing="neutral")

    assert "- You choose A, Opponent chooses B (A,B): You get 0, opponent gets 5" in text
    assert "- Both choose A (A,A): You get 3, opponent gets 3" in text
    assert "either A or B" in text
    for word in ("cooperat", "defect", "prisoner", "dilemma"):
        assert word not in text.lower()


def test_exchanged_letters_exchange_what_they_stand_for() -> None:
    text = prompt("C", "D", labels_of("neutral", swapped=True), framing="neutral")

    assert "- Both choose B (B,B): You get 3, opponent gets 3" in text
    assert "You=B, Opponent=A → You got 0, Opponent got 5" in text
    assert "either A or B" in text


def test_a_situated_game_tells_its_story_in_the_letters_of_the_plans() -> None:
    text = prompt("C", "D", labels_of("situated"), framing="situated")

    assert "between plan F and plan X" in text
    assert "- You choose F, Opponent chooses X (F,X): You get 0, opponent gets 5" in text
    assert "dilemma" not in text.lower()


def test_a_game_that_is_no_dilemma_is_not_called_one() -> None:
    other = {"CC": [3, 3], "CD": [0, 10], "DC": [10, 0], "DD": [1, 1]}

    assert "Dilemma" not in prompt(payoffs=other, exploratory=True)


def test_the_horizon_is_told_only_when_it_is_announced() -> None:
    geometric = {"type": "geometric", "stop_probability": 0.02}

    assert "of 50" not in prompt()
    assert "Dilemma game.\nIt has 50 rounds.\n" in prompt(announce_horizon=True)
    assert "This is round 1 of 50 of a" in prompt(announce_horizon=True, framing="neutral", labels=labels_of("neutral"))
    assert "probability" not in prompt(horizon=geometric)
    assert "ends with a probability of 0.02" in prompt(horizon=geometric, announce_horizon=True)
    assert "of 50" not in prompt(horizon=geometric, announce_horizon=True)


def test_points_that_are_no_whole_numbers_are_written_as_such() -> None:
    payoffs = Payoffs(CC=(2.5, 2.5))

    assert "- Both Cooperate (C,C): You get 2.5, opponent gets 2.5" in list(prompts.payoff_lines(payoffs, NAMED))


@pytest.mark.parametrize(
    ("goal_framing", "word"), [("cooperative", "COMBINED"), ("self_maximizing", "OWN"), ("adversarial", "GAP")]
)
def test_each_aim_is_named(goal_framing: Any, word: str) -> None:
    (aim,) = prompts.aim(goal_framing)

    assert word in aim
    assert prompts.aim(None) == []


@pytest.mark.parametrize("text", ["", "C or D", "hmm"])
def test_a_correction_says_what_was_wrong_and_names_both_letters(text: str) -> None:
    for labels in (NAMED, labels_of("neutral", swapped=True), labels_of("situated")):
        reason = parse(text, NAMED).reason
        assert reason is not None
        assert " or ".join(labels.letters) in prompts.correction(reason, labels)
