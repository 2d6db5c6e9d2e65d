"""Rows of a person who moves to an arm with other rows, and of a person who is forgotten."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from parley_lab.members.forgetting import forget
from parley_lab.members.standings import lock_standing
from parley_lab.people import transferring
from parley_lab.store.session import Database
from tests.flows.playing import Person, playing

pytestmark = pytest.mark.postgres

OPTIONS = [{"id": letter, "text": f"{{{{row.{letter}}}}}"} for letter in "ab"]
STAGES: list[dict[str, Any]] = [
    {
        "id": "guesses",
        "kind": "survey",
        "rows": {"shuffle": True, "levels": {"size": ["low", "high"]}, "items": [{"id": "sea", "low": 1, "high": 2}]},
        "questions": [{"id": "guess", "kind": "number", "title": "{{row.id}} more than {{row.size}}?"}],
    },
    {
        "id": "flats",
        "kind": "survey",
        "rows": {"attributes": {"rent": [1, 2]}, "shuffle": True},
        "questions": [{"id": "pick", "kind": "choice", "title": "Which?", "options": OPTIONS}],
    },
    {"id": "told", "kind": "info", "lines": ["You said {{answers.flats.1.pick.text}}."]},
    {
        "id": "again",
        "kind": "survey",
        "show_if": {"stage": "flats", "question": "1.pick", "value": "a"},
        "rows": [{"id": "x", "what": "this"}],
        "questions": [{"id": "much", "kind": "number", "title": "{{row.what}}?"}],
    },
]
OTHER_ROWS: dict[str, Any] = {
    "guesses": {"rows": {"items": [{"id": "lake", "low": 3, "high": 4}]}},
    "flats": {"rows": {"attributes": {"size": [3, 4]}}},
    "again": {"rows": [{"id": "y", "what": "that"}]},
}
FILE: dict[str, Any] = {
    "stages": STAGES,
    "pace": "live",
    "treatments": [{"id": "one"}, {"id": "other", "stages": OTHER_ROWS}],
    "cohorts": [{"treatment": arm, "seats": [{"open": True, "count": 2}]} for arm in ("one", "other")],
    "joining": "by_arrival",
}


async def answer_both(ana: Person) -> str:
    """Ana answers both surveys; the title of what she was asked about the sea."""
    shown = (await ana.page("guesses"))["view"]["questions"]
    await ana.go_on("guesses", {"sea.guess": 7})
    await ana.go_on("flats", {"1.pick": "a"})
    return str(shown[0]["title"])


async def test_a_page_keeps_the_rows_of_the_arm_in_which_it_was_answered(database: Database, tmp_path: Path) -> None:
    async with playing(database, **FILE) as ana:
        title = await answer_both(ana)
        (seat,) = await ana.lab.rows("SELECT id FROM members WHERE path = 'c1/m1'")
        (target,) = await ana.lab.rows("SELECT id FROM cohorts WHERE path = 'c2'")
        async with database.transaction() as session:
            standing = await lock_standing(session, seat.id)
            now = ana.lab.clock.now()
            await transferring.offer(session, standing, target.id, now, seconds=60, actor="Ellen")
        await ana.post("/v1/me/transfer", {"accept": True})
        ana.lab.clock.advance(1)

        told = (await ana.page("told"))["view"]["lines"]
        await ana.go_on("told")
        again = (await ana.page("again"))["view"]["questions"]
        await ana.go_on("again", {"y.much": 3})
        (wide,) = [row for row in await ana.data(tmp_path, "participants.csv") if row["name"] == "Ana"]
        long = {row["field"]: row for row in await ana.data(tmp_path, "answers.csv")}
        profiles = await ana.data(tmp_path, "profiles_flats.csv")

    assert [line["treatment"] for line in profiles] == ["one", "one"]
    assert [line["chosen"] for line in profiles] == ["true", "false"]
    assert all(line["rent"] and not line["size"] for line in profiles)
    assert told == [f"You said rent: {profiles[0]['rent']}."]
    assert [one["title"] for one in again] == ["that?"]
    assert (wide["guesses.sea.guess"], wide["flats.1.pick"], wide["again.y.much"]) == ("7", "a", "3")
    assert wide["flats.1.pick.text"] == f"rent: {profiles[0]['rent']}"
    assert (long["sea.guess"]["label"], long["sea.guess"]["treatment"]) == (title, "one")
    assert long["sea.guess"]["level.size"] == wide["guesses.sea.size"] != ""
    assert (long["y.much"]["row"], long["y.much"]["treatment"]) == ("y", "other")


async def test_nothing_of_rows_is_left_of_a_person_who_is_forgotten(database: Database, tmp_path: Path) -> None:
    async with playing(database, **FILE) as ana:
        await answer_both(ana)
        async with database.transaction() as session:
            (seat,) = await session.all(text("SELECT id, path FROM members WHERE path = 'c1/m1'"))
            await forget(session, seat.id, seat.path, "Ana")

        wide = await ana.data(tmp_path, "participants.csv")
        long = await ana.data(tmp_path, "answers.csv")
        profiles = await ana.data(tmp_path, "profiles_flats.csv")

    assert long == profiles == []
    assert {cell for row in wide for name, cell in row.items() if name.startswith(("guesses.", "flats."))} == {""}
