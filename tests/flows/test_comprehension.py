"""A check of what was understood, taken by people over REST, an agent with the mock and a script."""

from pathlib import Path
from typing import Any

import pytest

from parley_lab.store.session import Database
from tests.flows.playing import Person, a_cast, playing

pytestmark = pytest.mark.postgres

CHECK: dict[str, Any] = {
    "id": "check",
    "kind": "comprehension",
    "most_attempts": 2,
    "questions": [
        {"id": "town", "kind": "text", "title": "Which town?", "correct": "therightanswercanary"},
        {
            "id": "others",
            "kind": "choice",
            "title": "How many others?",
            "options": [{"id": "two", "text": "Two"}, {"id": "three", "text": "Three"}],
            "correct": "three",
        },
    ],
}
LAST: dict[str, Any] = {"id": "after", "kind": "info", "lines": ["Thank you."]}
WRONG = {"town": "Bern", "others": "three"}
RIGHT = {"town": "TheRightAnswerCanary", "others": "three"}


def with_wrong_bob(cast: dict[str, Any]) -> dict[str, Any]:
    """The same with a script by which Bob never passes."""
    cast["personas"][0]["script"] = {"check": {"answers": {"town": "Bern"}}}
    return cast


async def attempt(person: Person, answer: Any, status: int = 200) -> Any:
    (ask,) = (await person.me())["asks"]
    return await person.post(f"/v1/me/asks/{ask['id']}/answer", {"answer": answer}, status)


async def test_attempts_are_counted_checked_and_kept(database: Database, tmp_path: Path) -> None:
    async with playing(database, stages=[{**CHECK, "most_attempts": None}, LAST], **with_wrong_bob(a_cast())) as ana:
        assert (await ana.go_on("check", status=409))["reason"] == "blocked"
        refused = await attempt(ana, {"town": "Bern"}, 422)
        first = await attempt(ana, WRONG)
        seen = await ana.page("check")
        assert (await ana.go_on("check", status=409))["reason"] == "blocked"
        await attempt(ana, RIGHT)
        await ana.go_on("check")
        await ana.go_on("after")

        assert refused["problems"][0]["where"] == "others"
        assert first["key"] == "attempt:1"
        assert (seen["view"]["wrong"], seen["view"]["attempts"], seen["forms"][0]["key"]) == (["town"], 1, "attempt:2")
        assert "therightanswercanary" not in str(seen)
        assert set((await ana.statuses()).values()) == {"completed"}
        rows = {row["name"]: row for row in await ana.data(tmp_path, "participants.csv")}
        taken = {name: (row["check.attempts"], row["check.passed"]) for name, row in rows.items()}
        assert (taken["Ana"], taken["Cid"], taken["Bob"]) == (("2", "true"), ("1", "true"), ("5", "false"))
        attempts = await ana.data(tmp_path, "attempts.csv")
        of_ana = [
            (row["attempt"], row["value"], row["is_correct"]) for row in attempts if row["participant"] == "c1/m1"
        ]
        assert [line for line in of_ana if line[1] != "three"] == [("1", "Bern", "false"), ("2", RIGHT["town"], "true")]
        prompts = await ana.prompts("Bob", "check")
        assert "You have answered 4 times" in prompts
        assert "therightanswercanary" not in prompts


async def test_who_fails_the_last_attempt_is_screened_out_where_the_stage_says_so(database: Database) -> None:
    stages = [{**CHECK, "when_failed": "screened_out"}, LAST]
    scripts = {"check": {"answers": {"town": "Bern"}}}

    async with playing(database, stages=stages, **with_wrong_bob(a_cast(people=2, scripts=scripts))) as ana:
        eve = await ana.another("Eve")
        await attempt(ana, WRONG)
        await attempt(ana, WRONG)
        assert (await ana.me())["asks"] == []
        page = await ana.go_on("check")
        await attempt(eve, RIGHT)
        await eve.go_on("check")
        await eve.go_on("after")

        assert (page["me"]["status"], page["page"]) == ("screened_out", None)
        ends = {"Ana": "screened_out", "Bob": "screened_out", "Cid": "screened_out", "Eve": "completed"}
        # Another person may come for Ana.
        assert await ana.statuses() == {**ends, "Participant 1": "expected"}
        stored = await ana.lab.rows("SELECT count(*) AS n FROM answers WHERE key LIKE 'attempt:%'")
        assert stored[0].n == 2 + 1 + 2 + 2


async def test_no_one_is_met_where_each_is_alone(database: Database) -> None:
    meet = {**LAST, "progress": {"wait_for_all": True}}

    async with playing(database, stages=[CHECK, meet], **a_cast(people=2)) as ana:
        eve = await ana.another("Eve")
        await attempt(ana, RIGHT)
        await ana.go_on("check")

        waiting = (await ana.me())["waiting"]
        assert (waiting["missing"], waiting["names"]) == (1, [])
        await attempt(eve, RIGHT)
        await eve.go_on("check")
        assert (await ana.me())["waiting"] is None


async def test_an_agent_that_is_screened_out_is_an_alert_and_people_are_not(database: Database) -> None:
    stages = [{**CHECK, "most_attempts": 1, "when_failed": "screened_out"}, LAST]

    async with playing(database, stages=stages, **with_wrong_bob(a_cast(people=1))) as ana:
        await attempt(ana, WRONG)
        await ana.go_on("check")

        ends = await ana.statuses()
        alerts = await ana.lab.rows("SELECT m.path, a.text FROM alerts a JOIN members m ON m.id = a.member_id")
        assert (ends["Ana"], ends["Bob"]) == ("screened_out", "screened_out")
        assert ["the stage check screened it out" in alert.text for alert in alerts] == [True]
        assert alerts[0].path != "c1/m1"
