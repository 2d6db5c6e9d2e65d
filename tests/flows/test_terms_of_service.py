"""Terms to agree to: people over REST, agents with the mock and scripts accept or decline, and are out."""

from typing import Any
from uuid import UUID

import pytest
import yaml

from parley_lab.base.errors import InvalidInput
from parley_lab.design import load
from parley_lab.members.standings import lock_standing
from parley_lab.people.notices import ask_for_help, send_notice
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab
from tests.flows.playing import pages, playing, statuses

pytestmark = pytest.mark.postgres

FILE = """
stages:
  - {id: hello, kind: survey, questions: [{id: why, kind: text, title: Reason}]}
  - {id: terms, kind: terms_of_service, lines: [Be kind.], delete_when_declined: DELETES}
  - {id: after, kind: info, lines: [Thank you.]}
personas:
  - {id: abe, profile: {name: Abe}}
  - {id: bo, profile: {name: Bo}, script: {terms: {accept: false}}}
  - {id: cy, profile: {name: Cy}, player: script}
  - {id: di, profile: {name: Di}, player: script, script: {terms_of_service: {accept: false}}}
cohorts:
  - {seats: [{persona: abe}, {persona: bo}, {persona: cy}, {persona: di}, {open: true}]}
  - {seats: [{persona: cy}, {persona: di}]}
"""
ENDS = {"c1/m1": "completed", "c1/m2": "declined", "c1/m3": "completed", "c1/m4": "declined"}


def document(*, deletes: bool) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(FILE.replace("DELETES", str(deletes).lower()))
    return found


async def test_people_agents_and_scripts_accept_unless_they_say_otherwise(database: Database) -> None:
    async with playing(database, **document(deletes=False)) as ana:
        await ana.go_on("hello", {"why": "Curious"})

        refused = await ana.go_on("terms", {}, 422)
        page = await ana.go_on("terms", {"accepted": True})
        await ana.go_on("after")

        assert refused["problems"][0]["where"] == "accepted"
        assert page["page"]["stage_id"] == "after"
        ends = {**ENDS, "c1/m5": "completed", "c2/m1": "completed", "c2/m2": "declined"}
        assert await statuses(ana.lab) == ends
        assert (await pages(ana.lab, "terms"))["c1/m2"] == {"accepted": False}
        assert (await ana.lab.rows("SELECT count(*) AS n FROM model_calls WHERE path LIKE '%/terms/%'"))[0].n == 0


async def test_who_declines_is_out_and_told_so(database: Database) -> None:
    async with playing(database, **document(deletes=False)) as ana:
        await ana.go_on("hello", {"why": "Curious"})

        page = await ana.go_on("terms", {"accepted": False})

        assert (page["me"]["status"], page["page"]) == ("declined", None)
        assert (await pages(ana.lab, "hello"))["c1/m5"] == {"why": "Curious"}
        events = await ana.lab.rows("SELECT type, public FROM events WHERE actor = 'c1/m5' ORDER BY seq")
        assert events[-1].type == "member.declined"
        assert "reason" not in events[-1].public


async def test_what_was_stored_of_who_declines_is_deleted_where_the_file_says_so(database: Database) -> None:
    async with playing(database, **document(deletes=True)) as ana:
        await ana.go_on("hello", {"why": "anas-word"})

        await ana.go_on("terms", {"accepted": False})

        lab = ana.lab
        kept = {row.path for row in await lab.rows("SELECT m.path FROM answers a JOIN members m ON m.id = a.member_id")}
        assert not {"c1/m2", "c1/m4", "c1/m5", "c2/m2"} & kept
        assert {"c1/m1", "c1/m3"} <= kept
        names = {row.path: row.name for row in await lab.rows("SELECT path, profile ->> 'name' AS name FROM members")}
        assert (names["c1/m5"], names["c1/m4"], names["c2/m2"]) == ("Participant 5", "Participant 4", "Participant 2")
        assert names["c1/m1"] == "Abe"
        assert "anas-word" not in str(await everything(lab))


async def everything(lab: DrainLab) -> list[Any]:
    """Every row of every table that may hold something about a member."""
    tables = (
        "members", "answers", "messages", "events", "asks", "drafts", "outbox", "alerts", "notices", "sittings",
        "partial_answers",
    )  # fmt: skip
    return [row for table in tables for row in await lab.rows(f"SELECT * FROM {table}")]  # noqa: S608


async def test_words_that_were_said_are_deleted_where_they_are_and_where_they_are_quoted(database: Database) -> None:
    talk = """
pace: live
stages:
  - {id: talk, kind: group_chat}
  - {id: terms, kind: terms_of_service, lines: [Be kind.], delete_when_declined: true}
cohorts: [{seats: [{open: true, count: 2}]}]
"""
    async with playing(database, **yaml.safe_load(talk)) as ana:
        ria = await ana.another("Ria")
        thread = f"/v1/me/threads/{(await ana.page('talk'))['thread']['id']}/messages"
        said = await ana.post(thread, {"text": "anas-word", "client_message_id": "1"}, 201)
        await ria.post(thread, {"text": "rias-word", "client_message_id": "2", "reply_to": said["id"]}, 201)
        async with database.transaction() as session:
            standing = await lock_standing(session, UUID((await ana.me())["member_id"]))
            await ask_for_help(session, standing, "anas-word, please", ana.lab.clock.now())
            await send_notice(session, standing, "You said anas-word", ana.lab.clock.now(), sent_by="lab staff")
        await ana.go_on("talk")

        await ana.go_on("terms", {"accepted": False})

        found = str(await everything(ana.lab))
        assert ("anas-word" in found, "'Ana'" in found, "rias-word" in found) == (False, False, True)
        assert "Ana has left" not in found
        heard = await ria.messages(thread)
        assert [message["text"] for message in heard if message["author"]] == ["[deleted]", "rias-word"]
        assert heard[1]["quote"]["text"] == "[deleted]"


def test_a_script_that_says_something_else_is_refused() -> None:
    wrong = FILE.replace("terms: {accept: false}", "terms: {accept: perhaps}").replace("DELETES", "false")

    with pytest.raises(InvalidInput) as refused:
        load(f"parley: 1\nname: Terms\nseed: 3{wrong}", "test.yaml")

    assert refused.value.problems[0].where.startswith("personas[1]")
