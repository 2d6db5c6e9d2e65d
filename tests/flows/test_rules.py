"""Rules over what is known: people, agents and scripts go through the stages, questions and lines that are theirs."""

from pathlib import Path
from typing import Any

import pytest

from parley_lab.store.session import Database
from tests.flows.playing import a_cast, pages, playing

pytestmark = pytest.mark.postgres

QUIZ: dict[str, Any] = {
    "id": "quiz",
    "kind": "survey",
    "questions": [
        {"id": "age", "kind": "number", "title": "Age?", "minimum": 0, "maximum": 99, "integer": True},
        {
            "id": "town",
            "kind": "choice",
            "title": "Town?",
            "options": [{"id": "a", "text": "A"}, {"id": "b", "text": "B"}],
            "correct": "a",
        },
        {"id": "drawn", "kind": "text", "title": "Lucky?", "show_if": {"variable": "luck", "value": "high"}},
        {"id": "undrawn", "kind": "text", "title": "Unlucky?", "show_if": {"variable": "luck", "value": "low"}},
    ],
}
STAGES: list[dict[str, Any]] = [
    {
        "id": "parts",
        "kind": "role",
        "roles": [{"id": "one", "max_participants": 3}, {"id": "two", "min_participants": 0}],
    },
    QUIZ,
    {
        "id": "young",
        "kind": "survey",
        "questions": [{"id": "why", "kind": "text", "title": "Young: why?"}],
        "show_if": {"stage": "quiz", "question": "age", "operator": "less_than", "value": 30},
    },
    {"id": "wrong", "kind": "info", "lines": ["Not right."], "show_if": {"score": "quiz", "value": 0}},
    {
        "id": "right",
        "kind": "info",
        "lines": [
            "Right.",
            {"text": "And you are one.", "show_if": {"role": "one"}},
            {"text": "You are two.", "show_if": {"role": "two"}},
        ],
        "show_if": {"score": "quiz", "operator": "greater_than", "value": 0},
    },
    {
        "id": "shown",
        "kind": "reveal",
        "items": [
            {"stage": "quiz", "columns": ["age"]},
            {"stage": "quiz", "columns": ["town"], "show_if": {"stage": "quiz", "question": "town", "value": "b"}},
        ],
    },
    {
        "id": "end",
        "kind": "payout",
        "items": [
            {"id": "base", "stage": "quiz", "base": 5},
            {
                "id": "cost",
                "stage": "quiz",
                "points": "age",
                "rate": -0.1,
                "floor": 0,
                "show_if": {"stage": "quiz", "question": "town", "value": "b"},
            },
            {
                "id": "tax",
                "stage": "quiz",
                "points": "age",
                "rate": -0.1,
                "show_if": {"stage": "quiz", "question": "town", "value": "a"},
            },
        ],
    },
]
ASSIGNED = [{"id": "luck", "kind": "balanced", "values": ["high", "low"]}]


async def test_each_goes_through_what_is_theirs(database: Database, tmp_path: Path) -> None:
    scripts = {"quiz": {"answers": {"age": 20, "town": "a"}}}
    async with playing(database, stages=STAGES, assigned=ASSIGNED, **a_cast(people=2, scripts=scripts)) as ana:
        eva = await ana.another("Eva")
        for one in (ana, eva):
            await one.go_on("parts")
        asked = {
            one: [q["id"] for q in (await who.page("quiz"))["view"]["questions"]]
            for one, who in (("ana", ana), ("eva", eva))
        }
        assert sorted(names[2] for names in asked.values()) == ["drawn", "undrawn"]
        assert [len(names) for names in asked.values()] == [3, 3]
        after = await ana.go_on("quiz", {"age": 20, "town": "b", asked["ana"][2]: "So."})
        assert after["page"]["stage_id"] == "young"
        assert (await ana.go_on("young", {"why": "So."}))["page"]["stage_id"] == "wrong"
        await ana.go_on("wrong")
        shown = (await ana.page("shown"))["view"]
        assert len(shown["items"]) == 2
        await ana.go_on("shown")
        paid = (await ana.page("end"))["view"]
        assert [(one["id"], one["amount"]) for one in paid["items"]] == [("base", "5.00"), ("cost", "0.00")]
        await ana.go_on("end")
        await eva.go_on("quiz", {"age": 70, "town": "a", asked["eva"][2]: "So."})
        lines = (await eva.page("right"))["view"]["lines"]
        assert len(lines) == 2
        await eva.go_on("right")
        assert len((await eva.page("shown"))["view"]["items"]) == 1
        await eva.go_on("shown")
        paid = (await eva.page("end"))["view"]
        # Seven of tax for five of pay come to no debt.
        assert (paid["amount"], paid["items"][1]["amount"]) == ("0.00", "-7.00")
        await eva.go_on("end")

        assert set((await ana.statuses()).values()) == {"completed"}
        ways = {
            row.name: row.stage_ids
            for row in await ana.lab.rows("SELECT profile ->> 'name' AS name, stage_ids FROM members")
        }
        assert ways["Ana"] == ["parts", "quiz", "young", "wrong", "shown", "end"]
        assert ways["Eva"] == ["parts", "quiz", "right", "shown", "end"]
        assert ways["Cid"] == ["parts", "quiz", "young", "right", "shown", "end"]
        bobs = (await pages(ana.lab, "quiz"))["c1/m3"]
        assert ("young" in ways["Bob"], "right" in ways["Bob"]) == (bobs["age"] < 30, bobs["town"] == "a")
        prompt = await ana.prompts("Bob", "quiz")
        assert ("Lucky?" in prompt) != ("Unlucky?" in prompt)
        people = {row["name"]: row for row in await ana.data(tmp_path, "participants.csv")}
        assert (people["Ana"]["young.why"], people["Eva"]["young.why"]) == ("So.", "")


CASES: list[dict[str, Any]] = [
    {"id": "start", "kind": "info", "lines": ["Hello."]},
    *({"id": one, "kind": "info", "lines": [one], "block": "cases"} for one in "abcd"),
    {"id": "end", "kind": "info", "lines": ["You began with {{order_1}}."]},
]
LATIN = {"id": "order", "kind": "permutation", "values": [*"abcd"], "order": "latin", "block": "cases"}


async def test_each_goes_through_a_block_in_the_next_order_of_a_latin_square(
    database: Database, tmp_path: Path
) -> None:
    async with playing(database, stages=CASES, assigned=[LATIN], **a_cast(people=2)) as ana:
        eva = await ana.another("Eva")
        for one in (ana, eva):
            page = await one.go_on("start")
            while (here := page["page"]["stage_id"]) != "end":
                page = await one.go_on(here)
            await one.go_on("end")

        assert set((await ana.statuses()).values()) == {"completed"}
        ways = [row.stage_ids for row in await ana.lab.rows("SELECT stage_ids FROM members ORDER BY path")]
        assert all((way[0], sorted(way[1:5]), way[5]) == ("start", [*"abcd"], "end") for way in ways)
        # Four of a square of four: each case is once in each place.
        assert all(sorted(way[place] for way in ways) == [*"abcd"] for place in range(1, 5))
        drawn = {(row["member_path"], row["name"]): row["value"] for row in await ana.data(tmp_path, "variables.csv")}
        assert len(drawn) == 16
