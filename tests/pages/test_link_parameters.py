"""Parameters of the link's address that the lab keeps: the page sends those that the file names."""

import csv
import io
import json
import zipfile
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from playwright.async_api import Browser, Page, Request, expect

from parley_lab.testing.link_values import IDS, PLACEHOLDERS
from parley_lab.testing.network import WITHOUT_TLS
from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]


def payments(lab: RunningLab, experiment_id: str) -> str:
    found = httpx2.get(
        f"{lab.url}/v1/experiments/{experiment_id}/export",
        headers={"Authorization": f"Bearer {lab.key}"},
        verify=WITHOUT_TLS,
    )
    with zipfile.ZipFile(io.BytesIO(found.content)) as archive:
        return archive.read("payments.csv").decode("utf-8-sig")


def row_of(lab: RunningLab, experiment_id: str) -> dict[str, str]:
    """The line of the one person in `payments.csv`."""
    (row,) = csv.DictReader(io.StringIO(payments(lab, experiment_id)))
    return row


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
    row = row_of(lab, experiment["id"])
    names = ("external_id", "parameter.STUDY_ID", "parameter.SESSION_ID", "parameter.source")
    assert [row[name] for name in names] == ["p-1", "s 1", "x-1", ""]


@pytest.mark.grid
async def test_a_value_that_the_lab_cannot_keep_is_left_out_and_the_person_joins(page: Page, lab: RunningLab) -> None:
    experiment = lab.started({**STUDY, "join": {"parameters": ["long", "longest", "odd", "broken"]}})
    # Characters beyond the first plane count once, as they do for the lab.
    longest = "\N{PARROT}" * 200
    values = {"PROLIFIC_PID": "p 1", "long": "a" * 201, "longest": longest, "odd": "a\x00b", "broken": "%ED%A0%80;"}

    await page.goto(f"/join/{experiment['join_code']}?{urlencode(values, safe='%')}")
    await page.get_by_role("button", name="Take part").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")

    row = row_of(lab, experiment["id"])
    names = ("external_id", "parameter.long", "parameter.longest", "parameter.odd", "parameter.broken")
    assert [row[name] for name in names] == ["p 1", "", longest, "", "\N{REPLACEMENT CHARACTER}" * 3 + ";"]


@pytest.mark.grid
@pytest.mark.parametrize("external_id", ["a" * 201, "p%001"], ids=["too long", "with NUL"])
async def test_an_id_that_the_lab_cannot_keep_is_told_before_one_joins(
    page: Page, lab: RunningLab, external_id: str
) -> None:
    experiment = lab.started(STUDY)
    address = f"/join/{experiment['join_code']}"

    await page.goto(f"{address}?PROLIFIC_PID={external_id}")
    await expect(page.get_by_role("alert")).to_contain_text("The id in this link is not valid")
    await expect(page.get_by_role("button", name="Take part")).to_have_count(0)

    longest = "\N{PARROT}" * 200
    await page.goto(f"{address}?PROLIFIC_PID={longest}")
    await page.get_by_role("button", name="Take part").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")
    assert row_of(lab, experiment["id"])["external_id"] == longest

    # Who has a place in this browser comes back to it.
    await page.goto(f"{address}?PROLIFIC_PID={external_id}")
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")
    assert row_of(lab, experiment["id"])["external_id"] == longest


@pytest.mark.grid
async def test_a_link_that_was_not_filled_in_takes_no_place_and_says_so(page: Page, lab: RunningLab) -> None:
    experiment = lab.started({**STUDY, "join": {"parameters": ["STUDY_ID"]}})
    address = f"/join/{experiment['join_code']}"
    unfilled = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}"

    await page.goto(f"{address}?{unfilled}")
    await page.get_by_role("button", name="Take part").click()
    await expect(page.get_by_role("alert")).to_contain_text("The id in this link is not valid")

    await page.goto(f"{address}?PROLIFIC_PID=p-1&STUDY_ID=%7B%7B%25STUDY_ID%25%7D%7D")
    await page.get_by_role("button", name="Take part").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")
    row = row_of(lab, experiment["id"])
    assert [row[name] for name in ("external_id", "parameter.STUDY_ID")] == ["p-1", ""]

    # Who has a place in this browser comes back to it.
    await page.goto(f"{address}?{unfilled}")
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")


@pytest.mark.grid
async def test_a_link_that_was_not_filled_in_offers_no_way_back_when_no_place_is_left(
    page: Page, browser: Browser, lab: RunningLab
) -> None:
    experiment = lab.started(STUDY)
    await join(page, experiment)
    other = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()

    await other.goto(f"/join/{experiment['join_code']}?PROLIFIC_PID={{{{%25PROLIFIC_PID%25}}}}")

    await expect(other.get_by_text("All places are taken at the moment.")).to_be_visible()
    await expect(other.get_by_role("button")).to_have_count(0)
    await expect(other.get_by_text("Have you taken part before?")).to_have_count(0)
    await other.context.close()


async def test_the_page_knows_the_placeholders_that_the_lab_refuses(page: Page, lab: RunningLab) -> None:
    await page.goto(f"/join/{lab.started(STUDY)['join_code']}")

    found = await page.evaluate(
        """async (values) => {
          const { isPlaceholder } = await import("parley/placeholders.js");
          return values.filter(isPlaceholder);
        }""",
        [*PLACEHOLDERS, *IDS],
    )

    assert found == PLACEHOLDERS


@pytest.mark.grid
async def test_a_code_that_is_typed_in_another_way_leads_to_the_same_place(page: Page, lab: RunningLab) -> None:
    experiment = lab.started({**STUDY, "join": {"parameters": ["source"]}})
    code = experiment["join_code"]

    await page.goto(f"/join/({code}.)?source=poster")
    await page.get_by_role("button", name="Take part").click()
    await expect(page.get_by_text("Step 1 of")).to_be_visible()
    await page.goto(f"/join/{code}")
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_text("Step 1 of")).to_be_visible()

    members = lab.ask("GET", f"/v1/experiments/{experiment['id']}/members")["members"]
    assert page.url.endswith(f"/take/{code}")
    assert len([one for one in members if one["joined_at"]]) == 1
    assert row_of(lab, experiment["id"])["parameter.source"] == "poster"
