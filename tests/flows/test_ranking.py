"""A ranking from the first order to the winner: who can be ranked, when it is known, and who waits for it."""

from pathlib import Path

import pytest

from parley_lab.store.session import Database
from tests.flows.playing import a_cast, playing

pytestmark = pytest.mark.postgres

BEFORE = {"id": "before", "kind": "survey", "questions": [{"id": "leads", "kind": "check", "title": "Will you lead?"}]}
LAST = {"id": "last", "kind": "info", "lines": ["Thank you."]}
ITEMS = {"rank": "items", "items": [{"id": "bus", "text": "Buses"}, {"id": "tram", "text": "Trams"}]}


async def test_a_person_an_agent_and_a_script_rank_items_and_one_wins(database: Database, tmp_path: Path) -> None:
    stages = [{"id": "vote", "kind": "ranking", "question": "Which first?", **ITEMS}, LAST]
    cast = a_cast(scripts={"ranking": {"answers": {"ranking": ["tram", "bus"]}}})

    async with playing(database, stages=stages, **cast) as ana:
        page = await ana.page("vote")
        assert [one["text"] for one in page["view"]["candidates"]] == ["Buses", "Trams"]
        refused = await ana.go_on("vote", {"ranking": ["tram", "tram"]}, 422)
        assert [problem["where"] for problem in refused["problems"]] == ["ranking"]
        prompt = await ana.prompts("Bob", "vote")
        for fact in (page["view"]["question"], *(one["text"] for one in page["view"]["candidates"])):
            assert fact in prompt
        assert (await ana.lab.rows("SELECT result FROM cohort_stages WHERE stage_id = 'vote'"))[0].result is None
        await ana.go_on("vote", {"ranking": ["tram", "bus"]})
        await ana.go_on("last")
        seen = str(await ana.page("vote"))
        rows = await ana.data(tmp_path, "participants.csv")
        places = await ana.data(tmp_path, "rankings.csv")
        statuses = await ana.statuses()

    assert set(statuses.values()) == {"completed"}
    assert "winner" not in seen
    assert {(row["vote.winner"], row["vote.winner.text"]) for row in rows} == {("tram", "Trams")}
    assert [(row["vote.tram"], row["name"]) for row in rows if row["name"] != "Bob"] == [("1", "Ana"), ("1", "Cid")]
    assert {row["candidate"] for row in places if row["is_winner"] == "true"} == {"tram"}


async def test_only_who_said_so_before_can_be_elected_and_the_vote_waits_for_all(
    database: Database, tmp_path: Path
) -> None:
    rule = {"stage": "before", "question": "leads", "value": True}
    vote = {"id": "vote", "kind": "ranking", "eligible": rule, "progress": {"wait_for_all": False}}
    cast = a_cast(people=2, scripts={"survey": {"answers": {"leads": True}}})

    async with playing(database, stages=[BEFORE, vote, LAST], **cast) as ana:
        eve = await ana.another("Eve")
        await ana.go_on("before", {"leads": True})
        assert (await ana.page("vote"))["state"] == "waiting"
        await eve.go_on("before", {"leads": False})
        shown = (await ana.page("vote"))["view"]["candidates"]
        assert {"Ana", "Eve"}.isdisjoint(one["text"] for one in shown)
        by_name = {one["text"]: one["id"] for one in (await eve.page("vote"))["view"]["candidates"]}
        assert "Ana" in by_name
        herself = (await eve.me())["member_id"]
        refused = await eve.go_on("vote", {"ranking": [herself, *by_name.values()][: len(by_name)]}, 422)
        assert refused["problems"][0]["where"] == "ranking"
        await eve.go_on("vote", {"ranking": [by_name.pop("Ana"), *by_name.values()]})
        await ana.go_on("vote", {"ranking": [one["id"] for one in shown]})
        result = (await ana.lab.rows("SELECT result FROM cohort_stages WHERE stage_id = 'vote'"))[0].result

    assert result["winner"] is not None
    assert result["winner"] in result["tied"]


async def test_who_leaves_does_not_hold_up_the_vote(database: Database) -> None:
    rule = {"stage": "before", "question": "leads", "value": True}
    vote = {"id": "vote", "kind": "ranking", "eligible": rule, "self_vote": True}

    async with playing(database, stages=[BEFORE, vote, LAST], **a_cast(people=2)) as ana:
        eve = await ana.another("Eve")
        await ana.go_on("before", {"leads": True})
        assert (await ana.page("vote"))["state"] == "waiting"
        await eve.post("/v1/me/leave", {})
        page = await ana.page("vote")
        assert page["state"] == "current"
        assert "Ana" in [one["text"] for one in page["view"]["candidates"]]
