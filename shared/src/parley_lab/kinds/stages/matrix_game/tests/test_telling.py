"""What those who look on are told of a game, and what is told when it is looked back at."""

from dataclasses import replace
from itertools import pairwise
from uuid import UUID

import pytest

from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import Ask, LabView
from parley_lab.kinds.stages.matrix_game.config import MatrixGameStage
from parley_lab.kinds.stages.matrix_game.game import move_key
from parley_lab.kinds.stages.matrix_game.rules import KIND, GameNarration
from parley_lab.testing.matrix_games import ANA, BEN, MEMBERS, draws, member, seen_by, stage, talking, view

TALK_THEN_MOVE = [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (3, 2), (3, 3)]
"""The number of rounds in which both have sent messages, and moved."""


def test_who_looks_on_is_told_of_a_round_when_both_have_moved() -> None:
    game = stage()

    assert GameNarration(game).steps(view(game, "CD", "D")) == ["round 1: P1 cooperates, P2 defects (0:5)"]
    assert GameNarration(game).outcome(view(game, "CD", "D")) is None
    assert GameNarration(game).steps(view(game, "CDD", "DDC"))[1:] == [
        "round 2: P1 defects, P2 defects (1:1)",
        "round 3: P1 defects, P2 cooperates (5:0)",
    ]
    assert GameNarration(game).outcome(view(game, "CDD", "DDC")) == "P1 6, P2 6 after 3 rounds"


def test_steps_are_only_ever_added_to() -> None:
    game = stage(chat=True)
    said = {ANA: ["Hello", "", "Again"], BEN: ["Well", "", "No"]}
    views = [
        talking(game, {one: words[:n] for one, words in said.items()}, "C" * m, "D" * m) for n, m in TALK_THEN_MOVE
    ]

    told = [[*GameNarration(game).steps(view)] for view in views]

    assert told[1] == ['round 1: P1 says "Hello", P2 says "Well"']
    assert told[3][2:] == ["round 2: nothing is said"]
    assert all(len(after) == len(before) + 1 and after[:-1] == before for before, after in pairwise(told))


def test_who_looks_on_is_told_why_there_is_no_result() -> None:
    game = stage()
    failed = replace(view(game, "C", "D"), state={"actions": ["C", "D"], "status": "failed"})
    deserted = replace(failed, state={"actions": ["", ""], "status": "abandoned"})

    assert GameNarration(game).outcome(failed) == "no result after 1 round: an action could not be read"
    assert GameNarration(game).outcome(deserted) == "no result after 0 rounds: a player has left"


def looked_back_at(game: MatrixGameStage, seen: LabView, reader: UUID = ANA) -> str:
    (block,) = KIND.prompt(game, seen_by(seen, reader))
    return block.text


@pytest.mark.parametrize("memory", ["full", "window", "summary", "none"])
@pytest.mark.parametrize("framing", ["named", "neutral", "situated"])
def test_a_game_that_is_over_is_told_as_over(memory: str, framing: str) -> None:
    game = stage(framing=framing, memory=memory)

    told = looked_back_at(game, view(game, "CDC", "CCC"))

    assert "You played 3 rounds of this game with one opponent. It is over." in told
    assert told.endswith("SCORES: You: 11 | Opponent: 6")
    assert "This is round" not in told
    assert "again and again" not in told


def test_a_game_that_ended_early_says_why() -> None:
    game = stage()
    before = view(game, "", "")

    def after(status: str, actions: list[str]) -> str:
        return looked_back_at(game, replace(before, state={"actions": actions, "status": status}))

    assert "You played one round of this game with one opponent. It ended early, because a player left" in after(
        "abandoned", ["C", "D"]
    )
    assert "No round of this game was played, because a reply could not be read." in after("failed", ["", ""])
    assert looked_back_at(game, before).startswith("No round of this game was played. It is over.")
    assert "HISTORY" not in looked_back_at(game, before)


def test_who_did_not_play_sees_nothing_of_a_game_but_that_it_is_over() -> None:
    game, third = stage(), member(UUID(int=77))

    assert looked_back_at(game, view(game, "CDC", "CCC", members=(*MEMBERS, third), draws=draws(game)), third.id) == (
        "Two participants played a game here. It is over. You took no part in it and saw nothing of it."
    )


@pytest.mark.parametrize(("announced", "number"), [(True, "round 1 of 1"), (False, "round 1")])
def test_a_game_of_one_round_is_not_played_again_and_again(announced: bool, number: str) -> None:
    game = stage(horizon={"type": "fixed", "rounds": 1}, announce_horizon=announced, framing="neutral")

    (block,) = KIND.prompt(game, seen_by(view(game, "", "")), Ask(ANA, move_key(1), "move"))

    assert block.text.startswith(f"This is {number} of a game that you play with an opponent.\n\nPAYOFF")


def test_players_of_one_name_are_told_apart_by_their_seats() -> None:
    game = stage()
    twins = tuple(replace(one, profile=Profile(name="Fox")) for one in MEMBERS)

    assert GameNarration(game).steps(view(game, "C", "D", members=twins)) == [
        "round 1: Fox (a) cooperates, Fox (b) defects (0:5)"
    ]
