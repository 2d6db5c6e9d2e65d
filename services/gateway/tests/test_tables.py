"""The tables of the data are those that the export writes, a page at a time."""

import asyncio
import csv
import io
import zipfile
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.base import csv_reading
from parley_lab.formats.exports import export, row_counts
from parley_lab.formats.importing import XLSX
from parley_lab.formats.testing.workbooks import base_values, xlsx_of
from parley_lab.gateway import tables
from parley_lab.gateway.testing import ANSWER, Api
from parley_lab.testing.statements import counted

pytestmark = pytest.mark.postgres


async def get(api: Api, path: str, **params: Any) -> Any:
    answer = await api.experimenter("GET", f"/v1/experiments/{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def exported(api: Api, experiment_id: str) -> dict[str, list[list[str]]]:
    archive = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export?format=csv")
    with zipfile.ZipFile(io.BytesIO(archive.content)) as files:
        return {
            name.removesuffix(".csv"): list(csv.reader(io.StringIO(files.read(name).decode("utf-8-sig"), newline="")))
            for name in files.namelist()
            if name.endswith(".csv")
        }


async def ended(api: Api) -> str:
    experiment_id = await api.running(cohorts=[{"count": 3, "seats": [{"open": True, "count": 2}]}])
    token = await api.join(experiment_id, 'Ada, of "Graz"')
    await api.advance(token, "welcome")
    await api.advance(token, "before", ANSWER)
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/end")
    return experiment_id


async def test_each_table_has_the_rows_of_its_file(api: Api) -> None:
    experiment_id = await ended(api)
    files = await exported(api, experiment_id)

    heads = (await get(api, f"{experiment_id}/tables"))["tables"]
    pages = {one["name"]: await get(api, f"{experiment_id}/tables/{one['name']}", limit=1000) for one in heads}

    assert {name: [page["columns"], *page["rows"]] for name, page in pages.items()} == files
    assert {one["name"]: one["rows"] for one in heads} == {name: len(rows) - 1 for name, rows in files.items()}


async def test_tables_of_two_folders_may_have_one_name(api: Api) -> None:
    stored = await api.experimenter(
        "POST", "/v1/experiments/import", content=xlsx_of(base_values()), headers={"Content-Type": XLSX}
    )
    experiment_id = stored.json()["experiments"][0]["id"]
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/start")
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/end")
    files = await exported(api, experiment_id)
    tidy = next(name for name in files if name.endswith("/tidy/answers"))

    heads = [one["name"] for one in (await get(api, f"{experiment_id}/tables"))["tables"]]
    page = await get(api, f"{experiment_id}/tables/{tidy}", limit=1000)
    quoted = await get(api, f"{experiment_id}/tables/{tidy.replace('/', '%2F')}", limit=1000)

    assert sorted(heads) == sorted(files)
    assert [page["columns"], *page["rows"]] == files[tidy] != files["answers"]
    assert quoted == page


async def test_rows_come_in_pages_and_by_their_values(api: Api) -> None:
    experiment_id = await ended(api)
    path = f"{experiment_id}/tables/participants"

    first = await get(api, path, limit=4)
    rest = await get(api, path, limit=4, after=first["next_after"])
    removed = await get(api, path, where=["path:c1/m1", "status:removed"])
    none = await get(api, path, where="path:c9/m9")
    refused = [
        await api.experimenter("GET", f"/v1/experiments/{experiment_id}/tables/{tail}")
        for tail in ("nothing", "participants?where=nothing:1", "..%2Fmanifest", "participants?where=x")
    ]

    assert [len(first["rows"]), len(rest["rows"]), rest["next_after"]] == [4, 2, None]
    assert (first["found"], removed["found"], none["rows"]) == (6, 1, [])
    assert [one.status_code for one in refused] == [404, 404, 404, 422]


async def test_a_table_has_cells_of_any_length(api: Api) -> None:
    experiment_id = await ended(api)
    async with api.database.transaction() as session:
        await session.run(
            text("UPDATE members SET profile = jsonb_set(profile, '{name}', to_jsonb(repeat('y', 200000)))")
        )

    pages = [await get(api, f"{experiment_id}/tables{tail}") for tail in ("", "/participants")]
    found = await get(api, f"{experiment_id}/charts")

    assert "y" * 200_000 in str(pages[1]["rows"])
    assert found["charts"]


async def test_a_table_is_taken_home_as_csv(api: Api) -> None:
    experiment_id = await ended(api)

    found = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/tables/participants?format=csv")

    assert found.headers["content-type"].startswith("text/csv")
    assert list(csv.reader(io.StringIO(found.text, newline=""))) == (await exported(api, experiment_id))["participants"]


async def test_a_table_as_csv_has_the_rows_that_were_asked_for(api: Api) -> None:
    experiment_id = await ended(api)
    path = f"{experiment_id}/tables/participants"
    wanted: dict[str, Any] = {"where": "status:removed", "after": 2}

    page = await get(api, path, limit=1000, **wanted)
    found = await api.experimenter("GET", f"/v1/experiments/{path}", params={"format": "csv", **wanted})
    missing = [
        await api.experimenter("GET", f"/v1/experiments/{experiment_id}/tables/{tail}")
        for tail in ("nothing?format=csv", "participants?format=csv&where=nothing:1")
    ]

    assert list(csv.reader(io.StringIO(found.text, newline=""))) == [page["columns"], *page["rows"]]
    assert len(page["rows"]) == page["found"] - 2 > 0
    assert [one.status_code for one in missing] == [404, 404]


async def test_a_long_table_is_sent_in_pieces_as_csv(api: Api) -> None:
    experiment_id = await ended(api)
    async with api.database.transaction() as session:
        await session.run(
            text("UPDATE members SET profile = jsonb_set(profile, '{name}', to_jsonb(repeat('y', 1000000)))")
        )
    path = f"/v1/experiments/{experiment_id}/tables/participants"
    pieces: list[bytes] = []

    async def send(message: Any) -> None:
        pieces.append(message.get("body", b""))

    async def receive() -> Any:
        await asyncio.Event().wait()

    headers = [(b"authorization", f"Bearer {api.key}".encode())]
    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "headers": headers}
    await api.app(scope | {"query_string": b"format=csv", "client": ("127.0.0.1", 1)}, receive, send)

    rows = list(csv_reading.reader(io.StringIO(b"".join(pieces).decode(), newline="")))
    assert [len(row) for row in rows] == [len(rows[0])] * 7
    assert 1_000_000 <= max(map(len, pieces)) < 2_500_000


async def test_the_pages_of_an_ended_experiment_cost_one_export(api: Api) -> None:
    experiment_id = await ended(api)
    await get(api, f"{experiment_id}/tables")

    with counted() as statements:
        await get(api, f"{experiment_id}/tables/messages")

    assert len(statements) <= 3


async def test_the_pages_are_read_anew_after_the_data_of_people_were_deleted(api: Api) -> None:
    experiment_id = await ended(api)
    before = await get(api, f"{experiment_id}/tables/participants")

    async with api.database.transaction() as session:
        await session.run(text("UPDATE members SET profile = jsonb_set(profile, '{name}', '\"Gone\"')"))
        await session.run(text("UPDATE experiments SET forgotten_at = now()"))
    after = await get(api, f"{experiment_id}/tables/participants")

    assert "Gone" not in str(before["rows"])
    assert "Gone" in str(after["rows"])


async def test_the_files_of_pages_are_deleted_after_a_while(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "KEPT_SECONDS", 0.0)
    is_deleted = asyncio.Event()

    class Folder(TemporaryDirectory[str]):
        def cleanup(self) -> None:
            super().cleanup()
            is_deleted.set()

    monkeypatch.setattr(tables, "TemporaryDirectory", Folder)
    await get(api, f"{await ended(api)}/tables")

    async with asyncio.timeout(10):
        await is_deleted.wait()


async def test_the_rows_of_each_chart_are_those_of_its_file(api: Api) -> None:
    experiment_id = await ended(api)
    files = await exported(api, experiment_id)

    heads = (await get(api, f"{experiment_id}/charts"))["charts"]
    found = [await get(api, f"{experiment_id}/charts/{one['id']}") for one in heads]
    missing = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/charts/nothing")

    assert heads[0]["id"] == "flow"
    for head, chart in zip(heads, found, strict=True):
        header, *lines = files[chart["table"]]
        places = [header.index(column) for column in chart["columns"]]
        written = Counter(tuple(line[place] for place in places) for line in lines)
        drawn = Counter(tuple(as_written(cell) for cell in row) for row in chart["rows"])
        assert drawn <= written
        assert len(chart["rows"]) == head["rows"] > 0
        assert chart["spec"]["data"] == {"name": "rows"}
    assert len(found[0]["rows"]) == len(files["participants"]) - 1
    assert missing.status_code == 404


async def test_long_tables_are_written_as_far_as_they_are_read(api: Api, tmp_path: Path) -> None:
    talk = {"id": "talk", "kind": "group_chat"}
    experiment_id = await api.running(stages=[talk], cohorts=[{"seats": [{"open": True}]}])
    token = await api.join(experiment_id, "Ada")
    await api.settle(experiment_id)
    thread = f"/v1/me/threads/{await api.thread(token)}/messages"
    for words in ("One.", "Two.", "Three."):
        said = await api.participant(token, "POST", thread, json={"text": words, "client_message_id": words})
        assert said.status_code == 201, said.text
    whole = (await exported(api, experiment_id))["messages"]

    await export(api.database, UUID(experiment_id), tmp_path, api.clock.now(), formats=("csv",), most_rows=2)

    with (tmp_path / "messages.csv").open(newline="") as file:
        assert list(csv.reader(file)) == whole[:3]
    assert row_counts(tmp_path)["messages.csv"] == 3


def as_written(cell: str | float | None) -> str:
    return "" if cell is None else f"{cell:g}" if isinstance(cell, float | int) else cell
