"""Parameters of the link's address that the lab keeps: the page sends those that the file names."""

import io
import json
import zipfile
from typing import Any

import httpx2
import pytest
from playwright.async_api import Page, Request, expect

from shared.testing.network import WITHOUT_TLS
from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]


def payments(lab: RunningLab, experiment_id: str) -> str:
    found = httpx2.get(
        f"{lab.url}/v1/experiments/{experiment_id}/export",
        headers={"Authorization": f"Bearer {lab.key}"},
        verify=WITHOUT_TLS,
    )
    with zipfile.ZipFile(io.BytesIO(found.content)) as archive:
        return archive.read("payments.csv").decode("utf-8-sig")


async def test_those_in_the_address_are_kept_over_a_reload_and_no_others_are_sent(page: Page, lab: RunningLab) -> None:
    experiment = lab.started({**STUDY, "join": {"parameters": ["STUDY_ID", "SESSION_ID", "source"]}})
    sent: list[Any] = []

    def note(request: Request) -> None:
        if request.method == "POST" and "/v1/join/" in request.url:
            sent.append(json.loads(request.post_data or "null"))

    page.on("request", note)
    address = "PROLIFIC_PID=p-1&STUDY_ID=s%201&SESSION_ID=x-1&source=&utm_medium=mail"

    await page.goto(f"/join/{experiment['join_code']}?{address}")
    await expect(page.get_by_role("button", name="Take part")).to_be_visible()
    await page.reload()
    await page.get_by_role("button", name="Take part").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")

    assert [(one["external_id"], one["parameters"]) for one in sent] == [
        ("p-1", {"STUDY_ID": "s 1", "SESSION_ID": "x-1"})
    ]
    header, line = payments(lab, experiment["id"]).splitlines()
    row = dict(zip(header.split(","), line.split(","), strict=False))
    names = ("external_id", "parameter.STUDY_ID", "parameter.SESSION_ID", "parameter.source")
    assert [row[name] for name in names] == ["p-1", "s 1", "x-1", ""]
