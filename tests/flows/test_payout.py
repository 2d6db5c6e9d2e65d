"""What a person, an agent and a script are paid, and that it is kept once, in decimals."""

import asyncio
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.design import validate
from parley_lab.formats.exports import export
from parley_lab.store.session import Database
from tests.flows.playing import Person, a_cast, playing, playing_alone

pytestmark = pytest.mark.postgres

CHOICE = {"kind": "choice", "options": [{"id": "s", "text": "Sydney"}, {"id": "c", "text": "Canberra"}]}
QUIZ = {"id": "quiz", "kind": "survey", "questions": [{"id": "capital", "title": "Capital?", "correct": "c", **CHOICE}]}
VOTE = {"id": "vote", "kind": "ranking", "self_vote": True}
CONTEST = {"id": "game", "kind": "beauty_contest", "rounds": 2, "prize": 3}
ITEMS: list[dict[str, Any]] = [
    {"id": "come", "stage": "quiz", "base": 2.5},
    {"id": "right", "stage": "quiz", "questions": {"capital": 0.355}},
]
PAY = {"id": "pay", "kind": "payout", "currency": "EUR", "items": ITEMS}
AFTER = {"id": "after", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why?"}]}
SCRIPTS = {"quiz": {"answers": {"capital": "s"}}, "game": {"guesses": [100, 100]}}
OF_QUIZ = {"quiz": SCRIPTS["quiz"]}


async def payments(person: Person) -> dict[str, Any]:
    rows = await person.lab.rows(
        "SELECT m.profile ->> 'name' AS name, p.currency, p.amount, p.parts FROM payments p "
        "JOIN members m ON m.id = p.member_id ORDER BY 1"
    )
    return {row.name: (row.currency, row.amount, row.parts) for row in rows}


async def test_a_person_an_agent_and_a_script_are_paid_and_told_the_same(database: Database, tmp_path: Path) -> None:
    async with playing(database, stages=[QUIZ, PAY, AFTER], **a_cast(scripts=OF_QUIZ)) as ana:
        await ana.go_on("quiz", {"capital": "c"})
        page = (await ana.page("pay"))["view"]
        await asyncio.gather(ana.go_on("pay"), ana.go_on("pay"))
        await ana.go_on("after", {"why": "So."})
        prompt = await ana.prompts("Bob", "after")
        paid = await payments(ana)
        rows = {row["name"]: row for row in await ana.data(tmp_path, "participants.csv")}
        statuses = await ana.statuses()

    assert set(statuses.values()) == {"completed"}
    assert (page["amount"], [one["amount"] for one in page["items"]]) == ("2.86", ["2.50", "0.355"])
    assert paid["Ana"][:2] == ("EUR", Decimal("2.86"))
    assert paid["Ana"][2]["sum"] == "2.855"
    assert paid["Ana"][2]["items"][1]["questions"] == {"capital": "0.355"}
    assert set(paid) == {"Ana", "Bob", "Cid"}
    assert f"You are paid EUR {paid['Bob'][1]}." in prompt
    for name, (_, amount, _) in paid.items():
        assert Decimal(rows[name]["pay.amount"]) == amount


async def test_the_winners_answers_are_paid_to_all_and_their_points_by_a_drawn_round(database: Database) -> None:
    items = [
        {"id": "right", "stage": "quiz", "questions": {"capital": 1}, "winner_of": "vote"},
        {"id": "prize", "stage": "game", "points": "prize", "rounds": "one", "rate": 0.5},
    ]
    stages = [QUIZ, VOTE, CONTEST, {**PAY, "items": items}]

    async with playing(database, stages=stages, **a_cast(people=2, scripts=SCRIPTS)) as ana:
        eve = await ana.another("Eve")
        await ana.go_on("quiz", {"capital": "s"})
        await eve.go_on("quiz", {"capital": "c"})
        ids = [one["id"] for one in (await ana.page("vote"))["view"]["candidates"]]
        first = (await eve.me())["member_id"]
        for person in (ana, eve):
            await person.go_on("vote", {"ranking": [first, *(one for one in ids if one != first)]})
        for number in (1, 2):
            for person, guess in ((ana, 40), (eve, 1)):
                (ask,) = (await person.page("game"))["asks"]
                assert ask["key"] == f"round:{number}/guess"
                await person.post(f"/v1/me/asks/{ask['id']}/answer", {"answer": {"guess": guess}})
        rounds = [one["your_prize"] for one in (await ana.page("game"))["view"]["rounds"]]
        for person in (ana, eve):
            await person.go_on("game")
        shown = (await ana.page("pay"))["view"]
        for person in (ana, eve):
            await person.go_on("pay")
        winner = (await ana.lab.rows("SELECT result FROM cohort_stages WHERE stage_id = 'vote'"))[0].result["winner"]
        answers = await ana.lab.rows(
            "SELECT value FROM answers WHERE stage_id = 'quiz' AND key = '' AND member_id = CAST(:id AS uuid)",
            id=winner,
        )
        paid = await payments(ana)

    right, prize = shown["items"]
    is_right = answers[0].value["capital"] == "c"
    assert {parts["items"][0]["amount"] for _, _, parts in paid.values()} == {"1.00" if is_right else "0.00"}
    assert right["right_answers"] == int(is_right)
    assert Decimal(prize["points"]) == Decimal(str(rounds[prize["round"] - 1]))
    assert Decimal(prize["amount"]) == Decimal(prize["points"]) / 2


async def test_a_cohort_of_scripts_is_paid_too_and_the_data_have_each_part(database: Database, tmp_path: Path) -> None:
    cast = {**a_cast(scripts=OF_QUIZ), "cohorts": [{"seats": [{"persona": "cid", "count": 3}]}]}

    async with playing_alone(database, stages=[QUIZ, PAY], **cast) as (lab, experiment_id):
        await export(database, experiment_id, tmp_path, lab.clock.now(), formats=["json"])

    found = json.loads((tmp_path / "data.json").read_text())["payments"]
    assert [(one["stage"], one["currency"], one["amount"]) for one in found] == [("pay", "EUR", "2.50")] * 3
    assert [one["parts"]["items"][0]["base"] for one in found] == ["2.50"] * 3


@pytest.mark.parametrize(
    ("item", "where"),
    [
        ({"stage": "later", "base": 1}, "stage"),
        ({"stage": "quiz", "questions": {"why": 1}}, "questions.why"),
        ({"stage": "quiz", "points": "capital"}, "points"),
        ({"stage": "game", "points": "wins", "rounds": "one"}, "points"),
        ({"stage": "quiz", "questions": {"capital": 1}, "winner_of": "game"}, "winner_of"),
    ],
)
def test_a_bad_reference_is_an_error_of_the_file(item: dict[str, Any], where: str) -> None:
    stages = [QUIZ, CONTEST, {**PAY, "items": [{"id": "one", **item}]}, {**AFTER, "id": "later"}]

    with pytest.raises(InvalidInput) as refused:
        validate({"parley": 1, "name": "x", "stages": stages, **a_cast(scripts=SCRIPTS)})

    assert [problem.where for problem in refused.value.problems] == [f"stages[2].items[0].{where}"]
