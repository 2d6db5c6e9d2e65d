"""What a screen reader says of a conversation: each new message once, in order, with its author; whose turn it is."""

from itertools import pairwise
from typing import Any, Final

import pytest
from playwright.async_api import Browser, Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

NOTE: Final = """
    window.announced = [];
    const isSaid = (element) => {
      const region = element?.closest("[aria-live], [role=log], [role=status], [role=alert]");
      return region !== null && region !== undefined && region.getAttribute("aria-live") !== "off";
    };
    const textOf = (node) => {
      if (node.nodeName === "BUTTON") return "";
      return node.nodeType === Node.TEXT_NODE ? node.data : [...node.childNodes].map(textOf).join(" ");
    };
    const note = (node) => {
      const element = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
      const words = textOf(node).replace(/\\s+/g, " ").trim();
      if (element instanceof Element && isSaid(element) && words) window.announced.push(words);
    };
    new MutationObserver((changes) => {
      for (const { type, target, addedNodes } of changes) {
        for (const node of type === "childList" ? addedNodes : [target]) note(node);
      }
    }).observe(document, { subtree: true, childList: true, characterData: true });
"""
"""Keeps what is added to live regions, which is what screen readers say."""


def talk(**more: Any) -> dict[str, Any]:
    stage = {**STUDY["stages"][2], **more}
    return {**STUDY, "stages": [stage, STUDY["stages"][3]], "cohorts": [{"seats": [{"open": True, "count": 2}]}]}


async def two_people(page: Page, browser: Browser, lab: RunningLab, study: dict[str, Any]) -> Page:
    """Both are in the conversation; the other one is returned."""
    experiment = lab.started(study)
    other = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()
    await page.add_init_script(NOTE)
    for one in (page, other):
        await one.goto(f"/join/{experiment['join_code']}")
        await one.get_by_role("button", name="Take part").click()
    for one in (page, other):
        await expect(one.get_by_text("Who is here")).to_be_visible()
    await expect(page.get_by_role("log")).to_have_attribute("aria-live", "polite")
    return other


async def say(page: Page, words: str) -> None:
    await page.get_by_label("Your message").fill(words)
    await page.get_by_label("Your message").press("Enter")


async def announced(page: Page, *among: str) -> list[str]:
    """What was said that has one of these words in it."""
    said: list[str] = await page.evaluate("window.announced")
    return [words for words in said if any(one in words for one in among)]


async def read_in_order(page: Page) -> list[str]:
    """The messages as the browser's accessibility tree has them."""
    session = await page.context.new_cdp_session(page)
    nodes = {one["nodeId"]: one for one in (await session.send("Accessibility.getFullAXTree"))["nodes"]}

    def words(node: dict[str, Any]) -> list[str]:
        if node["role"]["value"] == "StaticText":
            return [node["name"]["value"].strip()]
        if node["role"]["value"] == "button":
            return []
        return [found for child in node.get("childIds", ()) for found in words(nodes[child])]

    (log,) = [one for one in nodes.values() if one["role"]["value"] == "log"]
    properties = {one["name"]: one["value"]["value"] for one in log["properties"]}
    assert properties["live"] == "polite"
    articles = [nodes[child] for child in log["childIds"] if nodes[child]["role"]["value"] == "article"]
    return [" ".join(filter(None, words(one))) for one in articles]


async def test_a_new_message_is_announced_once_in_order_with_its_author(
    page: Page, browser: Browser, lab: RunningLab
) -> None:
    other = await two_people(page, browser, lab, talk())

    for words in ("First", "Second", "Third"):
        await say(other, words)
    await expect(page.locator(".message")).to_have_count(3)
    await say(page, "Fourth")
    await expect(page.locator(".message:not(.pending)")).to_have_count(4)
    await other.get_by_role("button", name="Like with a heart").first.click()
    await expect(page.get_by_role("button", name="Like with a heart, 1 person")).to_be_visible()

    author = await page.locator(".message .author").first.inner_text()
    me = " ".join((await page.locator(".message.own .author").inner_text()).split())
    expected = [f"{author} First", f"{author} Second", f"{author} Third", f"{me} Fourth"]
    said = await announced(page, "First", "Second", "Third", "Fourth")
    assert said == expected
    assert await read_in_order(page) == expected

    await page.reload()
    await expect(page.locator(".message")).to_have_count(4)
    await say(other, "Fifth")
    await expect(page.locator(".message")).to_have_count(5)
    said = await announced(page, "First", "Second", "Third", "Fourth", "Fifth")
    assert said == [f"{author} Fifth"], "what was said before the page came is not new"
    await other.context.close()


@pytest.mark.grid
async def test_whose_turn_it_is_is_announced(page: Page, browser: Browser, lab: RunningLab) -> None:
    other = await two_people(page, browser, lab, talk(turn_taking="round"))
    is_mine = page.get_by_text("It is your turn.")
    first, second = (page, other) if await is_mine.count() else (other, page)

    for one in (first, second, first):
        await expect(one.get_by_label("Your message")).to_be_visible()
        await say(one, "My words")
        await expect(one.get_by_text("It is the turn of")).to_be_visible()

    said = await announced(page, "turn")
    mine = [words for words in said if words == "It is your turn."]
    assert len(mine) >= 1
    assert all(one != later for one, later in pairwise(said)), "each change is said once"
    await other.context.close()
