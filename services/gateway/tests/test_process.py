"""How answers came about, where an experiment records it, and where texts may not be pasted."""

import csv
import io
import zipfile
from typing import Any, Final

import pytest

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


async def answers_of(api: Api, experiment_id: str) -> list[dict[str, str]]:
    exported = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export")
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        (name,) = [one for one in archive.namelist() if one.endswith("answers.csv")]
        return list(csv.DictReader(io.StringIO(archive.read(name).decode())))


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
    for record in ("process", None):
        experiment_id = await api.running(stages=STAGES, record=record)
        experiment = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}")).json()
        codes.append((await api.participant("none", "GET", f"/v1/join/{experiment['join_code']}")).json()["record"])

    assert codes == ["process", None]
