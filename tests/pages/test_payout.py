"""The page that says what one is paid, and for what."""

from typing import Any, Final

import pytest
from playwright.async_api import Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import join

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

QUIZ: Final[dict[str, Any]] = {
    "id": "quiz",
    "kind": "survey",
    "name": "A quiz",
    "questions": [
        {
            "id": "capital",
            "kind": "choice",
            "title": "Which one is the capital?",
            "options": [{"id": "bern", "text": "Bern"}, {"id": "chur", "text": "Chur"}],
            "correct": "bern",
        }
    ],
}
PAY: Final[dict[str, Any]] = {
    "id": "pay",
    "kind": "payout",
    "name": "Your payment",
    "currency": "EUR",
    "items": [
        {"id": "coming", "stage": "quiz", "base": 2.50, "name": "For taking part"},
        {"id": "both", "stage": "quiz", "base": 1, "questions": {"capital": 0.35}},
    ],
}


async def test_an_amount_is_said_once_and_one_of_several_parts_in_parts(page: Page, lab: RunningLab) -> None:
    experiment = lab.started({"language": "en", "stages": [QUIZ, PAY], "cohorts": [{"seats": [{"open": True}]}]})
    await join(page, experiment)
    await page.get_by_label("Bern").check()
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Your payment")

    coming, both = [page.get_by_role("listitem").filter(has_text=name) for name in ("€2.50", "€1.35")]
    await expect(coming).to_have_text("For taking part €2.50", use_inner_text=False)
    await expect(both.locator(".hint")).to_have_text(["For taking part: €1.00", "For one right answer: €0.35"])
