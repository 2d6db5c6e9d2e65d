"""The guest list in the console: read from a file, and emptied or deleted only once the experimenter says so."""

import pytest
from playwright.async_api import BrowserContext, FilePayload, expect

from tests.pages.accessible import faults
from tests.pages.conftest import RunningLab
from tests.pages.test_console import GROUPS, desk, signed_in

__all__ = ["desk"]

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]


async def test_a_guest_list_is_read_from_a_file_and_shows_who_came(desk: BrowserContext, lab: RunningLab) -> None:
    experiment = lab.started(GROUPS)
    page = await signed_in(desk, lab, f"/console/e/{experiment['id']}")

    await page.get_by_role("button", name="Guests").click()
    file: FilePayload = {"name": "guests.csv", "mimeType": "text/csv", "buffer": b"p-17,Ada\np-18,Bo\n"}
    await page.get_by_label("File of a guest list").set_input_files(file)
    await page.get_by_role("button", name="Save 2 guests").click()
    await expect(page.get_by_text("0 of 2 came")).to_be_visible()
    assert await faults(page) == []

    listed = lab.ask("GET", f"/v1/experiments/{experiment['id']}/guests")["guests"]
    assert [one["external_id"] for one in listed] == ["p-17", "p-18"]


@pytest.mark.grid
async def test_a_file_can_be_chosen_again_and_a_cancelled_choice_changes_nothing(
    context: BrowserContext, lab: RunningLab
) -> None:
    experiment = lab.started(GROUPS)
    page = await signed_in(context, lab, f"/console/e/{experiment['id']}")
    await page.get_by_role("button", name="Guests").click()
    file: FilePayload = {"name": "guests.csv", "mimeType": "text/csv", "buffer": b"p-17,Ada\n"}
    chosen = page.get_by_label("File of a guest list")

    await chosen.set_input_files(file)
    await expect(page.get_by_role("button", name="Save 1 guest")).to_be_visible()
    kept = [await chosen.input_value()]
    await chosen.dispatch_event("change")
    await page.goto("/console/personas")
    for label in ("File of personas", "Agent file"):
        await page.get_by_label(label, exact=True).set_input_files({**file, "name": "agents.yaml"})
        await expect(page.locator(".c-toast")).to_be_visible()
        kept.append(await page.get_by_label(label, exact=True).input_value())

    assert kept == ["", "", ""]


@pytest.mark.grid
async def test_an_empty_list_and_none_are_stored_only_once_the_experimenter_says_so(
    desk: BrowserContext, lab: RunningLab
) -> None:
    experiment = lab.started(GROUPS)
    guests = f"/v1/experiments/{experiment['id']}/guests"
    lab.ask("PUT", guests, {"guests": ["p-17"]})
    page = await signed_in(desk, lab, f"/console/e/{experiment['id']}")
    await page.get_by_role("button", name="Guests").click()
    await page.get_by_label("External ids, one a line").fill("")
    await page.get_by_role("button", name="Save 0 guests").click()

    emptying = page.get_by_role("dialog", name="Let no one join?")
    await expect(emptying).to_be_visible()
    await emptying.get_by_role("button", name="Save an empty list").click()
    await expect(page.get_by_text("0 of 1 came")).to_have_count(0)
    empty = lab.ask("GET", guests)
    await page.get_by_role("button", name="Delete the list").click()
    question = page.get_by_role("dialog", name="Let everybody join?")
    await expect(question).to_be_visible()
    assert await faults(page) == []
    await question.get_by_role("button", name="Cancel").click()
    kept = lab.ask("GET", guests)["has_list"]
    await page.get_by_role("button", name="Delete the list").click()
    await question.get_by_role("button", name="Delete the list").click()
    await expect(page.get_by_text("There is no list: everybody who has the link may join.")).to_be_visible()

    assert (empty["guests"], empty["has_list"], kept) == ([], True, True)
    assert not lab.ask("GET", guests)["has_list"]
