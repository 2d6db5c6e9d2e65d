"""Pages in a researcher's colour, with their logo and words, in their language."""

import re

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, expect

from parley_lab.testing.quick import quick_first
from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

DOT = (
    "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHdpZHRoPSI4MCIgaGVpZ2h0PSI0MCI+"
    "PHNjcmlwdD53aW5kb3cuaGFybT0xPC9zY3JpcHQ+PHJlY3Qgd2lkdGg9IjgwIiBoZWlnaHQ9IjQwIi8+PC9zdmc+"
)
LOOKS = {
    "logo": DOT,
    "logo_text": "University of Chur",
    "accent": "#ffd166",
    "words": {"go_on": "Next", "join": "Count me in", "end_left": "So long!"},
}


@pytest.mark.parametrize("scheme", quick_first(["light", "dark"], 1, pytest.mark.grid))
async def test_logo_colour_and_words_are_the_researchers_and_readable(page: Page, lab: RunningLab, scheme: str) -> None:
    experiment = lab.started({**STUDY, "appearance": LOOKS})
    await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")

    await page.goto(f"/join/{experiment['join_code']}")
    await expect(page.get_by_role("img", name="University of Chur")).to_be_visible()
    await page.get_by_role("button", name="Count me in").click()

    await expect(page.get_by_role("img", name="University of Chur")).to_be_visible()
    button = page.get_by_role("button", name="Next")
    await expect(button).to_have_css(
        "background-color", "rgb(255, 209, 102)" if scheme == "dark" else re.compile(r"rgb\(1?\d\d, \d\d, \d\d\)")
    )
    assert (await Axe().run(page)).response["violations"] == []
    assert await page.evaluate("window.harm") is None
    await page.reload()
    await expect(button).to_be_visible()


@pytest.mark.grid
async def test_a_language_from_right_to_left_turns_the_page_round(page: Page, lab: RunningLab) -> None:
    experiment = lab.started({**STUDY, "language": "ar"})
    await page.goto(f"/join/{experiment['join_code']}")
    await page.get_by_role("button", name="المشاركة").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")

    await expect(page.locator("html")).to_have_attribute("dir", "rtl")
    await expect(page.locator("html")).to_have_attribute("lang", "ar")
    box = await page.get_by_role("button", name="متابعة").bounding_box()
    assert box is not None
    assert box["x"] > 390 / 2
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
