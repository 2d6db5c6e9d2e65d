"""The field of a conversation: words that are composed, a keyboard over the page, a lab with a fault of its own."""

from typing import Any, Final

import pytest
from playwright.async_api import Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join, leave_talk

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

TALK: Final[dict[str, Any]] = {**STUDY, "stages": [STUDY["stages"][2]]}
COMPOSE: Final = """
    async (field, isSafari) => {
        const set = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set;
        const key = { key: "Enter", code: "Enter", keyCode: 229, which: 229, bubbles: true, cancelable: true };
        const confirm = () => field.dispatchEvent(new KeyboardEvent("keydown", { ...key, isComposing: !isSafari }));
        const whole = { bubbles: true, data: "にほん" };
        const end = () => field.dispatchEvent(new CompositionEvent("compositionend", whole));
        field.focus();
        field.dispatchEvent(new CompositionEvent("compositionstart", { bubbles: true, data: "" }));
        set.call(field, "にほん");
        const typed = { bubbles: true, data: "にほん", isComposing: true, inputType: "insertCompositionText" };
        field.dispatchEvent(new InputEvent("input", typed));
        await new Promise((wake) => setTimeout(wake, 50));
        for (const event of isSafari ? [end, confirm] : [confirm, end]) event();
    }
"""
"""Types a word by an input method, and confirms it by Enter. In Safari the composition ends before the key."""
FAIL_POSTS: Final = """
    () => {
        const real = window.fetch, end = Date.now() + 3000;
        const body = JSON.stringify({ status: 500, code: "unexpected", detail: "x" });
        const headers = { "Content-Type": "application/problem+json" };
        window.failed = 0;
        window.fetch = (address, options = {}) => {
            if (options.method !== "POST" || Date.now() > end) return real(address, options);
            window.failed += 1;
            return Promise.resolve(new Response(body, { status: 500, headers }));
        };
    }
"""
"""For three seconds the lab answers each request that posts with 500."""


@pytest.mark.parametrize(
    "is_safari", [pytest.param(False, id="chromium"), pytest.param(True, id="safari", marks=pytest.mark.grid)]
)
async def test_enter_that_confirms_a_word_sends_nothing(page: Page, lab: RunningLab, is_safari: bool) -> None:
    await join(page, lab.started(TALK))
    field = page.get_by_label("Your message")

    await field.evaluate(COMPOSE, is_safari)
    await page.wait_for_timeout(100)

    await expect(field).to_have_value("にほん")
    await expect(page.locator(".message")).to_have_count(0)
    await field.press("Enter")
    await expect(page.locator(".message .said")).to_have_text("にほん")


@pytest.mark.grid
async def test_the_newest_message_stays_in_sight_when_a_keyboard_comes_up_or_a_phone_is_turned(
    page: Page, lab: RunningLab
) -> None:
    await page.set_viewport_size({"width": 390, "height": 844})
    await join(page, lab.started(TALK))
    field = page.get_by_label("Your message")
    for number in range(12):
        await field.fill(f"Message {number}")
        await field.press("Enter")
    newest = page.get_by_text("Message 11", exact=True)
    await expect(newest).to_be_in_viewport(ratio=1)

    for width, height in ((390, 544), (844, 390), (844, 220), (390, 844)):
        await page.set_viewport_size({"width": width, "height": height})

        await expect(newest).to_be_in_viewport(ratio=1)
        await expect(field).to_be_in_viewport(ratio=0.9)


@pytest.mark.grid
async def test_leaving_a_conversation_that_goes_on_asks_once(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started({**STUDY, "stages": STUDY["stages"][2:]}))

    await page.get_by_role("button", name="I am ready to end").dblclick()
    await page.get_by_role("button", name="No, stay in it").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("The conversation")
    await leave_talk(page)

    await expect(page.get_by_role("heading", level=1)).to_have_text("Goodbye")


@pytest.mark.grid
async def test_a_message_goes_out_by_itself_after_a_fault_of_the_lab(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(TALK))

    await page.evaluate(FAIL_POSTS)
    await page.get_by_label("Your message").fill("Good morning")
    await page.get_by_label("Your message").press("Enter")

    await expect(page.locator(".message:not(.pending) .said")).to_have_text("Good morning", timeout=30_000)
    assert await page.evaluate("window.failed") > 1


@pytest.mark.grid
async def test_a_message_that_comes_too_late_offers_no_other_try(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started({**TALK, "stages": [{**TALK["stages"][0], "time_limit_seconds": 3}]}))

    await page.route("**/messages", lambda route: route.abort())
    await page.get_by_label("Your message").fill("Too late")
    await page.get_by_label("Your message").press("Enter")
    await expect(page.get_by_text("The time for this conversation is over.")).to_be_visible()
    await page.unroute("**/messages")

    await expect(page.locator(".pending .hint")).to_have_text("not sent: The conversation is over.", timeout=30_000)
    await expect(page.get_by_role("button", name="Try again")).to_have_count(0)


@pytest.mark.grid
async def test_a_form_keeps_what_was_entered_in_a_fault_of_the_lab(page: Page, lab: RunningLab) -> None:
    about = {**STUDY["stages"][1], "questions": STUDY["stages"][1]["questions"][1:2]}
    await join(page, lab.started({**STUDY, "stages": [about, STUDY["stages"][3]]}))
    city = page.get_by_label("Where do you live?")

    await page.evaluate(FAIL_POSTS)
    await city.fill("Chur")
    await page.get_by_role("button", name="Continue").click()

    while await page.evaluate("window.failed") < 2:
        await page.wait_for_timeout(50)
    await expect(city).to_have_value("Chur")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Goodbye", timeout=30_000)
