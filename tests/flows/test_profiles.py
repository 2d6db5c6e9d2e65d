"""Profiles: chosen by people over REST, by agents with the mock and by scripts, or drawn for all of them."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from parley_lab.gateway.testing import assert_described
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab, empty
from tests.flows.playing import pages, playing, statuses

pytestmark = pytest.mark.postgres

FILE = """
stages:
  - {id: who, kind: profile, set: SET}
  - {id: after, kind: info, lines: [Thank you.]}
personas:
  - {id: abe, profile: {name: Abe}}
  - {id: cy, profile: {name: Cy}, player: script, script: {who: SCRIPT}}
cohorts:
  - {seats: [{persona: abe}, {persona: cy}, {open: true}]}
  - {seats: [{persona: cy}, {persona: cy}]}
"""


def document(name: str, script: str = "{answers: {name: Kim}}") -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(FILE.replace("SET", name).replace("SCRIPT", script))
    return found


async def profiles(lab: DrainLab) -> dict[str, dict[str, str]]:
    return {row.path: row.profile for row in await lab.rows("SELECT path, profile FROM members ORDER BY path")}


async def test_people_agents_and_scripts_choose_how_the_others_know_them(database: Database) -> None:
    async with playing(database, **document("gendered")) as ana:
        form = (await ana.page("who"))["forms"][0]["form"]
        avatars = [option["const"] for option in form["properties"]["avatar"]["oneOf"]]

        refused = await ana.go_on("who", {"name": "Pia", "avatar": "🦊"}, 422)
        page = await ana.go_on("who", {"name": "Pi", "avatar": avatars[2], "pronouns": "she/her"})
        await ana.go_on("after")

        assert refused["problems"][0]["where"] == "avatar"
        assert page["me"]["profile"] == {"name": "Pi", "avatar": avatars[2], "pronouns": "she/her"}
        assert set((await statuses(ana.lab)).values()) == {"completed"}
        stored = await pages(ana.lab, "who")
        known = await profiles(ana.lab)
        assert known.pop("c2/m2") == {**stored.pop("c2/m2"), "name": "Kim 2"}
        assert known == stored
        assert [stored[path]["name"] for path in ("c1/m1", "c1/m2", "c1/m3", "c2/m1")] == ["Abe", "Kim", "Pi", "Kim"]
        assert all(profile["avatar"] in avatars for profile in stored.values())
        prompt = (await ana.lab.calls())[0].prompt[1]["content"]
        assert all(avatar in prompt for avatar in avatars)


async def test_names_that_are_drawn_are_of_each_seat_and_cost_no_call(database: Database) -> None:
    async with playing(database, **document("animals", "{policy: random}")) as ana:
        shown = (await ana.page("who"))["view"]

        await ana.go_on("who")
        await ana.go_on("after")

        found = await profiles(ana.lab)
        assert found == await pages(ana.lab, "who")
        assert {name: shown[name] for name in ("name", "avatar", "pronouns")} == found["c1/m3"]
        assert len({found[f"c1/m{number}"]["name"] for number in (1, 2, 3)}) == 3
        assert await ana.lab.rows("SELECT 1 FROM model_calls") == []


async def test_names_that_are_drawn_are_in_the_language_of_the_file(database: Database) -> None:
    async with playing(database, language="de-CH", **document("numbers", "{policy: random}")) as ana:
        shown = (await ana.page("who"))["view"]
        await ana.go_on("who")

        found = await profiles(ana.lab)

    assert shown["name"] == found["c1/m3"]["name"]
    assert {one["name"].rpartition(" ")[0] for one in found.values()} == {"Person"}


async def test_a_profile_that_changes_is_an_event_for_the_streams_of_the_cohort(database: Database) -> None:
    async with playing(database, **document("animals")) as ana:
        await ana.go_on("who")

        rows = await ana.lab.rows("SELECT * FROM events WHERE type = 'member.profile_changed'")
        assert {row.actor: row.public["profile"] for row in rows} == await profiles(ana.lab)
        for row in rows:
            head = {"type": row.type, "cohort_id": str(row.cohort_id), "stream_seq": row.stream_seq}
            event = {**head, "at": row.at.isoformat(), "data": row.public}
            assert row.audience is None
            assert_described(json.loads(json.dumps(event)), is_member=True)


@pytest.mark.parametrize("one_by_one", quick_first([False, True], 1))
@pytest.mark.parametrize("seed", quick_first(range(3), 1))
async def test_names_are_the_same_in_every_order_and_way_of_playing(
    database: Database, seed: int, one_by_one: bool
) -> None:
    scripts = f"parley: 1\nname: Names\nseed: 3{FILE}".replace("{open: true}", "{persona: abe}")
    straight = DrainLab(database)
    await straight.start(scripts.replace("SET", "nature").replace("SCRIPT", "{policy: random}"))
    await straight.drain()
    expected = await profiles(straight)
    await empty(database)
    wild = DrainLab(database, deliveries=2, together=4, rng=Random(seed), one_by_one=one_by_one)

    await wild.start(scripts.replace("SET", "nature").replace("SCRIPT", "{policy: random}"))
    await wild.drain()

    assert await profiles(wild) == expected
    assert set((await statuses(wild)).values()) == {"completed"}


async def test_what_was_said_keeps_the_name_under_which_it_was_said(database: Database, tmp_path: Path) -> None:
    file = {
        "stages": [{"id": "talk", "kind": "group_chat"}, {"id": "who", "kind": "profile", "set": "free"}],
        "cohorts": [{"seats": [{"open": True}]}],
    }
    async with playing(database, **file) as ana:
        thread = f"/v1/me/threads/{(await ana.page('talk'))['thread']['id']}/messages"
        await ana.post(thread, {"text": "Hello", "client_message_id": "1"}, 201)
        await ana.go_on("talk")
        await ana.go_on("who", {"name": "Bea"})
        said = await ana.data(tmp_path, "messages.csv")
        people = await ana.data(tmp_path, "participants.csv")

    assert [row["author_name"] for row in said if row["author_path"]] == ["Ana"]
    assert [row["name"] for row in people] == ["Bea"]


@pytest.mark.parametrize("one_by_one", quick_first([False, True], 1))
async def test_names_that_are_drawn_differ_though_others_have_them_from_before(
    database: Database, one_by_one: bool
) -> None:
    twice = "{id: who, kind: profile, set: numbers}, {id: now, kind: profile, set: numbers}"
    lab = DrainLab(database, one_by_one=one_by_one)
    await lab.start(
        f"parley: 1\nname: Names\nseed: 3\nstages: [{twice}]\n"
        "personas: [{id: cy, profile: {name: ''}, player: script, script: {}}]\n"
        "cohorts: [{seats: [{persona: cy, count: 60}]}]\n"
    )
    await lab.drain()

    names = {found["name"] for found in (await profiles(lab)).values()}
    assert len(names) == 60
    assert all(name.startswith("Participant ") and "(" not in name for name in names)
