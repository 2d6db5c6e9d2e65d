"""Questions about each of the others, for a person over REST, an agent with the mock and a script."""

from pathlib import Path
from typing import Any

import pytest

from parley_lab.store.session import Database
from tests.flows.playing import a_cast, playing

pytestmark = pytest.mark.postgres

OTHERS: dict[str, Any] = {
    "id": "others",
    "kind": "survey_per_participant",
    "questions": [
        {"id": "trust", "kind": "scale", "title": "Trust?", "lower": 0, "upper": 10},
        {"id": "again", "kind": "check", "title": "Again?"},
    ],
}
STAGES = [OTHERS, {"id": "after", "kind": "info", "lines": ["Thank you."]}]
SCRIPTS = {"others": {"answers": {"trust": 0, "again": False}}}


def stages(**fields: Any) -> list[dict[str, Any]]:
    return [{**OTHERS, **fields}, STAGES[1]]


@pytest.mark.parametrize(("ask", "calls"), [("all_at_once", 1), ("sequential", 2), ("independent", 2)])
async def test_everybody_answers_about_all_others(database: Database, tmp_path: Path, ask: str, calls: int) -> None:
    async with playing(database, stages=stages(ask=ask), **a_cast(scripts=SCRIPTS)) as ana:
        page = await ana.page("others")
        tags = {person["name"]: person["tag"] for person in page["view"]["people"]}
        answer = {f"{tag}_{name}": value for tag in tags.values() for name, value in (("trust", 0), ("again", False))}

        refused = await ana.go_on("others", {**answer, f"{tags['Bob']}_trust": 11}, 422)
        await ana.go_on("others", answer)
        await ana.go_on("after")

        assert refused["problems"][0]["where"] == f"{tags['Bob']}_trust"
        assert set((await ana.statuses()).values()) == {"completed"}
        rows = await ana.data(tmp_path, "answers_about.csv")
        assert len(rows) == 3 * 2 * 2
        of_ana = {(row["about"], row["question"]): row["value"] for row in rows if row["participant"] == "c1/m1"}
        of_cid = {(row["about"], row["question"]): row["value"] for row in rows if row["participant"] == "c1/m3"}
        assert of_ana == {(f"c1/m{n}", q): v for n in (2, 3) for q, v in (("trust", "0"), ("again", "false"))}
        assert set(of_cid.values()) == {"0", "false"}
        prompts = await ana.prompts("Bob", "others")
        assert "Ana" in prompts
        assert "Cid" in prompts
        assert len(await ana.lab.rows("SELECT 1 FROM model_calls")) == calls


async def test_an_answer_about_someone_who_leaves_meanwhile_stays(database: Database, tmp_path: Path) -> None:
    async with playing(database, stages=stages(include_self=True), **a_cast(people=2)) as ana:
        eve = await ana.another("Eve")
        asked = (await ana.page("others"))["forms"][0]["form"]["properties"]
        await eve.post("/v1/me/leave", {})

        await ana.go_on("others", {name: 3 if name.endswith("trust") else True for name in asked})
        await ana.go_on("after")

        statuses = await ana.statuses()
        assert (statuses["Eve"], statuses["Ana"], statuses["Bob"]) == ("left", "completed", "completed")
        people = (await ana.page("others"))["view"]["people"]
        assert {person["name"] for person in people} == {"Ana", "Eve", "Bob", "Cid"}
        rows = await ana.data(tmp_path, "answers_about.csv")
        about_eve = [row for row in rows if row["about"] == "c1/m2"]
        assert {row["participant"] for row in about_eve} == {"c1/m1", "c1/m3"}
        assert {row["participant"] for row in rows if row["is_self"] == "true"} == {"c1/m1", "c1/m3"}
