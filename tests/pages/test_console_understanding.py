"""The analyst's journey: why an agent said something, its failed calls, and how two prompts differ."""

import re
from typing import Any, Final

import pytest
from playwright.async_api import BrowserContext, Page, expect

from tests.pages.accessible import faults
from tests.pages.conftest import RunningLab
from tests.pages.test_console import GROUPS, desk, signed_in

__all__ = ["desk"]

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

# Each first attempt of Gus fails, so that he is later than the others and often loses.
FAILING: Final = {"failures": [{"status": "invalid", "attempts": [1], "text": "hmm"}]}
STUDY: Final[dict[str, Any]] = {
    "parley": 1,
    "name": "Two ways to decide",
    "pace": "fast",
    "variables": {"way": ""},
    "treatments": [
        {"id": "vote", "variables": {"way": "You decide by a vote."}},
        {"id": "lot", "variables": {"way": "A lot decides."}},
    ],
    "personas": [
        {"id": "gus", "profile": {"name": "Gus"}, "text": "You drive a car.", "mock": FAILING},
        {"id": "ida", "profile": {"name": "Ida"}, "text": "You ride a bicycle."},
        {"id": "eve", "profile": {"name": "Eve"}, "text": "You walk."},
    ],
    "stages": [
        {"id": "talk", "kind": "group_chat", "name": "The talk", "description": "{{way}}"},
    ],
    "cohorts": [
        {"treatment": arm, "seats": [{"persona": one} for one in ("gus", "ida", "eve")]} for arm in ("vote", "lot")
    ],
}  # fmt: skip


@pytest.mark.grid
@pytest.mark.waits(60, reason="two groups of agents talk")
async def test_an_analyst_finds_out_why_an_agent_said_something(desk: BrowserContext, lab: RunningLab) -> None:
    made = lab.ask("POST", "/v1/experiments", STUDY)
    lab.ask("POST", f"/v1/experiments/{made['id']}/start")
    page = await signed_in(desk, lab, f"/console/e/{made['id']}")
    await expect(page.locator(".c-head .c-is-ended")).to_be_visible(timeout=40_000)

    await from_a_message_to_its_attempts(page)
    await failed_calls_of_gus(page, lab, made["id"])
    await compare_prompts(page)


async def from_a_message_to_its_attempts(page: Page) -> None:
    await page.get_by_role("link", name="Conversations").click()
    await page.locator(".c-line a").first.click()
    await page.locator(".c-talk li .c-lane", has_text="Gus").filter(has_text="lost claim").first.click()
    draft = page.get_by_role("complementary", name="Draft")
    await expect(draft.get_by_text("would have said")).to_be_visible()
    await expect(draft.get_by_text("Sent exactly so.")).to_be_visible()
    await expect(draft.locator(".c-prompt")).to_contain_text("You drive a car.")
    await expect(draft.locator(".c-figure", has_text="tokens")).to_contain_text(re.compile(r"[1-9]\d* \+ [1-9]"))
    await draft.get_by_role("button", name="Reply (2 attempts)").click()
    await expect(draft.get_by_role("heading", name="Attempt 1 invalid")).to_be_visible()
    await expect(draft.get_by_role("heading", name="Attempt 2 ok")).to_be_visible()
    await expect(draft.get_by_label("Raw reply").first).to_contain_text("hmm")
    await expect(draft.get_by_text(re.compile(r"\d ms"))).to_have_count(2)
    assert await faults(page) == []
    await page.keyboard.press("Escape")


async def failed_calls_of_gus(page: Page, lab: RunningLab, experiment_id: str) -> None:
    """All of them and no other, from the panel of the member."""
    await page.get_by_role("link", name="Board").click()
    await page.get_by_role("table", name="Groups by stages").get_by_role("link").first.click()
    panel = page.get_by_role("complementary")
    await panel.get_by_role("listitem").get_by_role("button", name="Gus").click()
    await panel.get_by_role("group", name="Show").get_by_role("button", name="Replies").click()
    await panel.get_by_role("link", name="Failed calls").click()
    calls = page.get_by_role("table", name="Calls of models")
    await expect(calls).to_be_visible()
    gus = next(one["id"] for one in lab.ask("GET", f"/v1/experiments/{experiment_id}/members")["members"]
               if one["path"] == "c1/m1")  # fmt: skip
    failed = lab.ask("GET", f"/v1/experiments/{experiment_id}/calls?member={gus}&status=failed")["calls"]
    assert len(failed) > 0
    await expect(calls.get_by_role("row")).to_have_count(len(failed) + 1)
    assert {await one.text_content() for one in await calls.locator(".c-state").all()} == {"invalid"}
    assert await faults(page) == []
    await page.get_by_role("button", name="only of c1/m1 Gus").click()
    await page.get_by_label("Status").select_option("")
    await expect(calls.locator(".c-is-ok").first).to_be_visible()


async def compare_prompts(page: Page) -> None:
    """Two personas of one arm, then two arms of one persona: the lines that only one of them reads."""
    await page.get_by_role("link", name="See as").click()
    await page.get_by_role("button", name="Compare prompts").click()
    compared = page.get_by_role("region", name="Compare prompts")
    await expect(compared).to_contain_text("The two prompts are the same.")
    await compared.get_by_label("other seat").select_option("c1/m2")
    await expect(compared.locator("del").filter(has_text="You drive a car.")).to_have_count(1)
    await expect(compared.locator("ins").filter(has_text="You ride a bicycle.")).to_have_count(1)
    assert await faults(page) == []
    await page.reload()
    await expect(compared.locator("ins").filter(has_text="You ride a bicycle.")).to_have_count(1)
    await compared.get_by_label("other arm").select_option("lot")
    await expect(compared.locator("del").filter(has_text="You decide by a vote.")).to_have_count(1)
    await expect(compared.locator("ins").filter(has_text="A lot decides.")).to_have_count(1)
    await expect(compared.locator("del, ins").filter(has_text="You ride a bicycle.")).to_have_count(0)
    await compared.get_by_role("button", name="Close the comparison").click()
    await expect(compared).to_have_count(0)


async def test_an_agent_of_the_library_is_shown_a_stage_of_an_experiment(desk: BrowserContext, lab: RunningLab) -> None:
    lab.ask("PUT", "/v1/personas/rower", {"profile": {"name": "Rower"}, "text": "You row."})
    made = lab.ask("POST", "/v1/experiments", {**GROUPS, "name": "To row in"})
    page = await signed_in(desk, lab, "/console/personas/rower")

    await page.get_by_label("experiment", exact=True).select_option(made["id"])
    await page.get_by_label("Stage").select_option("talk")

    await expect(page.locator(".c-prompt")).to_contain_text("You row.")
    await expect(page.locator(".c-prompt")).to_contain_text("The talk")
    assert await faults(page) == []
