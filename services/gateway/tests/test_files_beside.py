"""Tables and pictures beside the text of an experiment: sent in a form or a zip, stored, checked, seen and run."""

import io
import json
import time
import zipfile
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from parley_lab.design.parsing import parse
from parley_lab.gateway import reading
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.gateway.testing import Api
from parley_lab.store import keys
from parley_lab.testing.statements import counted

pytestmark = pytest.mark.postgres

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(200))
TABLE = b"id,name,town\nana,Ana,Berlin\nbo,Bo,Bonn\n"
TEXT = """# With a table and a picture
parley: 1
name: Beside
personas_from:
  file: people.csv
  each: {text: "You live in {{town}}."}
stages:
  - id: look
    kind: info
    lines: ["Look."]
    media: [{file: pictures/map.png, alt: A map}]
cohorts:
  - seats: [{each_row: true}, {open: true}]
"""
FILES = {"people.csv": TABLE, "pictures/map.png": PNG}
PARSED = parse(TEXT, "experiment.yaml")


async def send(
    api: Api, method: str, path: str, text: str = TEXT, files: Mapping[str, bytes] = FILES, **more: Any
) -> httpx2.Response:
    parts = [("experiment", ("study.yaml", text.encode()))]
    return await api.experimenter(
        method, path, files=[*parts, *(("file", (name, content)) for name, content in files.items())], **more
    )


async def store(api: Api) -> str:
    made = await send(api, "POST", "/v1/experiments")
    assert made.status_code == 201, made.text
    return f"/v1/experiments/{made.json()['id']}"


async def names(api: Api, address: str) -> list[str]:
    found = (await api.experimenter("GET", f"{address}/source")).json()
    return [one["name"] for one in found["files"]]


def pack(files: Mapping[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, held in files.items():
            archive.writestr(name, held)
    return content.getvalue()


async def as_zip(api: Api, path: str, files: Mapping[str, bytes]) -> httpx2.Response:
    headers = {"Content-Type": "application/zip"}
    return await api.experimenter("POST", path, content=pack(files), headers=headers)


async def test_a_fork_has_the_tables_and_pictures_beside_its_text(api: Api) -> None:
    address = await store(api)

    forked = (await api.experimenter("POST", f"{address}/fork")).json()["id"]
    await api.experimenter("DELETE", address)
    copy = f"/v1/experiments/{forked}"

    assert await names(api, copy) == sorted(FILES)
    packed = await api.experimenter("GET", f"{copy}/source/zip")
    assert PNG in packed.content
    assert (await api.experimenter("POST", f"{copy}/start")).status_code == 200


async def test_the_seed_of_a_fork_is_in_its_text_though_the_file_has_none(api: Api) -> None:
    address = await store(api)

    forked = (await api.experimenter("POST", f"{address}/fork", json={"seed": 7})).json()["id"]

    source = (await api.experimenter("GET", f"/v1/experiments/{forked}/source")).json()
    assert parse(source["text"], "experiment.yaml")["seed"] == 7


async def test_a_file_with_a_table_and_a_picture_is_stored_as_it_was_sent_and_starts(api: Api) -> None:
    address = await store(api)

    source = (await api.experimenter("GET", f"{address}/source")).json()
    document = (await api.experimenter("GET", f"{address}/file")).json()
    started = await api.experimenter("POST", f"{address}/start")
    picture = await api.client.get(f"/v1/files/{document['stages'][0]['media'][0]['file']}")

    assert source["text"] == TEXT
    assert source["files"] == [{"name": "people.csv", "size": len(TABLE)}, {"name": "pictures/map.png", "size": 208}]
    assert [one["text"] for one in document["personas"]] == ["You live in Berlin.", "You live in Bonn."]
    assert (started.status_code, picture.content) == (200, PNG)


async def test_a_zip_of_a_folder_is_read_like_a_form(api: Api) -> None:
    files = {f"study/{name}": content for name, content in {"study.yaml": TEXT.encode(), **FILES}.items()}
    made = await as_zip(api, "/v1/experiments", {**files, "__MACOSX/study/._study.yaml": b"parley: 1"})

    assert made.status_code == 201, made.text
    assert await names(api, f"/v1/experiments/{made.json()['id']}") == ["people.csv", "pictures/map.png"]


async def test_what_a_zip_has_beside_the_folder_of_the_text_is_left_out_with_a_word(api: Api) -> None:
    files = {f"study/{name}": content for name, content in {"study.yaml": TEXT.encode(), **FILES}.items()}
    stray = {"study/~$people.csv": b"x", "old/people.csv": TABLE, "study/.DS_Store": b"x", "__MACOSX/a": b"x"}

    checked = await as_zip(api, "/v1/experiments/validate", files | stray)

    assert checked.json()["warnings"] == ["These files of the archive are left out: old/people.csv, study/~$people.csv"]


async def test_a_picture_that_was_sent_without_its_folder_is_found(api: Api) -> None:
    made = await send(api, "POST", "/v1/experiments", files={"people.csv": TABLE, "map.png": PNG})

    assert made.status_code == 201, made.text


async def test_a_save_keeps_adds_replaces_and_removes_files(api: Api) -> None:
    address = await store(api)
    text = {"content": TEXT.encode(), "headers": {"Content-Type": "application/yaml"}}

    kept = await api.experimenter("PUT", f"{address}/file", **text)
    after_text = await names(api, address)
    added = await send(
        api, "PUT", f"{address}/file", files={"people.csv": TABLE + b"cy,Cy,Ulm\n", "extra.csv": b"id\n"}
    )
    document = (await api.experimenter("GET", f"{address}/file")).json()
    removed = await api.experimenter("PUT", f"{address}/file?without=extra.csv", **text)

    assert [one.status_code for one in (kept, added, removed)] == [200, 200, 200]
    assert after_text == ["people.csv", "pictures/map.png"]
    assert [one["id"] for one in document["personas"]] == ["ana", "bo", "cy"]
    assert await names(api, address) == ["people.csv", "pictures/map.png"]


async def test_a_file_that_is_added_during_another_save_stays_and_one_that_is_removed_does_not_return(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = await store(api)
    await send(api, "PUT", f"{address}/file", files={"old.csv": b"id\n", "older.csv": b"id\n"})
    reader = api.app.state.context.reader
    read = reader.experiment

    async def read_during_a_save(*given: Any) -> Any:
        monkeypatch.setattr(reader, "experiment", read)
        await send(api, "PUT", f"{address}/file?without=old.csv", files={"new.csv": b"id\n"})
        return await read(*given)

    monkeypatch.setattr(reader, "experiment", read_during_a_save)
    saved = await send(api, "PUT", f"{address}/file?without=older.csv", files={"mine.csv": b"id\n"})

    assert saved.status_code == 200, saved.text
    assert await names(api, address) == ["mine.csv", "new.csv", "people.csv", "pictures/map.png"]


async def test_a_file_that_the_text_needs_is_missed_at_its_line_once_it_is_removed(api: Api) -> None:
    address = await store(api)
    text = {"content": TEXT.encode(), "headers": {"Content-Type": "application/yaml"}}

    refused = await api.experimenter("PUT", f"{address}/file?without=people.csv", **text)
    kept = await api.experimenter("PUT", f"{address}/file?without=people.csv&keep_problems=true", **text)
    problems = (await api.experimenter("GET", f"{address}/source")).json()["problems"]

    assert (refused.status_code, kept.status_code) == (422, 200)
    assert [(one["where"], one["line"], one["found"]) for one in problems] == [
        ("personas_from.file", 5, "'people.csv'")
    ]
    assert "add it to the files of the draft" in problems[0]["expected"]


async def test_a_check_and_a_look_use_the_files_of_a_draft_and_those_in_the_form(api: Api) -> None:
    address = await store(api)
    beside = f"beside={address.rpartition('/')[2]}"
    yaml = {"content": TEXT.encode(), "headers": {"Content-Type": "application/yaml"}}

    alone = (await api.experimenter("POST", "/v1/experiments/check", **yaml)).json()
    checked = (await api.experimenter("POST", f"/v1/experiments/check?{beside}", **yaml)).json()
    formed = (await send(api, "POST", "/v1/experiments/check")).json()
    valid = await send(api, "POST", "/v1/experiments/validate")
    unknown = await api.experimenter(
        "POST", f"/v1/experiments/check?beside={'0' * 8}-0000-0000-0000-{'0' * 12}", **yaml
    )

    assert sorted(one["line"] for one in alone["problems"]) == [5, 11]
    assert [checked["members"], formed["members"]] == [3, 3]
    assert (valid.status_code, unknown.status_code) == (200, 404)


async def test_a_picture_is_stored_once_and_is_not_sent_to_what_reads_the_text(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: list[bytes] = []
    ask = reading._asked

    async def note(order: bytes) -> bytes:
        orders.append(order)
        return await ask(order)

    monkeypatch.setattr(reading, "_asked", note)
    with counted() as sent:
        address = await store(api)
    yaml = {"content": TEXT.encode(), "headers": {"Content-Type": "application/yaml"}}
    checked = await api.experimenter("POST", f"/v1/experiments/check?beside={address.rpartition('/')[2]}", **yaml)

    assert len([one for one in sent if "INSERT INTO files" in one]) == 1
    assert checked.json()["is_valid"], checked.text
    assert [TABLE in one for one in orders] == [True, True]
    assert not any(PNG in one for one in orders)


async def test_a_table_that_begins_like_a_sound_is_read_as_a_table(api: Api) -> None:
    made = await send(api, "POST", "/v1/experiments", files={**FILES, "people.csv": b"ID3,id,town\n1,ana,Berlin\n"})
    beside = f"beside={made.json()['id']}"
    yaml = {"content": TEXT.encode(), "headers": {"Content-Type": "application/yaml"}}

    checked = await api.experimenter("POST", f"/v1/experiments/check?{beside}", **yaml)

    assert (made.status_code, checked.json()["members"]) == (201, 2)


async def test_a_picture_with_the_ending_of_another_type_or_in_place_of_a_table_is_named(api: Api) -> None:
    ending = await send(
        api, "POST", "/v1/experiments", TEXT.replace("map.png", "map.gif"), {"people.csv": TABLE, "map.gif": PNG}
    )
    table = await send(api, "POST", "/v1/experiments", TEXT.replace("people.csv", "map.png"), {"map.png": PNG})

    [wrong] = ending.json()["problems"]
    assert (wrong["where"], wrong["expected"]) == (
        "stages[0].media[0].file",
        "the ending .png: that is what the file holds",
    )
    assert table.json()["problems"][0]["where"] == "personas_from.file"


async def test_a_problem_in_a_table_has_the_place_in_the_table_and_no_line_of_the_text(api: Api) -> None:
    files = {**FILES, "people.csv": TABLE + b"a b,Cy,Ulm\n"}

    found = (await send(api, "POST", "/v1/experiments/check", files=files)).json()["problems"]

    assert [(one["where"], one["line"]) for one in found] == [("people.csv line 4, id", None)]


async def test_a_picture_stays_while_a_text_with_problems_has_it_and_goes_with_its_experiment(api: Api) -> None:
    address = await store(api)
    name = (await api.experimenter("GET", f"{address}/file")).json()["stages"][0]["media"][0]["file"]
    without = TEXT.replace("    media: [{file: pictures/map.png, alt: A map}]\n", "")

    await send(api, "PUT", f"{address}/file", text=without, files={})
    still = await api.client.get(f"/v1/files/{name}")
    deleted = await api.experimenter("DELETE", f"{address}?reason=done")
    other = await send(api, "POST", "/v1/experiments")

    assert (still.status_code, deleted.status_code, other.status_code) == (200, 204, 201)


@pytest.mark.parametrize("name", ["../people.csv", "/etc/passwd", "a\\b.csv", "a//b.csv", "C:people.csv", "x" * 201])
async def test_a_name_that_leads_elsewhere_is_refused_in_a_form_and_in_a_zip(api: Api, name: str) -> None:
    in_form = await send(api, "POST", "/v1/experiments", files={name: TABLE})
    in_zip = await as_zip(api, "/v1/experiments", {"study.yaml": TEXT.encode(), name: TABLE})

    assert (in_form.status_code, in_zip.status_code) == (422, 422)
    assert "cannot have this name" in in_form.json()["detail"]


@pytest.mark.parametrize(
    "files",
    [{}, {"people.csv": TABLE}, {"a.yaml": TEXT.encode(), "b.yaml": TEXT.encode()}],
    ids=["nothing", "no text", "two texts"],
)
async def test_an_archive_without_one_text_is_refused_in_words(api: Api, files: Mapping[str, bytes]) -> None:
    answer = await as_zip(api, "/v1/experiments", files)

    assert answer.status_code == 422
    assert "one experiment file" in answer.json()["problems"][0]["expected"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("experiment.json", json.dumps({"name": "Beside", **PARSED}, separators=(",", ":"))),
        ("study.json", json.dumps(PARSED)),
        ("study.yaml", "\ufeff" + TEXT.partition("\n")[2]),
    ],
    ids=["one line", "the first key of one line", "a byte order mark"],
)
async def test_a_text_is_found_with_the_files_of_its_folder(api: Api, name: str, text: str) -> None:
    files = {name: text.encode(), "words.yaml": b"participants: {}\n", **FILES}

    made = await as_zip(api, "/v1/experiments", {f"study/{one}": content for one, content in files.items()})

    assert made.status_code == 201, made.text
    assert await names(api, f"/v1/experiments/{made.json()['id']}") == ["people.csv", "pictures/map.png", "words.yaml"]


async def test_of_two_that_look_like_a_text_the_one_that_is_called_so_is_read(api: Api) -> None:
    files = {"old.yaml": b"parley: 1\nname: Old\n", "experiment.yaml": TEXT.encode(), **FILES}

    made = await as_zip(api, "/v1/experiments", files)

    assert (made.status_code, made.json()["name"]) == (201, "Beside")


@pytest.mark.parametrize("blank", [b"\n", b" "], ids=["lines", "spaces"])
async def test_a_file_of_blanks_is_passed_over_at_once(api: Api, blank: bytes) -> None:
    begin = time.process_time()

    made = await as_zip(api, "/v1/experiments", {"study.yaml": TEXT.encode(), **FILES, "words.yaml": blank * 60_000})

    assert made.status_code == 201, made.text
    assert time.process_time() - begin < 3


async def test_a_damaged_archive_is_refused(api: Api) -> None:
    headers = {"Content-Type": "application/zip"}
    answer = await api.experimenter("POST", "/v1/experiments", content=pack(FILES)[:-30], headers=headers)

    assert (answer.status_code, answer.json()["problems"][0]["where"]) == (422, "archive")


async def test_files_that_are_too_large_or_too_many_are_refused_by_name(api: Api, monkeypatch: Any) -> None:
    few = api.app.state.context.files.model_copy(update={"max_file_bytes": 300, "max_files_bytes": 400})
    object.__setattr__(api.app.state.context, "files", few)

    one = await send(api, "POST", "/v1/experiments", files={**FILES, "big.csv": b"x" * 301})
    all_of_them = await send(api, "POST", "/v1/experiments", files={**FILES, "more.csv": b"x" * 250})
    many = await send(api, "POST", "/v1/experiments", files={f"{number}.csv": b"" for number in range(101)})
    bomb = await as_zip(api, "/v1/experiments", {"study.yaml": TEXT.encode(), "big.csv": b"0" * 100_000})
    text = await send(api, "POST", "/v1/experiments", text=TEXT + "#" * GatewaySettings().max_body_bytes)

    assert [one.status_code for one in (one, all_of_them, many, bomb, text)] == [413] * 5
    assert "big.csv has 301 bytes; a file may have 300." in one.json()["detail"]
    assert "those of an experiment may have 400" in all_of_them.json()["detail"]


async def test_a_file_with_its_tables_that_is_sent_again_under_its_key_is_stored_once(api: Api) -> None:
    headers = {"Idempotency-Key": "0123456789abcdef"}

    first = await send(api, "POST", "/v1/experiments", headers=headers)
    again = await send(api, "POST", "/v1/experiments", headers=headers)
    other = await send(api, "POST", "/v1/experiments", headers=headers, files={**FILES, "people.csv": TABLE + b"\n"})

    assert (first.status_code, again.json()["id"]) == (201, first.json()["id"])
    assert other.status_code == 409


async def test_a_form_without_files_that_is_sent_again_under_its_key_is_stored_once(api: Api) -> None:
    headers = {"Idempotency-Key": "0123456789abcdef"}
    alone = "parley: 1\nname: Alone\nstages: [{id: a, kind: info, lines: [A]}]\ncohorts: [{seats: [{open: true}]}]\n"

    first = await send(api, "POST", "/v1/experiments", alone, {}, headers=headers)
    again = await send(api, "POST", "/v1/experiments", alone, {}, headers=headers)
    other = await send(api, "POST", "/v1/experiments", alone.replace("Alone", "Other"), {}, headers=headers)

    assert (first.status_code, again.json()["id"]) == (201, first.json()["id"])
    assert other.status_code == 409


async def test_the_files_of_another_cannot_be_used_or_read(api: Api) -> None:
    address = await store(api)
    async with api.database.transaction() as session:
        stranger = await keys.create_key(session, "Stranger", api.clock.now())
    headers = {"Content-Type": "application/yaml", "Authorization": f"Bearer {stranger}"}

    checked = await api.client.post(
        f"/v1/experiments/check?beside={address.rpartition('/')[2]}", content=TEXT.encode(), headers=headers
    )
    read = await api.client.get(f"{address}/source/zip", headers=headers)

    assert (checked.status_code, read.status_code) == (404, 404)


async def test_the_archive_of_a_file_can_be_stored_again(api: Api) -> None:
    address = await store(api)

    packed = await api.experimenter("GET", f"{address}/source/zip")
    headers = {"Content-Type": "application/zip"}
    again = await api.experimenter("POST", "/v1/experiments", content=packed.content, headers=headers)

    source = (await api.experimenter("GET", f"/v1/experiments/{again.json()['id']}/source")).json()
    assert (source["text"], [one["name"] for one in source["files"]]) == (TEXT, [*FILES])
