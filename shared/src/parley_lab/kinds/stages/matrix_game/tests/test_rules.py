"""The game as a stage: draws, moves, pages and hidden information."""

from dataclasses import replace
from random import Random
from uuid import UUID

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.kinds import PAGE, Ask, Blocked, Done, Json, Member, OwnView
from parley_lab.kinds.stages.matrix_game.config import MatrixGameStage
from parley_lab.kinds.stages.matrix_game.game import move_key
from parley_lab.kinds.stages.matrix_game.rules import KIND, GameData, GameDraws, GameQuestions, GameScripts
from parley_lab.testing.matrix_games import ANA, BEN, MEMBERS, asks, draws, member, page, question, seen_by, stage, view
from parley_lab.views.builder import stated, with_moves


def summary(of: MatrixGameStage, seen: OwnView) -> dict[str, Json]:
    """The stored result of a game that is over."""
    completion = KIND.completion(of, seen)
    assert isinstance(completion, Done)
    assert isinstance(completion.page, dict)
    return completion.page


def test_a_move_in_an_open_round_is_in_no_page_and_no_prompt_of_the_other() -> None:
    game = stage()
    before, after = seen_by(view(game, "C", "C"), BEN), seen_by(view(game, "CD", "C"), BEN)

    assert page(game, after) == page(game, before)
    for ask in (Ask(BEN, move_key(2), "move"), None):
        shown = [KIND.prompt(game, seen, ask) for seen in (before, after)]
        assert shown[0] == shown[1]


def test_both_are_asked_for_the_same_round_until_both_have_moved() -> None:
    game = stage()

    assert asks(game, view(game, "C", "D")) == [Ask(one, "round:2/move", "move") for one in (ANA, BEN)]
    assert asks(game, view(game, "CC", "D")) == [Ask(BEN, "round:2/move", "move")]
    assert asks(game, view(game, "CCC", "DDD")) == []


def test_a_page_shows_each_player_the_rounds_from_the_own_side() -> None:
    game = stage()
    ours, theirs = (page(game, seen_by(view(game, "CD", "DD"), one)) for one in (ANA, BEN))

    assert ours["rounds"][0] == {
        "round": 1,
        "counts": True,
        "you": "C",
        "opponent": "D",
        "your_points": 0,
        "opponent_points": 5,
    }
    assert (ours["scores"], theirs["scores"]) == ({"you": 1, "opponent": 6}, {"you": 6, "opponent": 1})
    assert (ours["opponent"], theirs["opponent"]) == ("P2", "P1")


def test_payoffs_that_differ_between_players_are_shown_own_first() -> None:
    game = stage(exploratory=True, payoffs={"CC": [4, 3], "CD": [0, 6], "DC": [5, 1], "DD": [2, 1]})
    payoffs = page(game, seen_by(view(game), BEN))["payoffs"]

    assert [(one["your_points"], one["opponent_points"]) for one in payoffs] == [(3, 4), (1, 5), (6, 0), (1, 2)]


def test_the_summary_says_that_a_game_is_no_dilemma() -> None:
    dilemma, other = stage(), stage(exploratory=True, payoffs={"CD": [0, 10], "DC": [10, 0]})
    found = [summary(one, seen_by(view(one, "CCD", "CDD"))) for one in (dilemma, other)]

    assert [one["is_dilemma"] for one in found] == [True, False]
    assert [one["points"] for one in found] == [4, 4]


def test_a_page_is_written_only_when_the_game_is_over() -> None:
    game = stage()

    assert not isinstance(KIND.completion(game, seen_by(view(game, "CC", "CC"))), Done)
    found = summary(game, seen_by(view(game, "CCC", "CCC")))
    assert (found["points"], found["mutual_cooperation"], found["retaliation"]) == (9, 1.0, None)
    assert GameData(game).cells(found)["points"] == 9


def test_the_game_holds_its_players_until_it_is_over() -> None:
    game = stage()

    assert KIND.completion(game, seen_by(view(game, "CC", "CC"))) == Blocked(("The game goes on.",))
    assert isinstance(KIND.completion(game, seen_by(view(game, "CCC", "CCC"))), Done)


def test_no_one_writes_the_page_of_a_game_by_hand() -> None:
    game, ask = stage(), Ask(ANA, PAGE, "page")

    for moves in ("", "CC", "CCC"):
        assert GameQuestions(game).question(seen_by(view(game, moves, moves)), ask) is None


@pytest.mark.parametrize(
    ("answer", "where"),
    [
        ("C", ""),
        ({}, "action"),
        ({"action": "A"}, "action"),
        ({"action": ["C"]}, "action"),
        ({"action": "C", "cooperates": False}, "cooperates"),
        ({"action": "C", "reasoning": 3}, "reasoning"),
        ({"action": "C", "flag": "none"}, "flag"),
    ],
)
def test_a_move_that_is_none_is_refused_with_its_place(answer: Json, where: str) -> None:
    game = stage()

    with pytest.raises(InvalidInput) as caught:
        question(game, Ask(ANA, move_key(1), "move"), seen_by(view(game))).check(answer)

    assert [problem.where for problem in caught.value.problems] == [where]


def test_letters_mean_what_was_drawn() -> None:
    game = stage(framing="neutral", counterbalance=True)
    seen: set[tuple[str, bool]] = set()
    for seed in range(20):
        drawn = draws(game, seed)
        move = question(game, Ask(ANA, move_key(1), "move"), seen_by(view(game, draws=drawn))).check({"action": "A"})
        seen.add((move["action"], move["cooperates"]))
        assert move["cooperates"] is not drawn["swapped"]

    assert seen == {("A", True), ("A", False)}


def test_a_length_does_not_depend_on_who_plays() -> None:
    game = stage(horizon={"type": "geometric", "stop_probability": 0.05})
    for seed in range(20):
        alone = GameDraws(game).draw(MEMBERS[:1], {}, Random(seed))
        both = GameDraws(game).draw(MEMBERS, alone, Random(seed + 1))

        assert {name: both[name] for name in alone} == alone
        assert (alone["a"], both["b"]) == (str(ANA), str(BEN))
        assert alone["rounds"] == draws(game, seed)["rounds"] >= 1


def scripted(policy: str, member_id: UUID) -> Member:
    return member(member_id, "script", script={"matrix_game": {"policy": policy}})


def test_two_scripts_play_the_rest_of_the_game_at_once() -> None:
    game = stage()
    players = (scripted("TFT", ANA), scripted("ALLD", BEN))

    found = GameScripts(game).play(view(game, "C", "D", members=players), lambda path: Random(path))

    assert {(owner, key): value["action"] for (owner, key), value in found.items()} == {
        (ANA, "round:2/move"): "D",
        (ANA, "round:3/move"): "D",
        (BEN, "round:2/move"): "D",
        (BEN, "round:3/move"): "D",
    }
    over = view(game, "CDD", "DDD", members=players)
    assert GameScripts(game).play(over, lambda path: Random(path)) == {}


def test_against_others_a_script_makes_one_move_a_round_and_the_same_as_in_one_go() -> None:
    game = stage(horizon={"type": "fixed", "rounds": 30})
    chance = scripted("RANDOM", ANA)
    both_scripted = view(game, members=(chance, scripted("ALLC", BEN)))
    in_one_go = GameScripts(game).play(both_scripted, lambda path: Random(path))
    expected = "".join(in_one_go[ANA, move_key(number)]["action"] for number in range(1, 31))

    own = ""
    for number in range(1, 31):
        seen = view(game, own, "C" * len(own), members=(chance, member(BEN, "person")))
        ((at, move),) = GameScripts(game).play(seen, lambda path: Random(path)).items()
        assert at == (ANA, move_key(number))
        own += move["action"]

    assert own == expected
    assert set(own) == {"C", "D"}


def test_a_script_does_not_move_twice_in_a_round() -> None:
    game = stage()
    seen = view(game, "C", "", members=(scripted("TFT", ANA), member(BEN, "person")))

    assert GameScripts(game).play(seen, lambda path: Random(path)) == {}


def test_a_player_who_will_not_come_back_ends_the_game() -> None:
    game = stage()
    gone = question(game, Ask(BEN, move_key(2), "move"), seen_by(view(game), BEN)).passed()
    assert gone is not None
    passed = {(BEN, move_key(2)): gone.value}

    ended = stated(game, with_moves(view(game, "CC", "C"), passed))

    assert (ended.state["status"], ended.state["actions"]) == ("abandoned", ["C", "C"])
    assert asks(game, ended) == []
    assert view(game, "CCC", "CCC").state["status"] == "over"


def test_a_model_that_writes_more_than_the_letter_is_understood_in_its_field() -> None:
    game = stage(framing="neutral")
    move = question(game, Ask(ANA, move_key(1), "move"), seen_by(view(game)))
    model = move.reply_model()

    for written in ("B", "**B**", "option B", "I choose B"):
        reply = model.model_validate({"action": written, "reasoning": "x"})
        assert move.answer_from_reply(reply)["action"] == "B"
    assert model.model_json_schema()["properties"]["action"]["enum"] == ["A", "B"]


@pytest.mark.parametrize(("framing", "letter"), [("named", "D"), ("neutral", "B"), ("situated", "X")])
@pytest.mark.parametrize("more", [{}, {"reasoning": None}, {"reasoning": ""}])
def test_a_move_without_reasoning_is_a_move_and_reasons_are_asked_for(
    framing: str, letter: str, more: dict[str, None]
) -> None:
    game = stage(framing=framing)
    move = question(game, Ask(ANA, move_key(1), "move"), seen_by(view(game)))
    model = move.reply_model()

    answer = move.answer_from_reply(model.model_validate({"action": letter, **more}))

    assert move.check(answer) == {"action": letter, "cooperates": False}
    assert model.model_json_schema()["required"] == ["action", "reasoning"]


def test_the_mock_says_by_which_rule_it_plays() -> None:
    game = stage()
    mild = replace(MEMBERS[0], script={"matrix_game": {"persona": "forgiving"}})
    seen = view(game, "C", "D", members=(mild, MEMBERS[1]))

    assert question(game, Ask(ANA, "round:2/move", "move"), seen_by(seen)).hints() == {
        "suggest:action": "C",
        "suggest:reasoning": "The mock plays forgiving for this player.",
    }
