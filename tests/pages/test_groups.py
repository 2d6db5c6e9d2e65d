"""Groups in the browser: the link of one of them, who is missing, and the offer of a place in another."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.pages.accessible import faults
from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join, leave_talk
from tests.pages.test_lost_answers import CUT, cut

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

BACK = "https://example.org/declined?cc=D1"
TWO_GROUPS: dict[str, Any] = {
    **STUDY,
    "stages": [STUDY["stages"][2], STUDY["stages"][3]],
    "completion": {"transfer_declined": {"code": "D1", "redirect": BACK}},
    "cohorts": [{"count": 2, "seats": [{"open": True, "count": 2}]}],
}


# Keeps every text that mentions the connection.
WATCH = """() => {
    window.told = [];
    new MutationObserver(() => {
        const text = document.querySelector("main").innerText;
        if (text.includes("connection")) window.told.push(text);
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""


@pytest_asyncio.fixture(loop_scope="session")
async def other(browser: Browser, lab: RunningLab) -> AsyncIterator[Page]:
    """A second browser, which knows nothing of the first."""
    context = await browser.new_context(base_url=lab.url, locale="en")
    yield await context.new_page()
    await context.close()


def groups(lab: RunningLab, experiment: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The groups of the experiment, by path."""
    found = lab.ask("GET", f"/v1/experiments/{experiment['id']}/cohorts")["cohorts"]
    return {one["path"]: one for one in found}


def people(lab: RunningLab, experiment: dict[str, Any]) -> dict[str, str]:
    """The ids of those who have joined, by path."""
    found = lab.ask("GET", f"/v1/experiments/{experiment['id']}/members")["members"]
    return {one["path"]: one["id"] for one in found if one["joined_at"]}


@pytest.mark.grid
async def test_the_link_of_a_group_leads_into_this_group(page: Page, other: Page, lab: RunningLab) -> None:
    experiment = lab.started(TWO_GROUPS)

    await join(page, groups(lab, experiment)["c2"])
    await join(other, groups(lab, experiment)["c2"])
    await expect(page.get_by_label("Your message")).to_be_visible()
    assert set(people(lab, experiment)) == {"c2/m1", "c2/m2"}

    await other.context.clear_cookies()
    await other.evaluate("localStorage.clear()")
    await other.goto(f"/join/{groups(lab, experiment)['c2']['join_code']}")
    await expect(other.get_by_text("All places are taken.")).to_be_visible()
    await expect(other.get_by_role("button", name="Take part")).to_have_count(0)


@pytest.mark.grid
async def test_who_waits_for_someone_they_have_met_reads_the_name(page: Page, other: Page, lab: RunningLab) -> None:
    ask = {"id": "ask", "kind": "info", "name": "Alone", "lines": ["Read this."]}
    meet = {"id": "meet", "kind": "info", "name": "All", "lines": ["Hello."], "progress": {"wait_for_all": True}}
    stages = [STUDY["stages"][2], ask, meet]
    experiment = lab.started({**TWO_GROUPS, "stages": stages, "cohorts": [{"seats": [{"open": True, "count": 2}]}]})
    for one in (page, other):
        await join(one, experiment)
    for one in (page, other):
        await leave_talk(one)
    for one in (page, other):
        await expect(one.get_by_role("heading", level=1)).to_have_text("Alone")

    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_text("1 of 2 is here.")).to_be_visible()
    await expect(page.get_by_text("Not there yet: Participant 2.")).to_be_visible()


async def test_a_page_that_waits_hears_of_others_by_its_stream_and_asks_nothing_meanwhile(
    page: Page, other: Page, lab: RunningLab
) -> None:
    meet = {"id": "meet", "kind": "info", "name": "All", "lines": ["Hello."], "progress": {"wait_for_all": True}}
    seats = {"cohorts": [{"seats": [{"open": True, "count": 3}]}]}
    experiment = lab.started({**TWO_GROUPS, "stages": [meet], **seats})
    await page.clock.install()
    await join(page, experiment)
    await expect(page.get_by_text("1 of 3 is here.")).to_be_visible()
    await join(other, experiment)
    await expect(page.get_by_text("2 of 3 are here.")).to_be_visible()

    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url.partition("/v1/")[2]) if "/v1/" in one.url else None)
    await page.clock.fast_forward(30_000)
    lab.ask("POST", f"/v1/members/{people(lab, experiment)['c1/m2']}/remove", {"reason": "The room is full."})

    await expect(page.get_by_text("1 of 2 is here.")).to_be_visible()
    assert asked == ["me", "me/stages/meet"]


async def test_people_say_that_they_are_there_and_their_group_begins(page: Page, other: Page, lab: RunningLab) -> None:
    meeting = {"made": "when_together", "at": "talk", "seats": [{"open": True, "count": 2}]}
    alone = {"id": "alone", "kind": "info", "name": "Alone", "lines": ["Read this."]}
    cohorts = [{**meeting, "match": {"confirm_seconds": 60}}]
    experiment = lab.started({**STUDY, "stages": [alone, STUDY["stages"][2]], "cohorts": cohorts})
    nothing_to_do = page.get_by_text("You need not do anything.")

    await join(page, experiment)
    await page.get_by_role("button", name="Continue").click()
    await expect(nothing_to_do).to_be_visible()
    await join(other, experiment)
    await other.get_by_role("button", name="Continue").click()

    await expect(page.get_by_text("A group is complete. Are you there?")).to_be_visible()
    await expect(nothing_to_do).to_have_count(0)
    for one in (page, other):
        await one.get_by_role("button", name="I am here").dblclick()
    for one in (page, other):
        await expect(one.get_by_label("Your message")).to_be_visible()


@pytest.mark.grid
async def test_people_who_wait_read_their_place_and_about_how_long_it_takes(
    page: Page, other: Page, browser: Browser, lab: RunningLab
) -> None:
    meeting = {"made": "when_together", "at": "talk", "seats": [{"open": True, "count": 4}]}
    alone = {"id": "alone", "kind": "info", "name": "Alone", "lines": ["Read this."]}
    experiment = lab.started({**STUDY, "stages": [alone, STUDY["stages"][2]], "cohorts": [meeting]})

    async with await browser.new_context(base_url=lab.url, locale="en") as context:
        # How long it takes is known once three have come.
        for one in (page, other, await context.new_page()):
            await join(one, experiment)
            await one.get_by_role("button", name="Continue").click()
            await expect(one.get_by_role("heading", level=1)).to_have_text("Waiting for others")

        about = "If people go on coming like this, it begins in about 1 minute."
        for place, one in enumerate((page, other), start=1):
            await expect(one.get_by_text(f"You are number {place} in the row. {about}")).to_be_visible()


@pytest.mark.grid
async def test_an_offered_place_in_another_group_is_taken(page: Page, other: Page, lab: RunningLab) -> None:
    seats = [{"seats": [{"open": True, "count": 2}]}, {"seats": [{"open": True}]}]
    experiment = lab.started({**TWO_GROUPS, "cohorts": seats})
    first, second = groups(lab, experiment)["c1"], groups(lab, experiment)["c2"]
    await join(page, first)
    await join(other, second)
    lab.ask("POST", f"/v1/members/{people(lab, experiment)['c1/m1']}/transfer", {"cohort_id": second["id"]})

    offer = page.get_by_role("alertdialog", name="You are offered a place in another group.")
    await expect(offer).to_be_visible()
    assert await faults(page) == []
    await offer.get_by_role("button", name="Go to the other group").click()

    await expect(offer).to_have_count(0)
    for one in (page, other):
        await expect(one.get_by_label("Your message")).to_be_visible()
    await page.get_by_label("Your message").fill("Hello, new group")
    await page.get_by_label("Your message").press("Enter")
    await expect(other.get_by_role("log").get_by_text("Hello, new group")).to_have_count(1)


@pytest.mark.grid
async def test_the_page_of_who_is_moved_or_removed_says_nothing_of_the_connection(page: Page, lab: RunningLab) -> None:
    experiment = lab.started({**TWO_GROUPS, "stages": [STUDY["stages"][0]]})
    first, second = groups(lab, experiment)["c1"], groups(lab, experiment)["c2"]
    await join(page, first)
    lab.ask("POST", f"/v1/members/{people(lab, experiment)['c1/m1']}/transfer", {"cohort_id": second["id"]})
    await page.evaluate(WATCH)

    async with page.expect_response("**/v1/me/stream"):
        await page.get_by_role("button", name="Go to the other group").click()

    await expect(page.get_by_role("alertdialog")).to_have_count(0)
    assert await page.evaluate("told") == []

    lab.ask("POST", f"/v1/members/{people(lab, experiment)['c1/m1']}/remove", {"reason": "The room is closed."})

    await expect(page.get_by_text("ended by the researchers")).to_be_visible()
    assert await page.evaluate("told") == []


@pytest.mark.grid
@pytest.mark.parametrize("answer", ["Go to the other group", "No, end my part"])
async def test_an_offer_whose_answer_was_cut_on_its_way_back_is_answered(
    page: Page, lab: RunningLab, answer: str
) -> None:
    experiment = lab.started({**TWO_GROUPS, "cohorts": [{"count": 2, "seats": [{"open": True}]}]})
    first, second = groups(lab, experiment)["c1"], groups(lab, experiment)["c2"]
    await page.add_init_script(CUT)
    await join(page, first)
    lab.ask("POST", f"/v1/members/{people(lab, experiment)['c1/m1']}/transfer", {"cohort_id": second["id"]})
    await expect(page.get_by_role("alertdialog")).to_be_visible()

    await cut(page, "/me/transfer", 1)
    async with page.expect_response(lambda one: one.url.endswith("/me/transfer")) as answered:
        await page.get_by_role("button", name=answer).click()
    assert (await answered.value).status == 200
    async with page.expect_response(lambda one: one.url.endswith("/me/transfer")) as repeated:
        pass

    assert (await repeated.value).status == 200


async def test_who_declines_an_offer_is_shown_the_code_and_the_way_back(page: Page, lab: RunningLab) -> None:
    experiment = lab.started(TWO_GROUPS)
    first, second = groups(lab, experiment)["c1"], groups(lab, experiment)["c2"]
    await join(page, first)
    lab.ask("POST", f"/v1/members/{people(lab, experiment)['c1/m1']}/transfer", {"cohort_id": second["id"]})

    await page.get_by_role("button", name="No, end my part").click()

    await expect(page.get_by_text("Your completion code: D1")).to_be_visible()
    await expect(page.get_by_role("link", name="Finish")).to_have_attribute("href", BACK)


@pytest.mark.grid
async def test_who_is_paused_by_staff_reads_so_and_goes_on_afterwards(page: Page, other: Page, lab: RunningLab) -> None:
    experiment = lab.started({**TWO_GROUPS, "cohorts": [{"seats": [{"open": True, "count": 2}]}]})
    for one in (page, other):
        await join(one, experiment)
    member = people(lab, experiment)["c1/m1"]

    lab.ask("POST", f"/v1/members/{member}/pause")

    await expect(page.get_by_text("It goes on by itself.")).to_be_visible()
    await page.get_by_label("Your message").fill("I was away")
    await page.keyboard.press("Enter")
    lab.ask("POST", f"/v1/members/{member}/resume")
    await expect(other.get_by_role("log").get_by_text("I was away")).to_be_visible()
    await expect(page.get_by_text("It goes on by itself.")).to_have_count(0)
    await expect(other.get_by_text("It goes on by itself.")).to_have_count(0)
