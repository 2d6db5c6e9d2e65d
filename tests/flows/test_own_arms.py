"""Treatments by participant, from the file to the data: members of one cohort whose pages and prompts differ."""

import csv
import json
from pathlib import Path
from typing import Any

from parley_lab.formats.exports import export
from parley_lab.kinds.stages.profile.sets import SETS
from parley_lab.store.session import Database
from tests.flows.playing import Person, pages, playing, playing_alone

SURVEY = {"id": "asked", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why?"}]}
CHECK = {
    "id": "check",
    "kind": "comprehension",
    "questions": [{"id": "tone", "kind": "text", "title": "Which tone?", "correct": "{{tone}}"}],
}
STUDY: dict[str, Any] = {
    "variables": {"word": "trams", "tone": "neutral"},
    "stages": [
        {"id": "read", "kind": "info", "lines": ["Be {{tone}}."], "block": "first"},
        {**SURVEY, "block": "first"},
        {"id": "extra", "kind": "info", "lines": ["Only for some."]},
        {"id": "talk", "kind": "group_chat", "description": "Talk about {{word}}."},
        CHECK,
    ],
    "personas": [
        {"id": "bob", "profile": {"name": "Bob"}, "text": "You like {{word}}."},
        {"id": "eve", "profile": {"name": "Eve"}},
    ],
    "factors": {
        "tone": {
            "warm": {
                "variables": {"tone": "warm", "word": "buses"},
                "stages": {
                    "asked": {"description": "Warmly asked."},
                    "check": {"questions": [{"id": "heat", "kind": "text", "title": "How warm?", "correct": "very"}]},
                },
                "personas": {"bob": {"text": "You love {{word}}."}},
                "order": {"first": ["asked", "read"]},
            },
            "cold": {"variables": {"tone": "cold", "word": "trains"}, "leave_out": ["extra"]},
        }
    },
    "allocation": {"by": "participant"},
}
WARM, COLD = "You love buses.", "You like trains."


def seats(*given: Any) -> dict[str, Any]:
    return {"cohorts": [{"seats": [*given], "mediators": ["eve"]}]}


BOTH = seats({"persona": "bob", "treatment": "warm"}, {"persona": "bob", "treatment": "cold"})


def found(text: str, *words: str) -> list[str]:
    """Which of these words are in the text."""
    return [word for word in words if word in text]


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as lines:
        return [*csv.DictReader(lines)]


async def arms_of(person: Person) -> dict[str, Any]:
    """Each participant's arm, way and draw, by path."""
    rows = await person.lab.rows(
        "SELECT path, treatment_id, stage_ids, allocated FROM members WHERE kind = 'participant'"
    )
    return {row.path: row for row in rows}


async def test_two_agents_of_one_cohort_are_shown_their_own_arms_and_talk_with_each_other(database: Database) -> None:
    async with playing_alone(database, **{**STUDY, **BOTH}) as (lab, _):
        prompts: dict[tuple[str, str], str] = {}
        rows = await lab.rows(
            "SELECT m.path, d.stage_id, k.prompt FROM model_calls k JOIN drafts d ON d.id = k.draft_id"
            " JOIN members m ON m.id = d.member_id"
        )
        for row in rows:
            said = "\n".join(message["content"] for message in row.prompt)
            prompts[row.path, row.stage_id] = prompts.get((row.path, row.stage_id), "") + said
        ways = {row.path: row.stage_ids for row in await lab.rows("SELECT path, stage_ids FROM members")}
        ended = await lab.rows("SELECT path, status FROM members WHERE status <> 'completed'")

    assert ended == []
    assert ways["c1/m1"] == ["asked", "read", "extra", "talk", "check"]
    assert ways["c1/m2"] == ["read", "asked", "talk", "check"]
    for stage_id in ("asked", "talk", "check"):
        assert found(prompts["c1/m1", stage_id], WARM, COLD) == [WARM]
        assert found(prompts["c1/m2", stage_id], WARM, COLD) == [COLD]
    for stage_id, warm, cold in (
        ("asked", "Warmly asked.", "Why?"),
        ("talk", "Talk about buses.", "Talk about trains."),
        ("check", "How warm?", "Which tone?"),
    ):
        assert warm in prompts["c1/m1", stage_id]
        assert warm not in prompts["c1/m2", stage_id]
        assert cold in prompts["c1/m2", stage_id]
    assert "Talk about trams." in prompts["c1/med1", "talk"]
    assert not any(word in prompts["c1/med1", "talk"] for word in ("buses", "trains", "warm", "cold"))


async def test_people_of_one_cohort_have_pages_of_their_own_arms_and_are_not_told(
    database: Database, tmp_path: Path
) -> None:
    study = {**STUDY, **seats({"open": True, "count": 2}, {"persona": "bob"})}
    async with playing(database, **study) as ana:
        ben = await ana.another("Ben")
        arms = await arms_of(ana)
        read: dict[str, str] = {}
        for path, person in (("c1/m1", ana), ("c1/m2", ben)):
            arm = arms[path].treatment_id
            read[arm] = ""
            for stage_id in arms[path].stage_ids[:2]:
                page = await person.page(stage_id)
                read[arm] += json.dumps(page)
                await person.go_on(stage_id, {"why": "Because."} if stage_id == "asked" else None)
            read[arm] += json.dumps(await person.me())
        rows = await ana.data(tmp_path, "participants.csv")

    assert {arms[path].treatment_id for path in ("c1/m1", "c1/m2")} == {"warm", "cold"}
    assert arms["c1/m1"].allocated == {"rule": "drawn", "draw": 1, "block": 1, "probability": 0.5}
    assert arms["c1/m2"].allocated == {"rule": "drawn", "draw": 2, "block": 1, "probability": 1.0}
    assert arms["c1/m3"].allocated == {"rule": "complete", "draw": 1, "probability": 0.5}
    words = ("Warmly asked.", "Be warm.", "Be cold.", "treatment", "allocated", "arm_", "factor")
    assert found(read["warm"], *words) == ["Warmly asked.", "Be warm."]
    assert found(read["cold"], *words) == ["Be cold."]
    told = ("treatment", "factor.tone", "joining", "arm_draw", "arm_block", "arm_probability")
    assert [tuple(row[column] for column in told) for row in rows] == [
        (arms["c1/m1"].treatment_id, arms["c1/m1"].treatment_id, "one_arm", "1", "1", "0.5"),
        (arms["c1/m2"].treatment_id, arms["c1/m2"].treatment_id, "one_arm", "2", "1", "1.0"),
        (arms["c1/m3"].treatment_id, arms["c1/m3"].treatment_id, "complete", "1", "", "0.5"),
    ]


async def test_the_data_have_each_members_arm_where_they_had_the_cohorts(database: Database, tmp_path: Path) -> None:
    async with playing(
        database, **{**STUDY, **seats({"open": True, "treatment": "cold"}, *BOTH["cohorts"][0]["seats"])}
    ) as ana:
        for stage_id, answer in (("read", None), ("asked", {"why": "So."})):
            await ana.go_on(stage_id, answer)
        page = await ana.page("talk")
        await ana.post(f"/v1/me/threads/{page['thread']['id']}/messages", {"text": "Hi", "client_message_id": "1"}, 201)
        await ana.go_on("talk")
        await ana.post("/v1/me/stages/check/answers", {"answers": {}}, 404)
        names = ("answers.csv", "messages.csv", "balance.csv", "attempts.csv")
        data = {name: await ana.data(tmp_path, name) for name in names}
        alerts = await ana.lab.rows("SELECT text FROM alerts")

    assert alerts == []
    own = {"c1/m1": "cold", "c1/m2": "warm", "c1/m3": "cold"}
    assert {(row["path"], row["treatment"], row["factor.tone"]) for row in data["answers.csv"]} == {
        (path, arm, arm) for path, arm in own.items()
    }
    said = {
        (row["author_path"], row["treatment"]) for row in data["messages.csv"] if row["author_role"] == "participant"
    }
    assert said <= set(own.items())
    assert ("c1/m1", "cold") in said
    assert [
        (row["treatment"], row["cohorts"], row["seats"], row["people"], row["agents"]) for row in data["balance.csv"]
    ] == [
        ("cold", "1", "2", "1", "1"),
        ("warm", "1", "1", "0", "1"),
    ]
    asked = {(row["participant"], row["treatment"], row["question"]) for row in data["attempts.csv"]}
    assert asked == {("c1/m2", "warm", "heat"), ("c1/m3", "cold", "tone")}


async def test_members_of_one_cohort_have_roles_in_words_and_names_out_of_sets_of_their_own_arms(
    database: Database, tmp_path: Path
) -> None:
    roles: list[dict[str, Any]] = [{"id": "chair", "min_participants": 1, "max_participants": 1}, {"id": "member"}]
    study: dict[str, Any] = {
        "stages": [
            {"id": "who", "kind": "profile", "set": "animals"},
            {"id": "parts", "kind": "role", "roles": [{**one, "lines": ["Be {{tone}}."]} for one in roles]},
        ],
        "variables": {"tone": "neutral"},
        "personas": [{"id": "bob", "profile": {"name": "Bob"}}],
        "treatments": [
            {
                "id": "warm",
                "stages": {
                    "who": {"set": "nature"},
                    "parts": {"roles": [{**one, "name": f"Warm {one['id']}", "lines": ["A hug."]} for one in roles]},
                },
            },
            {"id": "cold", "variables": {"tone": "cold"}},
            {"id": "own", "stages": {"who": {"set": "free"}}},
        ],
        "allocation": {"by": "participant"},
        **seats(*({"open": True, "treatment": arm} for arm in ("warm", "cold", "own", "warm", "cold"))),
    }
    study["cohorts"][0].pop("mediators")
    async with playing(database, **study) as ana:
        people = [ana, *[await ana.another(name) for name in ("Ben", "Cid", "Dan", "Eli")]]
        for number, person in enumerate(people):
            await person.go_on("who", {"name": "Cid", "avatar": "🦊"} if number == 2 else None)
        read = [(await person.page("parts"))["view"]["role"] for person in people]
        for person in people:
            await person.go_on("parts")
        names = [row["who.name"] for row in await ana.data(tmp_path, "participants.csv")]
        statuses = await ana.statuses()

    in_sets = {name: {entry.partition(" ")[2] for entry in SETS["en"][name]} for name in ("animals", "nature")}
    assert [[name for name, entries in in_sets.items() if one in entries] for one in names] == [
        ["nature"], ["animals"], [], ["nature"], ["animals"],
    ]  # fmt: skip
    assert len(set(names)) == 5
    assert [one["lines"] for one in read] == [["A hug."], ["Be cold."], ["Be neutral."], ["A hug."], ["Be cold."]]
    assert [one["name"] == f"Warm {one['id']}" for one in read] == [True, False, False, True, False]
    assert sorted(one["id"] for one in read) == ["chair", *["member"] * 4]
    assert set(statuses.values()) == {"completed"}


async def test_rows_of_games_have_the_arms_of_their_players_and_reports_those_of_cohorts(
    database: Database, tmp_path: Path
) -> None:
    policies = {"matrix_game": {"policy": "TFT"}, "beauty_contest": {"policy": "level_1"}}
    study: dict[str, Any] = {
        "stages": [
            {"id": "contest", "kind": "beauty_contest", "rounds": 2},
            {"id": "game", "kind": "matrix_game", "horizon": {"type": "fixed", "rounds": 2}},
            {"id": "alone", "kind": "private_chat"},
        ],
        "personas": [
            {"id": "sam", "player": "script", "script": policies},
            {"id": "bob", "profile": {"name": "Bob"}, "script": policies},
            {"id": "eve"},
        ],
        "factors": {"tone": ["warm", "cold"]},
        "allocation": {"by": "participant"},
        "cohorts": [
            {
                "seats": [{"persona": "sam", "treatment": "warm"}, {"persona": "bob", "treatment": "cold"}],
                "mediators": ["eve"],
            }
        ],
    }
    async with playing_alone(database, **study) as (lab, experiment_id):
        await export(lab.database, experiment_id, tmp_path, lab.clock.now())
    guesses, contests, rounds, games = (
        read_rows(tmp_path / f"{name}.csv") for name in ("guesses", "contests", "rounds", "games")
    )
    own = {("c1/m1", "warm", "warm"), ("c1/m2", "cold", "cold")}

    assert [row["round"] for row in guesses] == ["1", "1", "2", "2"]
    assert {(row["participant"], row["treatment"], row["factor.tone"]) for row in guesses} == own
    assert [(row["round"], row["guesses"], row["treatment"]) for row in contests] == [("1", "2", ""), ("2", "2", "")]
    for row in (*rounds, *games):
        assert {(row[f"participant_{side}"], row[f"treatment_{side}"]) for side in "ab"} == {
            (path, arm) for path, arm, _ in own
        }
        assert row["treatment"] == ""
    talks = json.loads((tmp_path / "data.json").read_text())["conversations"]
    assert [(row["treatment"], row["stage"], row["conversations"]) for row in talks] == [
        ("cold", "alone", 1),
        ("warm", "alone", 1),
    ]


async def test_scripts_of_one_cohort_are_played_each_in_their_own_arm(database: Database) -> None:
    script = {"id": "sam", "player": "script", "script": {"asked": {"answers": {"why": "{{tone}}"}}}}
    stages = [one for one in STUDY["stages"] if one["id"] not in ("talk", "check")]
    factors = {
        "tone": {
            arm: {key: part for key, part in level.items() if key in ("variables", "leave_out", "order")}
            for arm, level in STUDY["factors"]["tone"].items()
        }
    }
    study = {
        **STUDY,
        "stages": stages,
        "personas": [script],
        "factors": factors,
        "cohorts": [{"seats": [{"persona": "sam", "count": 4}]}],
    }
    async with playing_alone(database, **study) as (lab, _):
        members = await lab.rows("SELECT path, treatment_id, status FROM members")
        given = await pages(lab, "asked")

    assert sorted(row.treatment_id for row in members) == ["cold", "cold", "warm", "warm"]
    assert {row.status for row in members} == {"completed"}
    assert {given[row.path]["why"] for row in members if row.treatment_id == "warm"} == {"warm"}
    assert {given[row.path]["why"] for row in members if row.treatment_id == "cold"} == {"cold"}


async def test_a_mediator_speaks_in_private_in_words_of_the_participants_arm(
    database: Database, tmp_path: Path
) -> None:
    study = {
        "stages": [
            {"id": "alone", "kind": "private_chat", "description": "About {{word}}."},
            {"id": "talk", "kind": "group_chat"},
        ],
        "variables": {"word": "trams"},
        "personas": [
            {"id": "bob", "profile": {"name": "Bob"}},
            {"id": "guide", "profile": {"name": "Guide"}, "text": "Be {{tone}}.", "mediates_in": ["alone"]},
            {"id": "host", "profile": {"name": "Host"}, "text": "You like {{word}}.", "mediates_in": ["talk"]},
        ],
        "treatments": [
            {"id": "warm", "variables": {"word": "buses", "tone": "warm"}, "personas": {"guide": {"goal": "a hug"}}},
            {"id": "cold", "variables": {"word": "trains", "tone": "cold"}},
        ],
        "allocation": {"by": "participant"},
        "cohorts": [{"seats": BOTH["cohorts"][0]["seats"], "mediators": ["guide", "host"]}],
    }
    async with playing_alone(database, **study) as (lab, experiment_id):
        await export(lab.database, experiment_id, tmp_path, lab.clock.now())
        rows = await lab.rows(
            "SELECT m.path, t.scope, k.prompt FROM model_calls k JOIN drafts d ON d.id = k.draft_id"
            " JOIN members m ON m.id = d.member_id JOIN threads t ON t.id = d.thread_id WHERE m.kind = 'mediator'"
        )

    asked: dict[tuple[str, str], str] = {}
    for row in rows:
        said = "\n".join(message["content"] for message in row.prompt)
        asked[row.path, row.scope] = asked.get((row.path, row.scope), "") + said
    words = ("Be warm.", "Be cold.", "About buses.", "About trains.", "You like trams.")
    assert found(asked["c1/med1", "private:c1/m1"], *words) == ["Be warm.", "About buses."]
    assert found(asked["c1/med1", "private:c1/m2"], *words) == ["Be cold.", "About trains."]
    assert "You like trams." in found(asked["c1/med2", "group"], *words)
    assert not found(asked["c1/med2", "group"], "Be warm.", "Be cold.", "buses", "trains")
    messages = read_rows(tmp_path / "messages.csv")
    arms = {(row["thread_path"], row["author_path"], row["treatment"]) for row in messages}
    assert {one for one in arms if one[1].startswith("c1/med")} == {
        ("c1/alone/m1", "c1/med1", "warm"), ("c1/alone/m2", "c1/med1", "cold"), ("c1/talk/group", "c1/med2", ""),
    }  # fmt: skip
