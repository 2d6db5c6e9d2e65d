"""How answers came about, where an experiment records it, and where texts may not be pasted."""

import asyncio
import csv
import io
import json
import zipfile
from typing import Any, Final

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import Api

pytestmark = pytest.mark.postgres

STAGES: Final[list[dict[str, Any]]] = [
    {
        "id": "ask",
        "kind": "survey",
        "questions": [
            {"id": "why", "kind": "text", "title": "Why?", "paste": "allowed"},
            {"id": "how", "kind": "text", "title": "How?"},
        ],
    },
    {"id": "bye", "kind": "info", "lines": ["Thank you."]},
]
TYPED: Final = {"pasted_characters": 0, "keys": 12, "out_of_focus": 0, "seconds": 4.5}
PASTED: Final = {"pasted_characters": 40, "keys": 2, "out_of_focus": 1, "seconds": 1.5}


async def read_export(api: Api, experiment_id: str) -> dict[str, str]:
    """The text of each data file."""
    answer = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return {name.rpartition("/")[2]: archive.read(name).decode() for name in archive.namelist()}


async def rows_of(api: Api, experiment_id: str, file: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((await read_export(api, experiment_id))[file])))


async def answers_of(api: Api, experiment_id: str) -> list[dict[str, str]]:
    return await rows_of(api, experiment_id, "answers.csv")


async def say_how(api: Api, token: str) -> int:
    body = {"key": "", "questions": {"why": TYPED, "how": PASTED, "": {**PASTED, "keys": 14, "seconds": 9}}}
    return (await api.participant(token, "PUT", "/v1/me/stages/ask/process", json=body)).status_code


async def test_how_each_answer_came_about_is_in_its_row(api: Api) -> None:
    experiment_id = await api.running(stages=STAGES, record="process", paste="refused")
    token = await api.join(experiment_id)
    page = (await api.participant(token, "GET", "/v1/me/stages/ask")).json()

    told = [await say_how(api, token) for _ in range(2)]
    await api.advance(token, "ask", {"why": "Because", "how": "By bus"})
    late = await say_how(api, token)

    assert (page["record"], page["paste"]) == ("process", "refused")
    assert [one.get("x-paste") for one in page["forms"][0]["form"]["properties"].values()] == ["allowed", None]
    assert (told, late) == ([204, 204], 409)
    found = [{name: row[name] for name in ("field", *TYPED)} for row in await answers_of(api, experiment_id)]
    assert found == [
        {"field": "why", "pasted_characters": "0", "keys": "12", "out_of_focus": "0", "seconds": "4.5"},
        {"field": "how", "pasted_characters": "40", "keys": "2", "out_of_focus": "1", "seconds": "1.5"},
    ]


async def test_nothing_is_recorded_where_the_file_does_not_ask_for_it(api: Api) -> None:
    experiment_id = await api.running(stages=STAGES)
    token = await api.join(experiment_id)

    told = await say_how(api, token)
    await api.advance(token, "ask", {"why": "Because", "how": "By bus"})

    assert told == 204
    assert "keys" not in (await answers_of(api, experiment_id))[0]


async def test_the_page_before_people_join_says_that_it_is_recorded(api: Api) -> None:
    codes = []
    of_one_stage = [STAGES[0], {**STAGES[1], "record": "process"}]
    arm = {"id": "seen", "stages": {"ask": {"record": "process"}}}
    for study in ({"record": "process"}, {}, {"stages": of_one_stage}, {"treatments": [arm, {"id": "unseen"}]}):
        experiment_id = await api.running(**{"stages": STAGES, **study})
        experiment = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}")).json()
        codes.append((await api.participant("none", "GET", f"/v1/join/{experiment['join_code']}")).json()["record"])

    assert codes == ["process", None, "process", "process"]


async def test_how_each_message_came_about_is_in_its_row(api: Api) -> None:
    talk = {"id": "talk", "kind": "group_chat"}
    alone = [{"seats": [{"open": True}]}]
    ids = [await api.running(stages=[{**talk, "record": record}], cohorts=alone) for record in ("process", None)]
    for experiment_id in ids:
        token = await api.join(experiment_id)
        await api.settle(experiment_id)
        thread = await api.thread(token)
        for key in ("told", "silent"):
            if key == "told":
                body = {"key": f"message:{key}", "questions": {"": PASTED}}
                told = await api.participant(token, "PUT", "/v1/me/stages/talk/process", json=body)
                assert told.status_code == 204
            words = {"text": key, "client_message_id": key}
            await api.participant(token, "POST", f"/v1/me/threads/{thread}/messages", json=words)

    recorded, other = [await read_export(api, experiment_id) for experiment_id in ids]

    lines = list(csv.DictReader(io.StringIO(recorded["messages.csv"])))
    assert [{name: line[name] for name in ("text", *PASTED)} for line in lines if line["author_path"]] == [
        {"text": "told", "pasted_characters": "40", "keys": "2", "out_of_focus": "1", "seconds": "1.5"},
        {"text": "silent", **dict.fromkeys(PASTED, "")},
    ]
    data = json.loads(recorded["data.json"])
    assert [line.get("process") for line in data["messages"] if line["author_path"]] == [PASTED, None]
    assert data["answer_processes"] == []
    assert "keys" not in other["messages.csv"].partition("\n")[0].split(",")
    assert all("process" not in line for line in json.loads(other["data.json"])["messages"])


async def waits(api: Api) -> bool:
    """Whether a statement waits for a lock."""
    query = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with api.database.transaction() as session:
        return await session.first(text(query)) is not None


async def test_nothing_is_recorded_of_a_person_whose_answers_are_being_deleted(api: Api) -> None:
    experiment_id = await api.running(stages=STAGES, record="process")
    token = await api.join(experiment_id)

    async with api.database.transaction() as session:
        await session.run(text("UPDATE members SET status = 'declined' WHERE status = 'in_progress'"))
        await session.run(text("DELETE FROM answer_processes"))
        telling = asyncio.create_task(say_how(api, token))
        while not telling.done() and not await waits(api):
            pass

    assert await telling == 409
    async with api.database.transaction() as session:
        assert await session.all(text("SELECT 1 FROM answer_processes")) == []
