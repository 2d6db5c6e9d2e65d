"""A person who goes through any stage in the browser, by what its page offers."""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any

from playwright.async_api import Error, Locator, Page, expect

from parley_lab.web.assets import assets

PATIENCE_SECONDS = 30
_AT_ONCE_MS = 2000
LONG = "a" * 10_000
Words = Mapping[str, Any]


def words_in(language: str) -> Words:
    """The pages' own words, and those of the kinds."""
    files = assets().files
    own = [path for path in files if path.endswith(f"words/{language}.json")]
    return {key: said for path in own for key, said in json.loads(files[path].content).items()}


ENGLISH = words_in("en")


async def title_of(page: Page) -> str:
    return await page.get_by_role("heading", level=1).inner_text()


async def fill_in(form: Locator, words: Words = ENGLISH) -> None:
    """A valid value in each field of the form that has none."""
    for group in await form.locator("fieldset").all():
        choices = group.locator("input[type=radio]")
        if await choices.count() and not await group.locator("input:checked").count():
            await choices.first.check()
        boxes = group.locator("input[type=checkbox]")
        if await boxes.count() and not await group.locator("input:checked").count():
            await boxes.first.check()
    for box in await form.locator("div.field > label.option > input[type=checkbox]").all():
        await box.check()
    for slider in await form.locator("input[type=range]").all():
        await slider.press("ArrowRight")
    for entry in await form.locator("input[inputmode]").all():
        await entry.fill("5")
    for entry in await form.locator("input[type=text]:not([inputmode]), textarea").all():
        if not await entry.input_value():
            await entry.fill("Some words")
    order = form.get_by_role("button", name=words["keep_this_order"])
    if await order.count():
        await order.click()


async def act(page: Page, title: str, words: Words = ENGLISH) -> None:
    """Whatever the page with this title asks for next; nothing while it waits."""
    main = page.locator("main", has=page.get_by_role("heading", level=1, name=title, exact=True))
    if await main.locator("[aria-busy]").count():
        return
    for form in (
        main.locator("form.form").first,
        main.get_by_role("button", name=words["look_at"].replace("{name}", "").strip()).first,
    ):
        if await form.count() == 0:
            continue
        if await form.evaluate("one => one.tagName") == "FORM":
            await fill_in(form, words)
            await form.locator("button[type=submit]").click()
        else:
            await form.click()
        return
    # Not the field of a question that comes just now and asks for a message, too.
    mine = main.locator(".chat").get_by_label(words["say_something"])
    if await mine.count() and not await main.locator(".message.own").count():
        await mine.fill("Hello to all")
        await mine.press("Enter")
        await expect(main.locator(".message.own:not(.pending)")).to_have_count(1)
        return
    sure = main.get_by_role("button", name=words["leave_talk_yes"])
    if await sure.count():
        await sure.click()
        return
    go_on = (
        main.locator("article, .chat")
        .get_by_role("button", name=words["go_on"])
        .or_(main.get_by_role("button", name=words["ready_to_end"]))
    )
    if await go_on.count() and await go_on.first.get_attribute("aria-disabled") is None:
        # Twice, as many people do: a double click skips nothing.
        await go_on.first.dblclick(timeout=2000)


async def go_through(
    page: Page, until: str, words: Words = ENGLISH, *, look: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Act until the stage with this title is there, and look at the page after each act."""
    page.set_default_timeout(_AT_ONCE_MS)
    seen, end = list[str](), monotonic() + PATIENCE_SECONDS
    while monotonic() < end:
        with suppress(Error):  # the page has changed meanwhile
            now = await title_of(page)
            if now == until:
                return
            # A game takes as long as all of its rounds.
            place = [now, *await page.locator("main .round").all_inner_texts()]
            if place != seen:
                seen, end = place, monotonic() + PATIENCE_SECONDS
            await act(page, now, words)
            if look is not None:
                await look()
        await page.wait_for_timeout(60)
    await expect(page.get_by_role("heading", level=1, name=until)).to_be_visible()
