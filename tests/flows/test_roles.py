"""Roles of a person, an agent and a script, and of who comes late."""

from collections import Counter
from pathlib import Path

import pytest

from parley_lab.store.session import Database
from tests.flows.playing import a_cast, playing

pytestmark = pytest.mark.postgres

ROLES = {
    "id": "parts",
    "kind": "role",
    "roles": [
        {"id": "chair", "name": "Chair", "lines": ["Open the talk."], "min_participants": 1, "max_participants": 1},
        {"id": "member", "name": "Member", "lines": ["Take part."]},
    ],
}
ASKED = {"id": "asked", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why?"}]}


async def test_a_person_an_agent_and_a_script_have_a_role_each(database: Database, tmp_path: Path) -> None:
    async with playing(
        database, stages=[ROLES, ASKED], **a_cast(scripts={"survey": {"answers": {"why": "So."}}})
    ) as ana:
        shown = (await ana.page("parts"))["view"]["role"]
        prompt = await ana.prompts("Bob", "asked")
        await ana.go_on("parts")
        await ana.go_on("asked", {"why": "Because."})
        rows = {row["name"]: row for row in await ana.data(tmp_path, "participants.csv")}
        statuses = await ana.statuses()

    assert set(statuses.values()) == {"completed"}
    assert Counter(row["parts.role"] for row in rows.values()) == {"chair": 1, "member": 2}
    assert shown["id"] == rows["Ana"]["parts.role"]
    lines = {"chair": "Open the talk.", "member": "Take part."}
    assert shown["lines"] == [lines[shown["id"]]]
    of_bob = rows["Bob"]["parts.role"]
    assert f"Your role: {rows['Bob']['parts.name']}.\n\n{lines.pop(of_bob)}" in prompt
    assert not [line for line in lines.values() if line in prompt]


async def test_who_comes_late_to_an_open_stage_has_a_role_too(database: Database) -> None:
    open_at_once = {**ROLES, "progress": {"wait_for_all": False}}
    before = {**ASKED, "id": "before"}

    async with playing(database, stages=[before, open_at_once], **a_cast(people=2)) as ana:
        await ana.go_on("before", {"why": "Because."})
        assert (await ana.page("parts"))["view"]["is_drawn"]
        eve = await ana.another("Eve")
        await eve.go_on("before", {"why": "Because."})
        assert (await eve.page("parts"))["view"]["is_drawn"]
        await ana.go_on("parts")
        await eve.go_on("parts")
        statuses = await ana.statuses()
        drawn = (await ana.lab.rows("SELECT draws FROM cohort_stages WHERE stage_id = 'parts'"))[0].draws

    assert set(statuses.values()) == {"completed"}
    assert Counter(drawn.values()) == {"chair": 1, "member": 3}
