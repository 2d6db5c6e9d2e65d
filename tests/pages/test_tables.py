"""Tables in narrow windows: nothing of them is cut off, and they are tables for those who do not see them."""

from contextlib import suppress
from typing import Final

import pytest
from playwright.async_api import Error, Page, Route, expect

from parley_lab.testing.quick import quick_first
from tests.pages.accessible import faults
from tests.pages.conftest import RunningLab
from tests.pages.going_through import act, title_of, words_in
from tests.pages.test_kinds import example_of
from tests.pages.test_looks import is_too_wide

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

TABLES: Final = quick_first([("stock_info", 2), ("beauty_contest", 1), ("matrix_game", 2)], 1, pytest.mark.grid)
NAME: Final = "Anna-Katharina"
TURNS: Final = 200
AT_ONCE_MS: Final = 2_000
"""So long one act may take: the page may have changed meanwhile, and the next look tells."""
AT_REST_MS: Final = 20_000


async def cut_off(page: Page) -> list[str]:
    """The tables that show only a part of themselves."""
    found: list[str] = await page.evaluate("""
        () => [...document.querySelectorAll(".scrolls")]
          .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth)
          .map((one) => one.ariaLabel)
    """)
    return found


async def show_tables(page: Page, language: str, count: int) -> None:
    """Act until there are at least so many tables, with all that can be opened open."""
    words = words_in(language)
    page.set_default_timeout(AT_ONCE_MS)
    for _ in range(TURNS):
        if await page.get_by_role("table", include_hidden=True).count() >= count:
            break
        with suppress(Error):  # the page has changed meanwhile
            await act(page, await title_of(page), words)
        await page.wait_for_timeout(60)
    page.set_default_timeout(AT_REST_MS)
    closed = page.locator("article details:not([open]) > summary")
    while await closed.count():
        await closed.first.click()
    await expect(page.get_by_role("table").nth(count - 1)).to_be_visible()


@pytest.mark.parametrize("language", quick_first(["de", "en"], 1, pytest.mark.grid))
@pytest.mark.parametrize(("kind", "tables"), TABLES)
async def test_nothing_of_a_table_is_cut_off_in_a_narrow_window(
    page: Page, lab: RunningLab, kind: str, tables: int, language: str
) -> None:
    document = example_of(kind)
    people = [{**one, "profile": {"name": NAME}} for one in document["personas"]]
    experiment = lab.started({**document, "personas": people, "language": language})
    await page.goto(f"/join/{experiment['join_code']}")
    await page.locator("main .button").first.click()
    await page.wait_for_url("**/take/*")
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await show_tables(page, language, tables)

    for width in (320, 390, 1280):
        await page.set_viewport_size({"width": width, "height": 800})
        table = page.get_by_role("table").last
        assert (width, await cut_off(page), await is_too_wide(page), await faults(page)) == (width, [], [], [])
        fields = table.get_by_role("row").nth(1).locator("th, td")
        assert await table.get_by_role("columnheader").count() == await fields.count()
        await expect(table.get_by_role("row").last.get_by_role("rowheader")).to_have_count(1)


@pytest.mark.grid
async def test_a_stock_stays_closed_until_the_lab_has_asked_for_a_look(page: Page, lab: RunningLab) -> None:
    """A page may be read before the cohort is settled, which asks."""

    async def without_forms(route: Route) -> None:
        answer = await route.fetch()
        await route.fulfill(response=answer, json={**await answer.json(), "forms": []})

    await page.route("**/v1/me/stages/*", without_forms)
    experiment = lab.started(example_of("stock_info"))
    await page.goto(f"/join/{experiment['join_code']}")
    await page.locator("main .button").first.click()
    await page.wait_for_url("**/take/*")

    await expect(page.get_by_role("button", name="Look at Alpha Rail")).to_be_visible()
    await expect(page.get_by_role("table", include_hidden=True)).to_have_count(0)
