"""A survey with everything in it, answered by a person over REST, an agent with the mock and a script."""

from pathlib import Path
from typing import Any

import pytest

from parley_lab.store.session import Database
from tests.flows.playing import a_cast, playing

pytestmark = pytest.mark.postgres

TOWNS = [{"id": one, "text": f"Town {one}"} for one in "abcd"]
SURVEY: dict[str, Any] = {
    "id": "page",
    "kind": "survey",
    "shuffle_questions": True,
    "shuffle_options": True,
    "show_correct": True,
    "questions": [
        {
            "id": "town",
            "kind": "choice",
            "title": "Which town?",
            "options": TOWNS,
            "correct": "c",
            "widget": "dropdown",
        },
        {
            "id": "matters",
            "kind": "grid",
            "title": "How much does it matter?",
            "rows": [{"id": "price", "text": "The price"}, {"id": "noise", "text": "The noise"}],
            "lower": 1,
            "upper": 5,
        },
        {"id": "more", "kind": "text", "title": "More?", "required": False},
        {"id": "mood", "kind": "scale", "title": "Mood?", "widget": "slider"},
    ],
}
STAGES = [SURVEY, {"id": "after", "kind": "info", "lines": ["Thank you."]}]
SCRIPTS = {"page": {"answers": {"town": "c", "matters": {"price": 1, "noise": 5}}}}


async def test_a_survey_is_answered_by_a_person_an_agent_and_a_script(database: Database, tmp_path: Path) -> None:
    async with playing(database, stages=STAGES, **a_cast(scripts=SCRIPTS)) as ana:
        page = await ana.page("page")
        asked = [one["id"] for one in page["view"]["questions"]]
        assert page["forms"][0]["form"]["properties"].keys() == dict.fromkeys(asked).keys()
        assert "correct" not in str(page)

        await ana.go_on("page", {"town": "a", "matters": {"price": 2, "noise": 9}, "mood": 3}, 422)
        await ana.go_on("page", {"town": "a", "matters": {"price": 2, "noise": 3}, "mood": 3})
        back = await ana.page("page")
        await ana.go_on("after")

        assert set((await ana.statuses()).values()) == {"completed"}
        assert (back["view"]["is_right"], back["answer"]) == (
            {"town": False},
            {"town": "a", "matters": {"price": 2, "noise": 3}, "more": None, "mood": 3},
        )
        rows = {row["name"]: row for row in await ana.data(tmp_path, "participants.csv")}
        assert rows["Ana"]["page.order"].split() == asked
        assert (rows["Ana"]["page.matters.noise"], rows["Ana"]["page.more"]) == ("3", "")
        assert (rows["Cid"]["page.town"], rows["Cid"]["page.matters.noise"], rows["Cid"]["page.score"]) == (
            "c",
            "5",
            "1",
        )
        of_bob = await ana.prompts("Bob", "page")
        titles = {"town": "Which town?", "matters": "How much", "more": "More?", "mood": "Mood?"}
        places = [of_bob.index(f"- {titles[one]}") for one in rows["Bob"]["page.order"].split()]
        assert places == sorted(places)
        towns = [of_bob.index(f"{one} (Town {one})") for one in rows["Bob"]["page.town.order"].split()]
        assert towns == sorted(towns)
        assert len({row["page.order"] for row in rows.values()}) > 1


async def test_the_long_table_says_how_often_an_answer_was_stored(database: Database, tmp_path: Path) -> None:
    why = {"id": "why", "kind": "survey", "questions": [{"id": "q", "kind": "text", "title": "Why?"}]}
    async with playing(database, stages=[why], **a_cast()) as ana:
        await ana.go_on("why", {"q": "So."})
        # An answer is final, so that a second one is not stored.
        await ana.go_on("why", {"q": "Or so."})
        once = await ana.data(tmp_path, "answers.csv")
        await ana.lab.rows("UPDATE answers SET revision = 3 RETURNING member_id")
        thrice = await ana.data(tmp_path, "answers.csv")

    assert {row["revision"] for row in once} == {"1"}
    values = {row["value"] for row in once}
    assert "So." in values
    assert "Or so." not in values
    assert {row["revision"] for row in thrice} == {"3"}
