"""Numbers that belong together, answered by a person, an agent with the mock and a script; and numbers in a check."""

from pathlib import Path
from typing import Any

import pytest

from parley_lab.store.session import Database
from tests.flows.playing import a_cast, pages, playing

pytestmark = pytest.mark.postgres

SHARE = {"kind": "number", "minimum": 0, "integer": True, "group": "shares"}
STAGES: list[dict[str, Any]] = [
    {
        "id": "check",
        "kind": "comprehension",
        "questions": [{"id": "three", "kind": "number", "title": "How much is 4, tripled?", "correct": 12}],
    },
    {
        "id": "money",
        "kind": "survey",
        "groups": {"shares": {"total": {"equals": 100}}},
        "questions": [
            {**SHARE, "id": "rent", "title": "Rent?"},
            {**SHARE, "id": "food", "title": "Food?"},
            {**SHARE, "id": "rest", "title": "The rest?"},
            {"id": "sent", "kind": "number", "title": "Sent?", "minimum": 0, "maximum": 10, "integer": True},
            {"id": "back", "kind": "number", "title": "Back?", "minimum": 0, "maximum": {"question": "sent"}},
            {
                "id": "split",
                "kind": "grid",
                "title": "Split?",
                "upper": 10,
                "rows": [{"id": "me", "text": "Me"}, {"id": "you", "text": "You"}],
                "total": {"equals": 10},
            },
        ],
    },
]
GOOD = {"rent": 50, "food": 30, "rest": 20, "sent": 5, "back": 5, "split": {"me": 10, "you": 0}}


async def test_numbers_of_all_who_take_part_fit_together(database: Database, tmp_path: Path) -> None:
    scripts = {"money": {"policy": "random"}}
    async with playing(database, stages=STAGES, **a_cast(scripts=scripts)) as ana:
        form = (await ana.page("check"))["forms"][0]
        path = f"/v1/me/asks/{form['ask_id']}/answer"
        await ana.post(path, {"answer": {"three": 12}})
        await ana.go_on("check")
        schema = (await ana.page("money"))["forms"][0]["form"]
        assert schema["x-totals"][0]["fields"] == ["rent", "food", "rest"]
        await ana.go_on("money", {**GOOD, "rent": 51}, 422)
        await ana.go_on("money", {**GOOD, "back": 6}, 422)
        await ana.go_on("money", {**GOOD, "split": {"me": 10, "you": 1}}, 422)
        await ana.go_on("money", GOOD)

        assert set((await ana.statuses()).values()) == {"completed"}
        for page in (await pages(ana.lab, "money")).values():
            assert page["rent"] + page["food"] + page["rest"] == 100
            assert page["back"] <= page["sent"]
            assert sum(page["split"].values()) == 10
        assert "numbers that add up to exactly 100" in await ana.prompts("Bob", "money")
