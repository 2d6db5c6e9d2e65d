"""What a person does in the browser, for the tests of the pages."""

from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Page, expect


async def join(page: Page, experiment: dict[str, Any]) -> None:
    """Take part by the link of the experiment; the page of the first stage is there afterwards."""
    await page.goto(f"/join/{experiment['join_code']}")
    await page.get_by_role("button", name="Take part").click()
    await expect(page.get_by_text("Step 1 of")).to_be_visible()
    await expect(page.get_by_role("heading", level=1)).to_be_visible()


async def take_along(page: Page, other: Page) -> None:
    """Take part on another device, which knows the participant's token."""
    key = f"parley.token.{page.url.rpartition('/')[2]}"
    token = await page.evaluate("key => localStorage.getItem(key)", key)
    await other.add_init_script(f"localStorage.setItem('{key}', '{token}')")
    await other.goto(urlsplit(page.url).path)


async def leave_talk(page: Page) -> None:
    """Leave a conversation that goes on, and say that one means it."""
    await page.get_by_role("button", name="I am ready to end").click()
    await page.get_by_role("button", name="Yes, leave it").click()


STUDY: dict[str, Any] = {
    "language": "en",
    "pace": "live",
    "stages": [
        {"id": "welcome", "kind": "info", "name": "Welcome", "lines": ["Please *read* this."]},
        {
            "id": "about",
            "kind": "survey",
            "name": "About you",
            "questions": [
                {"id": "age", "kind": "number", "title": "How old are you?", "minimum": 18, "integer": True},
                {"id": "city", "kind": "text", "title": "Where do you live?", "max_chars": 100},
                {"id": "trust", "kind": "scale", "title": "How much do you trust buses?", "lower": 1, "upper": 7},
                {
                    "id": "often",
                    "kind": "choice",
                    "title": "How often do you ride?",
                    "options": [{"id": "never", "text": "Never"}, {"id": "daily", "text": "Daily"}],
                },
                {
                    "id": "why",
                    "kind": "text",
                    "title": "Why never?",
                    "show_if": {"question": "often", "value": "never"},
                },
            ],
        },
        {"id": "talk", "kind": "group_chat", "name": "The conversation", "replies_and_reactions": True},
        {"id": "bye", "kind": "info", "name": "Goodbye", "lines": ["Thank you."]},
    ],
    "cohorts": [{"seats": [{"open": True}]}],
}
