"""Web addresses in texts are links where the file allows it, and lead nowhere but to the web."""

from typing import Any, Final

import pytest
from playwright.async_api import Locator, Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

TEXT: Final = "See https://example.org/a?b=1&c=2. (Or HTTP://example.org/Other)"
ADDRESSES: Final = ["https://example.org/a?b=1&c=2", "HTTP://example.org/Other"]
HOSTILE: Final = [
    "javascript:window.harm=1",
    "JaVaScRiPt://example.org/%0Awindow.harm=1",
    "data:text/html,<script>window.harm=1</script>",
    'https://example.org/"onmouseover="window.harm=1"',
    "https://example.org/<img src=x onerror=window.harm=1>",
    "//example.org/ and file:///etc/passwd and www.example.org",
]


def study(*, links: bool) -> dict[str, Any]:
    page = {"id": "welcome", "kind": "info", "name": "Welcome", "lines": [TEXT], "links": links}
    return {**STUDY, "stages": [page, {**STUDY["stages"][2], "links": links}]}


async def addresses(links: Locator) -> list[str | None]:
    return [await one.get_attribute("href") for one in await links.all()]


@pytest.mark.grid
async def test_addresses_are_links_where_the_file_allows_it(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(study(links=True)))
    links = page.locator(".text").get_by_role("link")

    assert await addresses(links) == ADDRESSES
    for one in await links.all():
        assert (await one.get_attribute("target"), await one.get_attribute("rel")) == ("_blank", "noopener noreferrer")
    await expect(links.first).to_have_accessible_name("https://example.org/a?b=1&c=2 (opens in a new tab)")


@pytest.mark.grid
async def test_without_a_word_of_the_file_there_are_none(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(study(links=False)))

    await expect(page.get_by_text(TEXT)).to_be_visible()
    await expect(page.get_by_role("main").get_by_role("link")).to_have_count(0)


async def test_nothing_that_is_said_becomes_more_than_a_link_to_the_web(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(study(links=True)))
    await page.get_by_role("button", name="Continue").click()

    for text in (*HOSTILE, TEXT):
        await page.get_by_label("Your message").fill(text)
        await page.get_by_label("Your message").press("Enter")
    said = page.locator(".message:not(.pending) .said")
    await expect(said).to_have_count(len(HOSTILE) + 1)

    assert await addresses(said.get_by_role("link")) == ["https://example.org/", "https://example.org/", *ADDRESSES]
    for link in await said.get_by_role("link").all():
        await link.hover()
        assert set(await link.evaluate("one => one.getAttributeNames()")) == {"href", "target", "rel"}
    assert await said.locator("img, script").count() == 0
    assert await page.evaluate("window.harm") is None
