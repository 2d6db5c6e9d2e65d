"""Journeys through the console by the interface alone: a file with its table and picture, and the day of a study."""

import re
from typing import Final

import pytest
from playwright.async_api import Browser, BrowserContext, FilePayload, Page, ViewportSize, expect

from parley_lab.formats.testing.workbooks import base_values, with_setting, xlsx_of
from tests.pages.accessible import faults
from tests.pages.conftest import RunningLab
from tests.pages.going_through import go_through
from tests.pages.test_console import desk, signed_in
from tests.pages.the_day import STUDY, Desk, Person, Press, by_keys, click, play

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

_FIXTURES: Final = (desk,)
PNG: Final = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001"
    "a5f645400000000049454e44ae426082"
)
TABLE: Final = b"id,name,town\nana,Ana,Berlin\nbo,Bo,Bonn\n"
ITEMS: Final = b"id,what,map\nbus,bus,map.png\ntram,tram,map.png\n"
BROKEN: Final = """# A pilot for Ada
parley: 1
name: Night buses
personas_from:
  file: people.csv
  each: {text: "You live in {{town}}."}
stages:
  - {id: look, kind: infos, name: The map, lines: ["Look at it."], media: [{file: map.png, alt: A map}]}
  - {id: talk, kind: group_chat, name: The talk, descripton: Talk.}
  - id: rate
    kind: survey
    rows: {file: items.csv}
    questions: [{id: like, kind: check, title: "A {{row.what}}.", media: [{file: "{{row.map}}", alt: A line}]}]
cohorts:
  - seats: [{each_row: true}, {opens: true}]
"""


def payload(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


async def test_a_file_is_dropped_mended_seen_estimated_and_started(browser: Browser, lab: RunningLab) -> None:
    """Errors at their lines, a stage as both, what real models lack, guests, the link and its QR code."""
    window: ViewportSize = {"width": 1280, "height": 800}
    context = await browser.new_context(base_url=lab.url, locale="en", viewport=window)
    context.set_default_timeout(20_000)
    await context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = await signed_in(context, lab, "/console?new=1")
    beside = [payload("people.csv", TABLE), payload("items.csv", ITEMS), payload("map.png", PNG)]
    dropped = [payload("study.yaml", BROKEN.encode()), *beside]
    await page.get_by_label("Files of an experiment").set_input_files(dropped)
    await page.get_by_role("button", name="Mend it in the editor").click()
    await mend(page)
    await look_as_both(page)
    await read_what_real_models_lack(page)
    await invite_and_start(page)
    found = lab.ask("GET", f"/v1/experiments/{page.url.rpartition('/')[2]}")

    await context.close()
    assert (found["name"], found["status"], found["model_mode"]) == ("Night buses", "running", "mock")


async def mend(page: Page) -> None:
    """The three errors, each at its line; the tables and the picture are listed."""
    problems = page.get_by_role("list", name="Problems").get_by_role("button")
    await expect(problems).to_have_count(3)
    assert [await one.locator("strong").text_content() for one in await problems.all()] == [
        "line 8",
        "line 9",
        "line 15",
    ]
    files = page.get_by_role("list", name="Files beside the text")
    await expect(files.get_by_role("listitem")).to_have_count(3)
    assert await faults(page) == []
    text = page.get_by_label("Text of the file")
    await text.fill(BROKEN.replace("infos", "info").replace("descripton", "description").replace("opens", "open"))
    await expect(page.get_by_text("No problems")).to_be_visible()
    await files.get_by_role("button", name="Remove map.png").click()
    # One of the stage, and one of the rows that name it.
    await expect(problems).to_have_count(2)
    await expect(problems.first).to_contain_text("map.png")
    await page.get_by_label("Tables and pictures to add").set_input_files([payload("map.png", PNG)])
    await expect(page.get_by_text("No problems")).to_be_visible()


async def look_as_both(page: Page) -> None:
    """A person sees the picture of the stage and the rows of the table; then the text that only the agent reads."""
    await page.get_by_role("button", name="See as").click()
    seen = page.get_by_role("dialog", name="See as")
    await expect(seen.locator(".c-inside img")).to_have_js_property("naturalWidth", 1)
    await seen.get_by_label("Stage").select_option("rate")
    await expect(seen.locator(".c-inside").get_by_label("A tram.")).to_be_visible()
    await expect(seen.locator(".c-inside").get_by_alt_text("A line")).to_have_count(2)
    await seen.get_by_label("Stage").select_option("talk")
    await seen.get_by_label("Seat").select_option(index=0)
    await expect(seen.locator(".c-prompt")).to_contain_text("You live in Berlin.")
    agents = seen.get_by_role("heading", name="Only an agent reads").locator("..")
    await expect(agents).to_contain_text("You live in Berlin.")
    await seen.get_by_role("button", name="Close").click()


async def read_what_real_models_lack(page: Page) -> None:
    outcome = page.get_by_role("heading", name="What it comes to").locator("..")
    await expect(outcome).to_contain_text("replies of models")
    await expect(outcome).to_contain_text("API_KEY")
    models = page.get_by_role("group", name="Models")
    await models.get_by_role("button", name="real models").click()
    await expect(models.get_by_role("button", name="real models")).to_have_attribute("aria-pressed", "true")
    await page.get_by_role("button", name="Start").click()
    await expect(page.get_by_text(re.compile("Real models cannot be used.*API_KEY"))).to_be_visible()
    await models.get_by_role("button", name="mock").click()
    await expect(models.get_by_role("button", name="mock")).to_have_attribute("aria-pressed", "true")


async def invite_and_start(page: Page) -> None:
    await page.get_by_role("button", name="Guests").click()
    await page.get_by_label("File of a guest list").set_input_files([payload("guests.csv", b"p-17,Ada\np-18,Bo\n")])
    await page.get_by_role("button", name="Save 2 guests").click()
    await expect(page.get_by_text("0 of 2 came")).to_be_visible()
    await page.get_by_role("dialog").get_by_role("button", name="Close").click()
    await page.get_by_role("button", name="Start").click()
    await page.get_by_role("button", name="Link", exact=True).click()
    link = page.get_by_role("dialog", name="The link for people")
    await link.get_by_role("button", name="Copy the link").click()
    await expect(link.get_by_role("img", name="QR code of the link")).to_be_visible()
    assert "/join/" in str(await page.evaluate("navigator.clipboard.readText()"))
    assert await faults(page) == []
    await link.get_by_role("button", name="Close").click()


COPIES: Final = "/v1/experiments?is_test=true&name=The+day"


async def test_a_study_is_tried_alone_against_the_mock_to_its_end(desk: BrowserContext, lab: RunningLab) -> None:
    file = {"parley": 1, "language": "en", **STUDY}
    made = lab.ask("POST", "/v1/experiments", file)
    before = {one["id"] for one in lab.ask("GET", COPIES)["experiments"]}
    page = await signed_in(desk, lab, f"/console/e/{made['id']}/see")

    await page.get_by_role("button", name="Try it alone").click()
    async with desk.expect_page() as opened:
        await page.get_by_role("link", name="Take your seat").click()
    alone = await opened.value
    await alone.get_by_role("button", name="Take part").click()
    await go_through(alone, "Goodbye")

    await expect(alone.get_by_text("Thank you.")).to_be_visible()
    await page.goto("/console")
    await expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    copies = [one for one in lab.ask("GET", COPIES)["experiments"] if one["id"] not in before]
    tried = [one for one in copies if one["model_calls"] and one["model_mode"] == "mock"]
    assert [one["messages"] > 0 for one in tried] == [True]


async def test_a_workbook_gives_its_problems_by_cell_then_warnings_and_a_draft_for_each_permutation(
    browser: Browser, lab: RunningLab
) -> None:
    bad = with_setting(base_values(), temperature="hot")
    values = with_setting(base_values(), model_info="llama-9")
    values["constants"].append(["tokens", "[5, 10]"])
    context = await browser.new_context(base_url=lab.url, locale="en")
    context.set_default_timeout(20_000)
    page = await signed_in(context, lab, "/console?new=1")
    files = page.get_by_label("Files of an experiment")

    await files.set_input_files([payload("study.xlsx", xlsx_of(bad))])
    problems = page.get_by_role("alert").get_by_role("listitem")
    await expect(problems.filter(has_text="experimental_setting!B")).to_contain_text("temperature")
    await files.set_input_files([payload("study.xlsx", xlsx_of(values))])
    await expect(page.get_by_text("The workbook is stored. It was forgiven:")).to_be_visible()
    await expect(page.get_by_role("listitem").filter(has_text="experimental_setting!B3")).to_contain_text("llama-9")
    assert await faults(page) == []
    await page.get_by_role("button", name="Show all").click()

    for name in ("demo_1", "demo_2"):
        await expect(page.get_by_role("link", name=name, exact=True)).to_be_visible()
    await page.get_by_role("link", name="demo_2", exact=True).click()
    await expect(page.get_by_label("Text of the file")).to_have_value(re.compile("tokens"))
    await context.close()


WAYS: Final = [
    pytest.param(click, id="mouse"),
    pytest.param(
        by_keys, id="keys", marks=[pytest.mark.grid, pytest.mark.waits(60, reason="each button is tabbed to")]
    ),
]


# By keys it presses Tab some thousand times.
@pytest.mark.timeout(300)
@pytest.mark.parametrize("press", WAYS)
async def test_the_day_of_a_study_with_four_people(desk: BrowserContext, lab: RunningLab, press: Press) -> None:
    """The experimenter helps, looks on, checks, pauses, continues, moves, removes, speaks, adds, locks and ends."""
    experiment_id = lab.started(STUDY)["id"]
    people = [Person(lab, experiment_id, name) for name in ("Ada", "Bo", "Cy", "Di")]
    page = await signed_in(desk, lab, f"/console/e/{experiment_id}")

    await play(Desk(page, press), lab, experiment_id, people)

    deeds = [one["deed"] for one in lab.ask("GET", f"/v1/deeds?experiment={experiment_id}")["deeds"]]
    assert {one.rpartition("/")[2] for one in deeds} >= {
        "advance",
        "transfer",
        "remove",
        "lock",
        "seats",
        "cohorts",
        "end",
    }
