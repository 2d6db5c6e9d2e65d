"""Files that stages show: uploaded, served by their digest, kept as long as an experiment uses them."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest
from sqlalchemy import text

from parley_lab.experiments import ending, files
from parley_lab.gateway.testing import Api

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(200))
OTHER = PNG + b"other"


async def uploaded(api: Api, content: bytes = PNG) -> Any:
    answer = await api.experimenter("POST", "/v1/files", content=content)
    assert answer.status_code == 201, answer.text
    return answer.json()


def showing(*names: str) -> dict[str, Any]:
    media = [{"file": name, "alt": "A bus at night"} for name in names]
    return {"stages": [{"id": "look", "kind": "info", "lines": ["Look."], "media": media}]}


async def served(api: Api, file: Any, **headers: str) -> httpx2.Response:
    return await api.client.get(file["address"], headers=headers)


async def digests(api: Api) -> set[str]:
    async with api.database.transaction() as session:
        return {row.digest for row in await session.all(text("SELECT digest FROM files"))}


async def test_a_file_is_stored_once_and_served_to_all_for_good(api: Api) -> None:
    file = await uploaded(api)
    again = await uploaded(api)
    answer = await served(api, file)

    assert again == file
    assert len(await digests(api)) == 1
    assert answer.content == PNG
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [("bytes=0-9", 0, 9), ("bytes=200-", 200, 207), ("bytes=-5", 203, 207), ("bytes=5-999999", 5, 207)],
)
async def test_a_film_is_served_in_parts(api: Api, asked: str, first: int, last: int) -> None:
    answer = await served(api, await uploaded(api), Range=asked)

    assert answer.status_code == 206
    assert answer.headers["content-range"] == f"bytes {first}-{last}/208"
    assert answer.content == PNG[first : last + 1]


@pytest.mark.parametrize("asked", ["bytes=9-3", "bytes=-", "bytes=999-", "lines=1-2", "bytes=0-1,5-6"])
async def test_a_range_that_cannot_be_served_gets_the_whole(api: Api, asked: str) -> None:
    answer = await served(api, await uploaded(api), Range=asked)

    assert (answer.status_code, answer.content) == (200, PNG)


@pytest.mark.parametrize("content", [b"<html><script>alert(1)</script>", b"<svg onload='x'/>", b"", b"PNG"])
async def test_what_is_no_image_sound_or_film_is_refused(api: Api, content: bytes) -> None:
    answer = await api.experimenter("POST", "/v1/files", content=content)

    assert answer.status_code == 422
    assert "an image (png" in answer.text


async def test_a_file_that_is_too_large_is_refused(api: Api) -> None:
    answer = await api.experimenter("POST", "/v1/files", content=PNG + bytes(10 * 1024 * 1024))

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert await digests(api) == set()


async def test_who_has_no_key_uploads_nothing(api: Api) -> None:
    answer = await api.client.post("/v1/files", content=PNG)

    assert answer.status_code == 401


@pytest.mark.parametrize("name", ["..%2f..%2fetc%2fpasswd", f"{'0' * 64}.png", "x"])
async def test_what_is_not_stored_is_not_there(api: Api, name: str) -> None:
    assert (await api.client.get(f"/v1/files/{name}")).status_code == 404


@pytest.mark.parametrize("path", ["/v1/experiments", "/v1/experiments/validate"])
async def test_an_experiment_whose_files_are_missing_is_refused_at_their_place(api: Api, path: str) -> None:
    names = [f"{digit * 64}.png" for digit in "01"]
    study = {"parley": 1, "name": "Missing", "cohorts": [{"seats": [{"open": True}]}], **showing(*names)}

    answer = await api.experimenter("POST", path, json=study)

    assert answer.status_code == 422
    assert [one["where"] for one in answer.json()["problems"]] == ["stages[0].media[0].file", "stages[0].media[1].file"]


async def test_the_files_of_an_experiment_have_a_limit_together(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY_MAX_FILES_BYTES", "300")
    files = [await uploaded(api), await uploaded(api, OTHER)]
    study = {"parley": 1, "name": "Many", "cohorts": [{"seats": [{"open": True}]}]}

    one = await api.experimenter("POST", "/v1/experiments", json={**study, **showing(files[0]["file"])})
    both = await api.experimenter(
        "POST", "/v1/experiments", json={**study, **showing(*(file["file"] for file in files))}
    )

    assert (one.status_code, both.status_code) == (201, 413)


async def test_a_page_names_the_address_and_the_words(api: Api) -> None:
    file = await uploaded(api)
    token = await api.join(await api.running(**showing(file["file"])))

    page = (await api.participant(token, "GET", "/v1/me/stages/look")).json()

    shown = {"type": "image", "address": file["address"], "alt": "A bus at night", "caption": ""}
    assert page["view"]["media"] == [shown]


async def test_files_go_with_the_last_experiment_that_uses_them(api: Api) -> None:
    file = await uploaded(api)
    first = await api.running(**showing(file["file"]))
    forked = (await api.experimenter("POST", f"/v1/experiments/{first}/fork")).json()["id"]
    read_back = (await api.experimenter("GET", f"/v1/experiments/{first}/file")).json()
    third = (await api.experimenter("POST", "/v1/experiments", json=read_back)).json()["id"]
    for experiment_id in (first, forked):
        await ending.delete(api.database, UUID(experiment_id), api.clock.now())
        assert (await served(api, file)).status_code == 200

    await ending.delete(api.database, UUID(third), api.clock.now())

    assert (await served(api, file)).status_code == 404


async def test_a_draft_that_is_replaced_keeps_what_it_still_shows(api: Api) -> None:
    kept, dropped = await uploaded(api), await uploaded(api, OTHER)
    study = {"parley": 1, "name": "Draft", "cohorts": [{"seats": [{"open": True}]}]}
    both = {**study, **showing(kept["file"], dropped["file"])}
    draft = (await api.experimenter("POST", "/v1/experiments", json=both)).json()["id"]

    answer = await api.experimenter("PUT", f"/v1/experiments/{draft}/file", json={**study, **showing(kept["file"])})

    assert answer.status_code == 200, answer.text
    assert await digests(api) == {kept["file"].partition(".")[0]}


async def test_an_upload_that_no_experiment_takes_is_deleted_after_a_day(api: Api) -> None:
    await uploaded(api)
    api.clock.advance(timedelta(days=1, seconds=1).total_seconds())
    young = await uploaded(api, OTHER)

    await ending.delete(api.database, UUID(await api.running()), api.clock.now())

    assert await digests(api) == {young["file"].partition(".")[0]}


async def test_a_file_is_never_deleted_under_an_experiment_that_takes_it(api: Api) -> None:
    study = {"parley": 1, "name": "Race", "cohorts": [{"seats": [{"open": True}]}]}
    for _ in range(8):
        file = await uploaded(api)
        old = (await api.experimenter("POST", "/v1/experiments", json={**study, **showing(file["file"])})).json()["id"]

        created, _ = await asyncio.gather(
            api.experimenter("POST", "/v1/experiments", json={**study, **showing(file["file"])}),
            ending.delete(api.database, UUID(old), api.clock.now()),
        )

        is_there = (await served(api, file)).status_code == 200
        assert (created.status_code, is_there) in ((201, True), (422, False))
        if created.status_code == 201:
            await ending.delete(api.database, UUID(created.json()["id"]), api.clock.now())


async def test_a_file_that_a_browser_has_is_not_sent_again(api: Api) -> None:
    file = await uploaded(api)

    first = await served(api, file)
    again = await served(api, file, **{"If-None-Match": f'W/"other", {first.headers["etag"]}'})
    other = await served(api, file, **{"If-None-Match": '"other"'})

    assert (first.content, other.content) == (PNG, PNG)
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])


async def test_however_many_load_a_file_few_connections_read_it(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parley_lab.gateway.routes.media._PART_BYTES", 30)
    file = await uploaded(api)
    read, at_once = files.part, [0, 0]

    async def counted(*arguments: Any) -> bytes:
        at_once[0] += 1
        at_once[1] = max(at_once)
        try:
            await asyncio.sleep(0)
            return await read(*arguments)
        finally:
            at_once[0] -= 1

    monkeypatch.setattr(files, "part", counted)

    answers = await asyncio.gather(*(served(api, file) for _ in range(20)))

    assert [one.content for one in answers] == [PNG] * 20
    assert at_once == [0, 4]


async def test_a_large_file_is_read_part_by_part(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parley_lab.gateway.routes.media._PART_BYTES", 30)
    file = await uploaded(api)

    whole = await served(api, file)
    part = await served(api, file, Range="bytes=29-95")

    assert (whole.status_code, whole.content, whole.headers["content-length"]) == (200, PNG, str(len(PNG)))
    assert (part.status_code, part.content, part.headers["content-length"]) == (206, PNG[29:96], "67")
