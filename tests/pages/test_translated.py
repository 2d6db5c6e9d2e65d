"""A browser that translates the page: it puts an element in place of each text, now and after each change."""

import re
from typing import Any, Final

import pytest
from playwright.async_api import BrowserContext, Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import join

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

TRANSLATE: Final = """
  () => {
    const skipped = "script, style, textarea, font, [translate=no], .notranslate";
    const translate = () => {
      watching.disconnect();
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      const texts = [];
      while (walker.nextNode()) texts.push(walker.currentNode);
      for (const text of texts) {
        if (!text.data.trim() || text.parentElement.closest(skipped)) continue;
        const outer = document.createElement("font");
        const inner = document.createElement("font");
        inner.textContent = `«${text.data}»`;
        outer.append(inner);
        text.replaceWith(outer);
      }
      watching.observe(document.body, { childList: true, subtree: true, characterData: true });
    };
    const watching = new MutationObserver(() => setTimeout(translate, 30));
    translate();
  }
"""
STUDY: Final[dict[str, Any]] = {
    "pace": "live",
    "language": "en",
    "stages": [
        {"id": "welcome", "kind": "info", "lines": ["Hello."]},
        {
            "id": "check",
            "kind": "comprehension",
            "most_attempts": 5,
            "questions": [
                {
                    "id": "n",
                    "kind": "choice",
                    "title": "How many?",
                    "options": [{"id": "two", "text": "Two"}, {"id": "three", "text": "Three"}],
                    "correct": "three",
                }
            ],
        },
        {"id": "talk", "kind": "group_chat", "time_limit_seconds": 300, "progress": {"wait_for_all": False}},
    ],
    "cohorts": [{"seats": [{"open": True, "count": 2}]}],
}


@pytest.mark.grid
async def test_nothing_is_stale_on_a_translated_page_and_what_is_said_is_translated_on_request(
    page: Page, context: BrowserContext, lab: RunningLab
) -> None:
    await join(page, lab.started(STUDY))
    await page.evaluate(TRANSLATE)
    await expect(page.locator("header summary")).to_have_text("«Step 1 of 3»")
    await page.get_by_role("button", name="Continue").click()
    await expect(page.locator("header summary")).to_have_text("«Step 2 of 3»")

    for choice, attempt in (("Two", "«Attempt 2 of 5»"), ("Two", "«Attempt 3 of 5»")):
        await page.get_by_label(choice).check()
        await page.locator("form.form button[type=submit]").click()
        await expect(page.get_by_text("Attempt ")).to_have_text(attempt)
    await page.get_by_label("Three").check()
    await page.locator("form.form button[type=submit]").click()
    await page.get_by_role("button", name="Continue").click()

    clock = page.get_by_role("timer")
    before = await clock.inner_text()
    await expect(clock).not_to_have_text(before)
    await expect(page.locator(".people .name").first).not_to_contain_text("«")
    await page.get_by_label("Your message").fill("Good morning")
    await page.get_by_label("Your message").press("Enter")
    said = page.locator(".message:not(.pending) .said")
    await expect(said).to_have_text("Good morning")
    ask = page.get_by_role("button", name="translate what is said")
    await ask.click()
    await expect(said).to_have_text("«Good morning»")
    await ask.click()
    await expect(said).to_have_text("Good morning")


async def test_the_original_is_there_again_when_the_browser_translates_no_more(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(STUDY))
    summary = page.locator("header summary")

    await page.evaluate(
        """() => {
            const text = document.querySelector("header summary").firstChild;
            const font = document.createElement("font");
            font.textContent = "Schritt";
            text.replaceWith(font);
            setTimeout(() => font.replaceWith(text), 100);
        }"""
    )
    await expect(summary).to_have_text("Schritt")

    await expect(summary).to_have_text("Step 1 of 3")


@pytest.mark.grid
async def test_names_stay_as_they_are_in_a_game(page: Page, context: BrowserContext, lab: RunningLab) -> None:
    game = {"id": "game", "kind": "beauty_contest", "rounds": 2}
    experiment = lab.started({**STUDY, "stages": [game], "cohorts": [{"seats": [{"open": True, "count": 2}]}]})
    other = await (await context.browser.new_context(base_url=lab.url, locale="en")).new_page()  # type: ignore[union-attr]
    for one in (page, other):
        await join(one, experiment)
    await page.evaluate(TRANSLATE)

    for one, guess in ((page, "40"), (other, "20")):
        await one.get_by_role("spinbutton").or_(one.locator("form input")).first.fill(guess)
        await one.locator("main form button[type=submit]").first.click()

    await expect(page.get_by_text("Participant 2 (20)", exact=True)).to_be_visible()
    await expect(
        page.get_by_text(re.compile(r"^Participant \d( \(you\))?, Participant \d( \(you\))?$"))
    ).to_be_visible()
    await other.context.close()
