"""Rows, rules, arms that keep and orders in one study: people, agents and scripts are asked what the data say, and what
the console shows of their seats."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from parley_lab.cli.made_up_answers import fill_in
from parley_lab.store.session import Database
from tests.flows.playing import Person, playing

pytestmark = pytest.mark.postgres

Json = Any
TOPICS = ("rail", "road")
ITEMS = [
    {"id": f"{topic}{number}", "what": f"{topic} {number}", "topic": topic, "low": number, "high": number + 50}
    for topic in TOPICS
    for number in (1, 2, 3)
]
SURE = {"id": "sure", "kind": "scale", "lower": 1, "upper": 7, "title": "How sure are you of {{row.what}}?"}
DRAWN = {"items": ITEMS, "shuffle": True, "take": 4, "by": "topic", "levels": {"anchor": ["low", "high"]}}
PROFILES = {"attributes": {"rent": [1, 2, 3], "size": [4, 5]}, "tasks": 2, "shuffle": True, "order": "latin"}
OPTIONS = [{"id": letter, "text": f"{{{{row.{letter}}}}}"} for letter in "ab"]
HALL = {"type": "context"}
RULE = {"variable": "hall"}
LABELS = ("Ana", "Eva", "Bob", "Cid")
STAGES: list[dict[str, Any]] = [
    {
        "id": "parts",
        "kind": "role",
        "roles": [{"id": "chair", "min_participants": 2, "max_participants": 2}, {"id": "other"}],
    },
    {
        "id": "quiz",
        "kind": "comprehension",
        "rows": {**DRAWN, "take": 2},
        "questions": [
            {
                "id": "says",
                "kind": "number",
                "title": "Of {{row.what}} write {{row.anchor}}",
                "correct": "{{row.anchor}}",
            }
        ],
    },
    {
        "id": "guesses",
        "kind": "survey",
        "block": "cases",
        "rows": DRAWN,
        "ask": "by_row",
        "questions": [
            {
                "id": "guess",
                "kind": "number",
                "title": "Is {{row.what}} {{row.anchor}} or more?",
                "minimum": "{{row.anchor}}",
            },
            {**SURE, "show_if": {"row": "topic", "value": "rail"}},
        ],
    },
    {
        "id": "latin",
        "kind": "survey",
        "block": "cases",
        "rows": {"items": ITEMS[:4], "shuffle": True, "order": "latin"},
        "questions": [SURE],
        "show_if": {"role": "chair"},
    },
    {
        "id": "flats",
        "kind": "survey",
        "block": "cases",
        "rows": PROFILES,
        "questions": [{"id": "pick", "kind": "choice", "title": "Which?", "options": OPTIONS}],
    },
    {
        "id": "blame",
        "kind": "survey",
        "questions": [{"id": "much", "kind": "scale", "title": "{{scene}} Blame?", "upper": 6}],
    },
    {
        "id": "praise",
        "kind": "survey",
        "questions": [{"id": "much", "kind": "scale", "title": "{{scene}} Praise?", "upper": 6}],
    },
    {
        "id": "plans",
        "kind": "group_interview",
        "rows": {"items": ITEMS, "shuffle": True, "take": 2, "by": "topic"},
        "roles": [{"label": one} for one in LABELS],
        "tasks": [
            {
                "id": "vote",
                "type": "private_question",
                "variable": "vote",
                "questions": [
                    {"role": one, "text": "For {{row.what}}?", "options": {"type": "list", "values": ["yes", "no"]}}
                    for one in LABELS
                ],
            },
            *(
                {**HALL, "id": size, "variable": size, "text": f"A {size} hall.", "show_if": {**RULE, "value": size}}
                for size in ("big", "small")
            ),
        ],
    },
    {
        "id": "others",
        "kind": "survey_per_participant",
        "rows": DRAWN,
        "questions": [{"id": "trust", "kind": "scale", "title": "Trust on {{row.what}}, {{row.anchor}}?"}],
    },
    {
        "id": "end",
        "kind": "info",
        "lines": ["End.", {"text": "A harm.", "show_if": {"factor": "effect", "value": "harm"}}],
    },
]
STUDY: dict[str, Any] = {
    "stages": STAGES,
    "factors": {"effect": {"harm": {"keep": ["blame"]}, "help": {"keep": ["praise"]}}},
    "texts": {"scene": {"harm": "They did harm.", "help": "They helped."}},
    "assigned": [
        {
            "id": "case",
            "kind": "permutation",
            "values": ["guesses", "latin", "flats"],
            "order": "latin",
            "block": "cases",
        },
        {"id": "hall", "kind": "by_cohort", "value": "small", "cohorts": {"first": "big"}},
    ],
    "personas": [
        {"id": "bob", "profile": {"name": "Bob"}},
        {
            "id": "cid",
            "profile": {"name": "Cid"},
            "player": "script",
            "script": {"survey": {"policy": "random"}, "survey_per_participant": {"policy": "random"}},
        },
    ],
    "cohorts": [
        {
            "id": "first",
            "treatment": "harm",
            "seats": [{"open": True, "count": 2}, {"persona": "bob"}, {"persona": "cid"}],
        }
    ],
}
ASKED = ("quiz", "guesses", "latin", "flats", "blame")
DRAWN_ON = ("quiz", "guesses", "latin", "others")


async def go_on_as_made_up_people_do(people: Sequence[Person]) -> list[dict[str, dict[str, str]]]:
    """The titles of the questions that each was asked, in the order of the page, by stage."""
    asked: list[dict[str, dict[str, str]]] = [{} for _ in people]
    rng, is_moving = Random(1), True
    while is_moving:
        is_moving = False
        for one, shown in zip(people, asked, strict=True):
            me = await one.me()
            if me["status"] != "in_progress":
                continue
            stage_id = me["stage_id"]
            page = await one.page(stage_id)
            if page["state"] != "current" or (page["blocked_by"] and not page["forms"]):
                continue
            is_moving = True
            if stage_id in ASKED:
                shown[stage_id] = {each["id"]: each["title"] for each in page["view"]["questions"]}
            form = page["forms"][0] if page["forms"] else None
            answer = None if form is None else fill_in(form["form"], rng)
            if form is not None and stage_id == "quiz":
                answer = {each["id"]: int(each["title"].rpartition(" ")[2]) for each in page["view"]["questions"]}
            if form is not None and form["ask_id"] is not None:
                await one.post(f"/v1/me/asks/{form['ask_id']}/answer", {"answer": answer})
            else:
                await one.go_on(stage_id, answer)
    return asked


async def test_all_are_asked_the_rows_of_their_seats(database: Database, tmp_path: Path) -> None:
    async with playing(database, **STUDY) as ana:
        eva = await ana.another("Eva")
        of_ana, of_eva = await go_on_as_made_up_people_do([ana, eva])

        assert set((await ana.statuses()).values()) == {"completed"}
        wide = {row["path"]: row for row in await ana.data(tmp_path, "participants.csv")}
        long = await ana.data(tmp_path, "answers.csv")
        ways = {row.path: row.stage_ids for row in await ana.lab.rows("SELECT path, stage_ids FROM members")}
        seen = {
            (stage, seat): await ana.as_owner("GET", "/see", params={"stage": stage, "seat": seat})
            for stage in ("quiz", "guesses", "flats")
            for seat in ("c1/m1", "c1/m3")
        }
        plan = await ana.as_owner("GET", "/see", params={"stage": "plans", "seat": "c1/m1"})
        of_bob = {stage: await ana.prompts("Bob", stage) for stage in (*ASKED, "plans", "others")}
        about = await ana.data(tmp_path, "answers_about.csv")

    had: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    of_pages = [one for one in long if one["stage"] in ASKED and not one["key"]]
    for line in sorted(of_pages, key=lambda one: int(one["place"] or 0)):
        had[line["path"], line["stage"]][line["field"]] = line["label"]
    for path, shown in (("c1/m1", of_ana), ("c1/m2", of_eva)):
        assert {stage: [*had[path, stage].items()] for stage in shown} == {
            stage: [*titles.items()] for stage, titles in shown.items()
        }
    assert all(f"- {title}" in of_bob[stage] for stage in ASKED for title in had["c1/m3", stage].values())
    for (stage, seat), found in seen.items():
        titles = had[seat, stage]
        assert [one["title"] for one in found["page"]["view"]["questions"]] == [*titles.values()]
        assert next(iter(titles.values())) in found["prompt"]["messages"][-1]["content"]
    for line in (one for one in long if one["field"] and not one["key"].startswith("attempt:")):
        of_line = wide[line["path"]]
        if line["stage"] != "others":
            assert of_line[f"{line['stage']}.{line['field']}"] == line["value"]
        if line["row"] and line["stage"] in (*DRAWN_ON, "plans"):
            assert of_line[f"{line['stage']}.{line['row']}.place"] == line["place"]
        if line["stage"] in DRAWN_ON and line["stage"] != "latin":
            assert of_line[f"{line['stage']}.{line['row']}.anchor"] == line["level.anchor"] != ""
    assert {row["quiz.passed"] for row in wide.values()} == {"true"}
    trusted = [line for line in long if line["stage"] == "others"]
    assert len(trusted) == len(about) == 4 * 3 * 4
    assert {(line["path"], line["row"], line["value"]) for line in trusted} == {
        (line["participant"], line["question"].partition(".")[0], line["value"]) for line in about
    }
    asked_of_bob = {line["label"].partition(" (")[0] for line in trusted if line["path"] == "c1/m3"}
    assert len(asked_of_bob) == 4
    assert all(title in of_bob["others"] for title in asked_of_bob)
    heard = of_bob["plans"] + str(plan["page"])
    assert ("A big hall." in heard, "A small hall." in heard) == (True, False)
    # A script has no answers in an interview.
    plans = {(line["row"], line["place"]) for line in long if line["stage"] == "plans" and line["row"]}
    assert sorted(place for _, place in plans) == ["1", "2"]
    assert {row[:-1] for row, _ in plans} == set(TOPICS)
    first = next(item["what"] for item in ITEMS if (item["id"], "1") in plans)
    assert f"For {first}?" in plan["page"]["view"]["questions"][0]["text"]
    assert all("blame" in way and "praise" not in way for way in ways.values())
    assert sum("latin" in way for way in ways.values()) == 2
    assert len({tuple(one for one in way if one in ("guesses", "flats")) for way in ways.values()}) == 2
