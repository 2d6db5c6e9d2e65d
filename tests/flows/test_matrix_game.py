"""Iterated games in the lab: policies, personas, models and people, on the same rules."""

import csv
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from parley_lab.answers.advancing import end_member
from parley_lab.formats.arena import read_agent
from parley_lab.formats.exports import export
from parley_lab.members.standings import lock_standing, sign_in
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab, empty
from tests.flows.matrix_games import Saying, answer, experiment, moves, page_of, pages

pytestmark = pytest.mark.postgres


async def test_policies_play_their_game_without_a_model_and_everybody_completes(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(experiment(("tft", "alld"), ("wsls", "alld"), ("allc", "tft")))

    await lab.drain()

    played = await moves(lab)
    assert played["tft-alld/m1"] == "C" + "D" * 49
    assert played["wsls-alld/m1"] == "CD" * 25
    assert played["allc-tft/m2"] == "C" * 50
    assert {row.status for row in await lab.rows("SELECT status FROM members")} == {"completed"}
    assert {row.status for row in await lab.rows("SELECT status FROM experiments")} == {"ended"}
    page = (await pages(lab))["c1/m1"]
    assert (page["points"], page["opponent_points"], page["cooperation"], page["status"]) == (49, 54, 0.02, "over")
    assert not await lab.rows("SELECT 1 FROM drafts")


async def test_a_persona_plays_by_its_rule_with_the_mock(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(experiment(("forgiving", "alld"), rounds=6))

    await lab.drain()

    assert (await moves(lab))["forgiving-alld/m1"] == "CCDDDD"
    calls = await lab.calls()
    assert len(calls) == 6
    system = calls[0].prompt[0]["content"]
    assert system.startswith("You are a patient trader.\n\nYour goal: to be fair.")


async def test_a_prompt_shows_the_round_as_the_template_does(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(experiment(("free", "tft"), rounds=3))

    await lab.drain()

    second = next(call.prompt for call in await lab.calls() if "round:2/" in call.path)
    system, user = (message["content"] for message in second)
    action, points = ("C", "3") if "You=C" in user else ("D", "5")
    assert system.startswith("You are a player.\n\nYour goal: to win.\n\nYour reply is read by a program.")
    assert user.partition("\n\n# Your reply\n\n")[0].splitlines() == [
        "You are playing round 2 of an iterated Prisoner's Dilemma game.",
        "",
        "PAYOFF MATRIX:",
        "- Both Cooperate (C,C): You get 3, opponent gets 3",
        "- You Cooperate, Opponent Defects (C,D): You get 0, opponent gets 5",
        "- You Defect, Opponent Cooperates (D,C): You get 5, opponent gets 0",
        "- Both Defect (D,D): You get 1, opponent gets 1",
        "",
        "HISTORY (last 10 rounds):",
        f"Round 1: You={action}, Opponent=C → You got {points}, Opponent got {'3' if action == 'C' else '0'}",
        "",
        f"SCORES: You: {points} | Opponent: {'3' if action == 'C' else '0'}",
        "",
        "Choose your action: respond with EXACTLY one character, either C or D.",
        "Then briefly explain your reasoning.",
    ]


async def test_a_prompt_of_its_own_takes_the_place_of_the_character_in_a_game(database: Database) -> None:
    file = "role: a player\ngoal: to win\nbackstory: You never lose.\nsystem_prompt: You are a machine.\n"
    own = read_agent(file, "agent.yaml", "free").model_dump(mode="json", exclude_unset=True)
    lab = DrainLab(database)
    document = experiment(("free", "tft"), rounds=1).replace(
        "{id: free, role: a player, goal: to win}", json.dumps(own)
    )
    await lab.start(document)

    await lab.drain()

    system, user = (one["content"] for one in (await lab.calls())[0].prompt)
    assert system.startswith("You are a machine.\n\nYour reply is read by a program.")
    assert "You never lose" not in system + user
    assert user.startswith("This is round 1 of a Prisoner's Dilemma")


async def test_two_models_play_simultaneously(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(experiment(("free", "forgiving"), rounds=5))

    await lab.drain()

    played = await moves(lab)
    assert [len(actions) for actions in played.values()] == [5, 5]
    prompts = await lab.calls()
    for row in prompts:
        number = int(row.path.partition("round:")[2].partition("/")[0])
        assert row.prompt[1]["content"].count("\nRound ") == number - 1


async def test_a_reply_in_plain_words_is_read(database: Database) -> None:
    lab = DrainLab(database, models={"mock": Saying("hmm", "Considering the history, I choose D")})
    await lab.start(experiment(("free", "allc"), rounds=1))

    await lab.drain()

    assert (await moves(lab))["free-allc/m1"] == "D"
    calls = await lab.rows("SELECT status, raw, parsed FROM model_calls ORDER BY attempt")
    assert [(row.status, row.raw) for row in calls] == [
        ("invalid", "hmm"),
        ("ok", "Considering the history, I choose D"),
    ]
    assert calls[1].parsed["action"] == "D"


async def test_what_cannot_be_read_thrice_fails_the_game_and_is_no_silent_c(database: Database) -> None:
    model = Saying("hmm")
    lab = DrainLab(database, models={"mock": model})
    await lab.start(experiment(("free", "allc"), rounds=4))

    await lab.drain()

    assert len(model.calls) == 3
    assert "Your last answer named no action. Choose one: C or D" in model.calls[1].messages[-1].content
    assert len(await lab.rows("SELECT 1 FROM model_calls WHERE status = 'invalid'")) == 3
    assert (await moves(lab))["free-allc/m1"] == "-"
    assert {page["status"] for page in (await pages(lab)).values()} == {"failed"}
    stored = (await lab.rows("SELECT value, valid FROM answers WHERE key = 'round:1/move' AND NOT valid"))[0]
    assert (stored.value["flag"], stored.value["last_reply"]) == ("failed", "hmm")
    assert {row.status for row in await lab.rows("SELECT status FROM members")} == {"completed"}


async def test_a_fallback_is_played_and_flagged(database: Database) -> None:
    lab = DrainLab(database, models={"mock": Saying("hmm")})
    await lab.start(experiment(("free", "alld"), rounds=3, stage=", on_invalid: 'fallback:C'"))

    await lab.drain()

    assert (await moves(lab))["free-alld/m1"] == "CCC"
    flags = await lab.rows("SELECT value ->> 'flag' AS flag, valid FROM answers WHERE value ? 'flag'")
    assert [(row.flag, row.valid) for row in flags] == [("fallback:C", False)] * 3


async def test_an_excluded_round_does_not_count_and_the_game_goes_on(database: Database) -> None:
    lab = DrainLab(database, models={"mock": Saying("hmm", "hmm", "hmm", "D")})
    await lab.start(experiment(("free", "allc"), rounds=3, stage=", on_invalid: exclude_round"))

    await lab.drain()

    assert (await moves(lab))["free-allc/m1"] == "-DD"
    page = (await pages(lab))["c1/m1"]
    assert (page["rounds"], page["counted_rounds"], page["points"]) == (3, 2, 10)


async def test_a_person_does_not_see_the_move_of_a_round_before_making_one(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(experiment(("person", "tft"), rounds=3))
    member_id, token = await lab.join(experiment_id)
    shown = []

    for action in "DCC":
        await lab.drain()
        async with database.transaction() as session:
            standing = await lock_standing(session, member_id)
            shown.append(page_of(lab, standing))
        assert {*standing.facts.own("game", member_id)} == {f"round:{number}/move" for number in range(1, len(shown))}
        await answer(lab, token, action)
    await lab.drain()

    assert [(len(page["rounds"]), page["round"], page["scores"]["you"]) for page in shown] == [
        (0, 1, 0),
        (1, 2, 5),
        (2, 3, 5),
    ]
    assert (await moves(lab)) == {"person-tft/m1": "DCC", "person-tft/m2": "CDC"}
    async with database.transaction() as session:
        standing = await sign_in(session, token, lock=False)
        assert page_of(lab, standing)["status"] == "over"


async def test_pairs_that_are_added_or_moved_leave_the_others_as_they_are(database: Database) -> None:
    pairs = [("chance", "tft"), ("chance", "wsls")]
    few = DrainLab(database)
    await few.start(experiment(*pairs, rounds=20, count=2))
    await few.drain()
    expected = await moves(few)
    await empty(database)
    many = DrainLab(database)

    await many.start(experiment(("allc", "chance"), *reversed(pairs), rounds=20, count=2))
    await many.drain()

    found = await moves(many)
    assert {seat: actions for seat, actions in found.items() if seat in expected} == expected
    assert len({actions for seat, actions in found.items() if seat.startswith("chance-") and seat.endswith("m1")}) == 4


async def test_an_arm_has_the_personas_of_its_own_pair_and_no_others(database: Database) -> None:
    lab = DrainLab(database)
    document = experiment().replace("cohorts:\n", "pairings: {stage: game, round_robin: [tft, alld, free]}\n")

    await lab.start(document)

    arms = await lab.rows("SELECT id, resolved -> 'personas' AS personas FROM treatments ORDER BY id")
    assert {row.id: set(row.personas) for row in arms} == {
        "alld-vs-free": {"alld", "free"},
        "tft-vs-alld": {"alld", "tft"},
        "tft-vs-free": {"free", "tft"},
    }


async def test_draws_are_kept_and_no_seed_is_shown(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(
        experiment(("person", "tft"), rounds=3, stage=", framing: neutral, counterbalance: true")
    )
    member_id, _ = await lab.join(experiment_id)
    await lab.drain()

    draws = (await lab.rows("SELECT draws FROM cohort_stages"))[0].draws
    async with database.transaction() as session:
        standing = await lock_standing(session, member_id)
    page = json.dumps(page_of(lab, standing))
    assert set(draws) == {"rounds", "swapped", "luck_a", "luck_b", "a", "b"}
    assert str(draws["luck_a"]) not in page
    assert '"rounds_in_all": null' in page


async def test_who_is_deserted_goes_on(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(experiment(("person", "free"), rounds=5))
    _, token = await lab.join(experiment_id)
    await lab.drain()
    await answer(lab, token, "C")
    await lab.drain()
    async with database.transaction() as session:
        standing = await sign_in(session, token, lock=True)
        await end_member(session, standing, "left", "left", lab.clock.now(), cause="test")

    await lab.drain()

    agent = (await lab.rows("SELECT status FROM members WHERE player = 'agent'"))[0]
    assert agent.status == "completed"
    assert (await pages(lab))["c1/m2"]["status"] == "abandoned"


async def test_a_script_passes_through_stages_that_play_none(database: Database) -> None:
    lab = DrainLab(database)
    document = experiment(("tft", "alld"), rounds=2).replace(
        "stages:", "stages:\n  - {id: before, kind: survey, questions: [{id: q, kind: text, title: Q}]}"
    )
    await lab.start(document)

    await lab.drain()

    assert {row.status for row in await lab.rows("SELECT status FROM members")} == {"completed"}
    assert not await lab.rows("SELECT 1 FROM answers WHERE stage_id = 'before'")


async def test_players_talk_before_they_move(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(experiment(("free", "forgiving"), ("free", "tft"), rounds=3, stage=", chat: true"))

    await lab.drain()

    assert {row.status for row in await lab.rows("SELECT status FROM members")} == {"completed"}
    said = await lab.rows("SELECT value FROM answers WHERE key LIKE '%/message'")
    assert len(said) == 3 * 3
    assert all(row.value["delivered"] for row in said)
    for row in await lab.calls():
        if "/move/" not in row.path:
            continue
        number = int(row.path.partition("round:")[2].partition("/")[0])
        assert row.prompt[1]["content"].count("You said: ") == number
    assert [len(actions) for actions in (await moves(lab)).values()] == [3] * 4


async def test_the_mock_talks_and_promises_as_the_persona_plays(database: Database, tmp_path: Path) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(experiment(("forgiving", "alld"), rounds=4, stage=", chat: true"))
    await lab.drain()

    await export(database, experiment_id, tmp_path, lab.clock.now(), formats=["csv"])

    with (tmp_path / "rounds.csv").open() as lines:
        rounds = list(csv.DictReader(lines))
    assert [row["action_a"] for row in rounds] == ["C", "C", "D", "D"]
    assert [row["signal_a"] for row in rounds] == ["C", "C", "D", "D"]
    assert "forget a single mistake" in rounds[0]["message_a"]


@pytest.mark.parametrize("seed", quick_first(range(3), 1))
async def test_shuffled_and_doubled_hints_change_no_move_and_no_message(database: Database, seed: int) -> None:
    pairs = [("free", "forgiving"), ("free", "tft"), ("chance", "tft")]
    document = experiment(*pairs, rounds=4, stage=", chat: true, framing: neutral, counterbalance: true")
    plain = DrainLab(database)
    await plain.start(document)
    await plain.drain()
    expected = await everything(plain)
    await empty(database)
    wild = DrainLab(database, deliveries=2, together=6, rng=Random(seed))

    await wild.start(document)
    await wild.drain()

    assert await everything(wild) == expected


async def everything(lab: DrainLab) -> list[Any]:
    answers = await lab.rows(
        "SELECT m.path, a.key, a.value FROM answers a JOIN members m ON m.id = a.member_id ORDER BY 1, 2"
    )
    return [*answers, *await lab.rows("SELECT path, prompt, raw FROM model_calls ORDER BY path")]
