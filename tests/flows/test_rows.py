"""Questions of rows, answered by a person over REST, an agent with the mock and a script."""

from pathlib import Path
from typing import Any

import pytest

from parley_lab.store.session import Database
from tests.flows.playing import a_cast, playing

pytestmark = pytest.mark.postgres

ITEMS = [
    {"id": name, "what": f"the height of {name}", "topic": topic, "low": low, "high": low + 1000}
    for name, topic, low in (
        ("everest", "peak", 10),
        ("k2", "peak", 20),
        ("eiffel", "tower", 30),
        ("cn", "tower", 40),
        ("k3", "peak", 20),
        ("tv", "tower", 30),
    )
]
GUESSES: dict[str, Any] = {
    "id": "guesses",
    "kind": "survey",
    "rows": {"items": ITEMS, "shuffle": True, "take": 4, "by": "topic", "levels": {"anchor": ["low", "high"]}},
    "questions": [
        {"id": "guess", "kind": "number", "title": "Is {{row.what}} {{row.anchor}} m or more?", "minimum": 0},
        {"id": "sure", "kind": "scale", "title": "How sure?", "lower": 1, "upper": 10},
    ],
}
UNDERSTOOD = {
    "id": "understood",
    "kind": "comprehension",
    "rows": [{"id": "a", "what": "one", "right": 1}, {"id": "b", "what": "two", "right": 2}],
    "questions": [{"id": "says", "kind": "text", "title": "Write {{row.what}}.", "correct": "{{row.right}}"}],
}
SCRIPTS = {"guesses": {"answers": {"guess": 5}}}


async def test_drawn_rows_are_the_same_on_the_page_in_the_prompt_and_in_the_data(
    database: Database, tmp_path: Path
) -> None:
    async with playing(database, stages=[UNDERSTOOD, GUESSES], **a_cast(scripts=SCRIPTS)) as ana:
        asks = (await ana.page("understood"))["forms"]
        await ana.post(f"/v1/me/asks/{asks[0]['ask_id']}/answer", {"answer": {"a.says": "1", "b.says": "2"}})
        await ana.go_on("understood")
        page = await ana.page("guesses")
        asked = {one["id"]: one["title"] for one in page["view"]["questions"]}
        assert page["forms"][0]["form"]["properties"].keys() == asked.keys()
        given = dict.fromkeys(asked, 7)
        other = next(f"{item['id']}.guess" for item in ITEMS if f"{item['id']}.guess" not in asked)
        await ana.go_on("guesses", {**given, other: 7}, 422)
        await ana.go_on("guesses", given)

        assert set((await ana.statuses()).values()) == {"completed"}
        wide = {row["name"]: row for row in await ana.data(tmp_path, "participants.csv")}
        long = [row for row in await ana.data(tmp_path, "answers.csv") if row["stage"] == "guesses"]
        rows = await ana.data(tmp_path, "rows.csv")
        of_bob = await ana.prompts("Bob", "guesses")

    assert wide["Ana"]["understood.passed"] == "true"
    assert {row["question"] for row in long} == {"guess", "sure"}
    assert all(f"{row['row']}.{row['question']}" == row["field"] for row in long)
    of_ana = sorted(_of(long, wide["Ana"]), key=lambda one: int(one["place"]))
    assert {row["field"]: row["label"] for row in of_ana} == asked
    assert [row["place"] for row in of_ana] == [f"{place}" for place in (1, 2, 3, 4) for _ in range(2)]
    assert [row["row"] for row in of_ana] == [name.partition(".")[0] for name in asked]
    paths = {row["participant_id"]: row for row in wide.values()}
    for row in long:
        whose = paths[row["participant_id"]]
        assert whose[f"guesses.{row['field']}"] == row["value"]
        assert whose[f"guesses.{row['row']}.place"] == row["place"]
        assert whose[f"guesses.{row['row']}.anchor"] == row["level.anchor"]
    item = {row["row"]: row for row in rows if row["stage"] == "guesses"}
    assert item["k2"]["topic"] == "peak"
    bobs = _of(long, wide["Bob"])
    assert len(bobs) == 8
    assert all(f"- {row['label']}" in of_bob for row in bobs)
    assert sorted(row["level.anchor"] for row in bobs) == ["high"] * 4 + ["low"] * 4
    assert sorted(wide["Cid"][f"guesses.{name}.guess"] for name in item) == ["", "", "5", "5", "5", "5"]


async def test_a_conjoint_has_a_line_for_each_profile_that_a_member_saw(database: Database, tmp_path: Path) -> None:
    choose = {"id": "choose", "kind": "choice", "title": "Which?"}
    options = [{"id": letter, "text": f"{{{{row.{letter}}}}}"} for letter in "ab"]
    attributes = {"price": [10, 20, 30], "colour": ["red", "blue"]}
    flats = {"id": "flats", "kind": "survey", "rows": {"attributes": attributes, "tasks": 3, "shuffle": True}}
    stage = {**flats, "ask": "by_row", "questions": [{**choose, "options": options}]}
    async with playing(database, stages=[stage], **a_cast(scripts={"flats": {"policy": "random"}})) as ana:
        shown = (await ana.page("flats"))["view"]["questions"]
        await ana.go_on("flats", {f"{task}.choose": "b" for task in (1, 2, 3)})
        assert set((await ana.statuses()).values()) == {"completed"}
        lines = await ana.data(tmp_path, "profiles_flats.csv")
        long = await ana.data(tmp_path, "answers.csv")
        members = {row["name"]: row["path"] for row in await ana.data(tmp_path, "members.csv")}
        of_bob = await ana.prompts("Bob", "flats")

    assert len(lines) == 3 * 3 * 2
    anas = [line for line in lines if line["participant"] == members["Ana"]]
    assert [line["chosen"] for line in anas] == ["false", "true"] * 3
    texts = [option["text"] for question in shown for option in question["options"]]
    assert texts == ["; ".join(f"{name}: {line[name]}" for name in line["attribute_order"].split()) for line in anas]
    for line in (line for line in lines if line["participant"] == members["Bob"]):
        assert "; ".join(f"{name}: {line[name]}" for name in line["attribute_order"].split()) in of_bob
    assert {row["row"] for row in long} == {"1", "2", "3"}


async def test_attributes_and_columns_stay_in_the_order_of_the_file(database: Database, tmp_path: Path) -> None:
    choose = {"id": "choose", "kind": "choice", "title": "Which?"}
    options = [{"id": letter, "text": f"{{{{row.{letter}}}}}"} for letter in "ab"]
    attributes = {"rent": [800, 1200], "size_in_m2": [40, 60], "lift": ["yes", "no"]}
    flats = {"id": "flats", "kind": "survey", "rows": {"attributes": attributes}}
    items = [{"id": "x", "what": "this", "unit": "m", "a": 1}]
    plain = {"id": "plain", "kind": "survey", "rows": items, "questions": [{"id": "n", "kind": "text", "title": "?"}]}
    async with playing(
        database, stages=[{**flats, "questions": [{**choose, "options": options}]}, plain], **a_cast()
    ) as ana:
        shown = (await ana.page("flats"))["view"]["questions"][0]["options"][0]["text"]
        lines = await ana.data(tmp_path, "profiles_flats.csv")
        rows = await ana.data(tmp_path, "rows.csv")

    assert [part.partition(":")[0] for part in shown.split("; ")] == ["rent", "size in m2", "lift"]
    assert [name for name in lines[0] if name in attributes] == [*attributes]
    assert [*rows[0]][-3:] == ["what", "unit", "a"]


async def test_arms_with_other_attributes_have_their_profiles_in_one_table(database: Database, tmp_path: Path) -> None:
    options = [{"id": letter, "text": f"{{{{row.{letter}}}}}"} for letter in "ab"]
    choose = {"id": "choose", "kind": "choice", "title": "Which?", "options": options}
    flats = {"id": "flats", "kind": "survey", "rows": {"attributes": {"rent": [1, 2]}}, "questions": [choose]}
    arms: list[dict[str, Any]] = [
        {"id": "rent"},
        {"id": "both", "stages": {"flats": {"rows": {"attributes": {"size": [3, 4]}}}}},
    ]
    cast = a_cast(scripts={"flats": {"policy": "random"}})
    cast["cohorts"] = [{"seats": [{"open": True}], "treatment": "rent"}] + [
        {"seats": [{"persona": "cid"}], "treatment": arm["id"]} for arm in arms
    ]
    async with playing(database, stages=[flats], treatments=arms, **cast) as ana:
        lines = await ana.data(tmp_path, "profiles_flats.csv")

    shown = {(line["treatment"], line["rent"] != "", line["size"] != "") for line in lines}
    assert shown == {("rent", True, False), ("both", True, True)}


def _of(lines: list[dict[str, str]], one: dict[str, str]) -> list[dict[str, str]]:
    return [line for line in lines if line["participant_id"] == one["participant_id"]]
