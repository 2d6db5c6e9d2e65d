"""Workbooks over REST: stored as drafts, checked, refused with their cells; and files that mean harm."""

import asyncio
import csv
import io
import time
import zipfile
from collections.abc import AsyncIterator
from typing import Any

import pytest

from parley_lab.base.errors import TooLarge
from parley_lab.formats.importing import XLSX, ZIP, Choice
from parley_lab.formats.testing.workbooks import Values, base_values, with_setting, xlsx_of
from parley_lab.gateway.reading import Reader
from parley_lab.gateway.testing import Api

ADDRESS = "/v1/experiments/import"


def of_type(media_type: str) -> dict[str, str]:
    return {"Content-Type": media_type}


def permuted() -> Values:
    values = base_values()
    values["constants"].append(["tokens", "[5, 10]"])
    return values


def zip_of(values: Values, folder: str = "") -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, rows in values.items():
            text = io.StringIO(newline="")
            csv.writer(text).writerows(rows)
            archive.writestr(f"{folder}{name}.csv", text.getvalue())
    return content.getvalue()


async def _sent(api: Api, content: bytes, media_type: str = XLSX, address: str = ADDRESS, **params: Any) -> Any:
    return await api.experimenter("POST", address, content=content, headers=of_type(media_type), params=params)


@pytest.mark.parametrize("media_type", [XLSX, ZIP])
async def test_each_permutation_is_stored_as_a_draft_of_the_mock(api: Api, media_type: str) -> None:
    content = xlsx_of(permuted()) if media_type == XLSX else zip_of(permuted(), "my tables/")

    stored = await _sent(api, content, media_type, is_test=True)

    assert stored.status_code == 201, stored.text
    found = stored.json()["experiments"]
    assert [(one["name"], one["status"], one["model_mode"], one["is_test"]) for one in found] == [
        ("demo_1", "draft", "mock", True),
        ("demo_2", "draft", "mock", True),
    ]
    listed = await api.experimenter("GET", "/v1/experiments")
    assert {one["id"] for one in listed.json()["experiments"]} == {one["id"] for one in found}


async def test_a_stored_workbook_is_started_and_followed_like_any_experiment(api: Api) -> None:
    stored = await _sent(api, xlsx_of(base_values()), people=["A", "2/B"], sessions=3)
    address = f"/v1/experiments/{stored.json()['experiments'][0]['id']}"

    started = await api.experimenter("POST", f"{address}/start")

    assert started.json()["status"] == "running"
    assert started.json()["progress"]["cohorts"] == 3
    assert started.json()["progress"]["members_by_status"] == {"expected": 4, "in_progress": 5}
    archive = await api.experimenter("GET", f"{address}/export")
    assert "participants.csv" in " ".join(zipfile.ZipFile(io.BytesIO(archive.content)).namelist())


async def test_a_check_stores_nothing_and_tells_sizes_and_warnings(api: Api) -> None:
    content = xlsx_of(with_setting(base_values(), model_info="llama-9"))

    checked = await _sent(api, content, address=f"{ADDRESS}/validate")

    (one,) = checked.json()["experiments"]
    assert (one["name"], one["cohorts"], one["members"]) == ("demo", 4, 4 * (3 + 1))
    assert "experimental_setting!B3" in checked.json()["warnings"][0]
    listed = await api.experimenter("GET", "/v1/experiments")
    assert listed.json()["experiments"] == []


@pytest.mark.parametrize("address", [ADDRESS, f"{ADDRESS}/validate"])
async def test_all_problems_are_told_with_their_cells(api: Api, address: str) -> None:
    values = with_setting(base_values(), temperature="hot")
    values["treatments"][1][0] = None

    refused = await _sent(api, xlsx_of(values), address=address)

    assert refused.status_code == 422
    problems = {one["where"]: one for one in refused.json()["problems"]}
    assert problems.keys() >= {"experimental_setting!B5", "treatments!A2"}
    assert problems["treatments!A2"]["wrong"] == "the label is missing"


async def test_a_seat_that_is_not_there_is_refused(api: Api) -> None:
    refused = await _sent(api, xlsx_of(base_values()), people="Z")

    assert (refused.status_code, refused.json()["problems"][0]["where"]) == (422, "people")


async def test_another_media_type_is_refused(api: Api) -> None:
    refused = await _sent(api, b"parley: 1", "application/yaml")

    assert refused.status_code == 415
    assert XLSX in refused.json()["detail"]


def tables_of(values: Values) -> list[tuple[str, Any]]:
    """The parts of a form: a table for each sheet."""
    with zipfile.ZipFile(io.BytesIO(zip_of(values))) as archive:
        return [("file", (name, archive.read(name), "text/csv")) for name in archive.namelist()]


AS_XLSX = ("my.xlsx", xlsx_of(permuted()), "application/octet-stream")
FORMS: dict[str, list[tuple[str, Any]]] = {
    "an .xlsx file": [("file", AS_XLSX)],
    "a zip": [("anything", ("My tables.ZIP", zip_of(permuted()), ""))],
    "no suffix": [("file", ("my", xlsx_of(permuted()), XLSX))],
    "tables": tables_of(permuted()),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
async def test_a_form_with_the_file_is_as_good_as_the_file(api: Api, form: list[tuple[str, Any]]) -> None:
    stored = await api.experimenter("POST", ADDRESS, files=form, params={"sessions": 1})

    assert stored.status_code == 201, stored.text
    assert [one["name"] for one in stored.json()["experiments"]] == ["demo_1", "demo_2"]


async def test_tables_in_a_form_that_are_sent_again_under_a_key_are_stored_once(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {"Idempotency-Key": "0123456789abcdef"}
    first = await api.experimenter("POST", ADDRESS, files=FORMS["tables"], headers=headers)
    at = time.time()
    # A zip knows two seconds from one another.
    monkeypatch.setattr(time, "time", lambda: at + 3)

    again = await api.experimenter("POST", ADDRESS, files=FORMS["tables"], headers=headers)

    assert (first.status_code, again.status_code) == (201, 201), again.text
    assert first.json() == again.json()


A_TABLE = tables_of(permuted())[:1]
WRONG_FORMS: dict[str, tuple[list[tuple[str, Any]], str, str]] = {
    "two workbooks": ([("a", AS_XLSX), ("b", AS_XLSX)], "form", "my.xlsx, my.xlsx"),
    "a workbook and a table": (
        [("a", AS_XLSX), *A_TABLE],
        "form",
        "my.xlsx, experimental_setting.csv",
    ),
    "something else": ([("photo", ("me.png", b"...", "image/png"))], "photo", "me.png"),
    "a table twice": (A_TABLE * 2, "file", "a second file called experimental_setting.csv"),
    "an option": ([("file", AS_XLSX), ("sessions", (None, b"2"))], "sessions", "a value that is no file"),
}


@pytest.mark.parametrize(("form", "where", "found"), WRONG_FORMS.values(), ids=list(WRONG_FORMS))
async def test_a_form_with_something_else_says_what_is_wrong(
    api: Api, form: list[tuple[str, Any]], where: str, found: str
) -> None:
    refused = await api.experimenter("POST", f"{ADDRESS}/validate", files=form)

    assert refused.status_code == 422, refused.text
    (problem,) = refused.json()["problems"]
    assert (problem["where"], problem["found"]) == (where, found)


async def test_problems_in_a_table_of_a_form_are_told_with_their_cells(api: Api) -> None:
    refused = await api.experimenter("POST", ADDRESS, files=tables_of(with_setting(base_values(), temperature="hot")))

    assert [one["where"] for one in refused.json()["problems"]] == ["experimental_setting!B5"]


@pytest.mark.parametrize(
    ("content_type", "content"),
    [
        ("multipart/form-data", b"--x\r\n\r\n--x--"),
        ("multipart/form-data; boundary=x", b"--y\r\nno end"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n\r\n1\r\n--x--"),
        ("multipart/form-data; boundary=x", b""),
    ],
)
async def test_a_broken_form_is_refused(api: Api, content_type: str, content: bytes) -> None:
    refused = await api.experimenter("POST", ADDRESS, content=content, headers=of_type(content_type))

    assert refused.status_code in (400, 422), refused.text


async def test_a_form_that_grows_too_large_is_refused_while_it_comes(api: Api) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="my.xlsx"\r\n\r\n'
        for _ in range(1024):
            sent += 64 * 1024
            yield bytes(64 * 1024)

    refused = await api.experimenter(
        "POST", ADDRESS, content=endless(), headers=of_type("multipart/form-data; boundary=x")
    )

    assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
    assert sent < 2 * 1024 * 1024


async def test_no_one_stores_a_workbook_without_a_key(api: Api) -> None:
    refused = await api.client.post(ADDRESS, content=xlsx_of(base_values()), headers=of_type(XLSX))

    assert refused.status_code == 401


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 and no more", xlsx_of(base_values())[:-200]], ids=["empty", "no archive", "cut off"]
)
@pytest.mark.parametrize("media_type", [XLSX, ZIP])
async def test_what_is_damaged_is_refused(api: Api, content: bytes, media_type: str) -> None:
    refused = await _sent(api, content, media_type)

    assert refused.status_code == 422, refused.text


async def test_a_zip_that_unpacks_to_more_than_tables_may_have_is_refused(api: Api) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("treatments.csv", b"a" * (11 * 1024 * 1024))

    refused = await _sent(api, content.getvalue(), ZIP)

    assert refused.status_code == 413


async def test_a_file_that_is_never_done_with_is_given_up_and_blocks_no_one(api: Api) -> None:
    with pytest.raises(TooLarge, match="too long"):
        await Reader(at_once=1, patience_seconds=0.001).imported(xlsx_of(base_values()), XLSX, Choice())

    shown = await api.experimenter("GET", "/v1/experiments")
    assert shown.status_code == 200


async def test_others_are_served_while_a_file_is_read(api: Api) -> None:
    reading = asyncio.create_task(_sent(api, xlsx_of(base_values())))
    served = 0
    while not reading.done():
        assert (await api.experimenter("GET", "/v1/experiments")).status_code == 200
        served += 1

    assert (await reading).status_code == 201
    assert served > 1
