"""Pages in narrow, zoomed and turned windows, with words that are too long for them, and without motion."""

from typing import Any, Final

import pytest
from playwright.async_api import Browser, Page, expect

from parley_lab.kinds.stages import kinds
from parley_lab.testing.quick import quick_first
from tests.pages.accessible import faults
from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join
from tests.pages.test_kinds import example_of, to_the_stage

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

LONG: Final = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz"
TEXTS: Final = {"name", "title", "text", "description", "lines", "question", "lower_text", "upper_text"}


def lengthened(found: Any, name: str = "") -> Any:
    """The same document with a word in each text that is longer than a narrow window."""
    if isinstance(found, dict):
        return {key: one if key == "show_if" else lengthened(one, key) for key, one in found.items()}
    if isinstance(found, list | tuple):
        return [lengthened(one, name) for one in found]
    return f"{LONG} {found}" if isinstance(found, str) and found and name in TEXTS else found


async def is_too_wide(page: Page) -> list[str]:
    """What reaches over the edge of the window and is in no part that scrolls."""
    found: list[str] = await page.evaluate("""
        () => [...document.querySelectorAll("#page *")]
          .filter((one) => one.checkVisibility() && !one.closest(".scrolls, .log, .hidden"))
          .filter((one) => one.getBoundingClientRect().right > innerWidth + 1 || one.getBoundingClientRect().left < -1)
          .map((one) => one.outerHTML.slice(0, 120))
    """)
    return found


@pytest.mark.grid
@pytest.mark.parametrize("language", ["de", "ar"])
@pytest.mark.parametrize("kind", sorted(kinds()))
async def test_long_words_stay_in_a_narrow_window(page: Page, lab: RunningLab, kind: str, language: str) -> None:
    document = example_of(kind)
    stages = [{**lengthened(one), "name": f"{LONG} {one['id']}"} for one in document["stages"][:-1]]
    await page.set_viewport_size({"width": 320, "height": 640})

    experiment = lab.started({**document, "stages": [*stages, document["stages"][-1]], "language": language})
    await page.goto(f"/join/{experiment['join_code']}")
    await page.locator("main .button").first.click()
    await page.wait_for_url("**/take/*")
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await expect(page.get_by_role("heading", level=1)).to_contain_text(LONG)
    await page.locator("header summary").click()

    await expect(page.locator("html")).to_have_attribute("dir", "rtl" if language == "ar" else "ltr")
    assert await is_too_wide(page) == []
    assert await faults(page) == []


@pytest.mark.parametrize("kind", quick_first(["survey", "group_chat", "matrix_game"], 1, pytest.mark.grid))
async def test_a_page_at_twice_its_size_can_be_read_without_scrolling_sideways(
    browser: Browser, lab: RunningLab, kind: str
) -> None:
    # What zooming by 200 % comes to on a screen of 1280 pixels.
    zoomed = await browser.new_context(
        base_url=lab.url, viewport={"width": 640, "height": 360}, device_scale_factor=2, locale="en"
    )
    page = await zoomed.new_page()

    await join(page, lab.started(example_of(kind)))
    await to_the_stage(page)
    await expect(page.get_by_role("heading", level=1)).to_have_text(kinds()[kind].example().title)

    assert await is_too_wide(page) == []
    assert await faults(page) == []
    await zoomed.close()


async def test_nothing_moves_for_those_who_want_no_motion(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(STUDY))
    moving = """
        () => [...document.querySelectorAll("*")]
          .map((one) => getComputedStyle(one))
          .filter((one) => one.transitionDuration !== "0s" || one.animationName !== "none").length
    """
    assert await page.evaluate(moving) > 0

    await page.emulate_media(reduced_motion="reduce")

    assert await page.evaluate(moving) == 0


@pytest.mark.grid
async def test_a_title_shows_its_focus_to_those_who_use_keys_alone(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(STUDY))
    title = page.locator("h1:focus")
    await expect(title).to_have_css("outline-style", "none")

    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("How old are you?")).to_be_visible()

    await expect(title).to_have_css("outline-style", "solid")


@pytest.mark.grid
async def test_a_completion_code_is_broken_only_where_it_is_too_long_for_a_line(page: Page, lab: RunningLab) -> None:
    code = "LINDEN-THANKS"
    await page.set_viewport_size({"width": 390, "height": 800})
    await join(page, lab.started({**STUDY, "stages": STUDY["stages"][:1], "completion": {"completed": {"code": code}}}))
    await page.get_by_role("button", name="Continue").click()
    shown = page.locator(".code")
    await expect(shown).to_have_text(code)
    lines = """
        (one) => {
          const words = document.createRange();
          words.selectNodeContents(one);
          return words.getClientRects().length;
        }
    """

    assert await shown.evaluate(lines) == 1

    await shown.evaluate("one => { one.textContent = 'LINDEN-'.repeat(20); }")
    assert await shown.evaluate(lines) > 1
    assert await page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.grid
async def test_a_scale_of_eleven_points_is_one_row_on_a_phone_with_its_words_at_its_ends(
    page: Page, lab: RunningLab
) -> None:
    words = {"lower_text": "Not at all likely", "upper_text": "Extremely likely"}
    scale = {"id": "likely", "kind": "scale", "title": "How likely?", "lower": 0, "upper": 10, **words}
    await page.set_viewport_size({"width": 320, "height": 700})
    await join(page, lab.started({**STUDY, "stages": [{"id": "q", "kind": "survey", "questions": [scale]}]}))

    points = [await one.bounding_box() for one in await page.locator(".point").all()]
    ends = [await page.get_by_text(text).bounding_box() for text in words.values()]

    assert len({box["y"] for box in points if box}) == 1
    assert len(points) == 11
    first, last, lower, upper = points[0], points[-1], *ends
    assert first is not None
    assert last is not None
    assert lower is not None
    assert upper is not None
    assert first["width"] >= 24
    assert abs(lower["x"] - first["x"]) < 3
    assert abs(upper["x"] + upper["width"] - last["x"] - last["width"]) < 3
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
