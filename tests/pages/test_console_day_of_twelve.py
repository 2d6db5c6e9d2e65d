"""The day of a study with twelve people in browsers, who meet in a waiting room and form four groups beside agents."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import join
from tests.pages.test_console import desk, signed_in
from tests.pages.the_day import STUDY, Desk, click

__all__ = ["desk"]

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

PEOPLE: Final = 12
A_GROUP: Final = 3
MEETING: Final[dict[str, Any]] = {
    **STUDY,
    "name": "The day of twelve",
    "language": "en",
    "cohorts": [
        {
            "made": "when_together",
            "at": "talk",
            "count": 4,
            "seats": [{"open": True, "count": A_GROUP}, {"persona": "ann"}],
        }
    ],
}


@pytest_asyncio.fixture(loop_scope="session")
async def people(browser: Browser, lab: RunningLab) -> AsyncIterator[list[Page]]:
    """Twelve people, each with a browser that knows nothing of the others."""
    contexts = [await browser.new_context(base_url=lab.url, locale="en") for _ in range(PEOPLE)]
    yield [await context.new_page() for context in contexts]
    for context in contexts:
        await context.close()


@pytest.mark.grid
@pytest.mark.timeout(300)
@pytest.mark.waits(90, reason="twelve browsers take part")
async def test_twelve_people_meet_and_are_looked_after(
    desk: BrowserContext, lab: RunningLab, people: list[Page]
) -> None:
    experiment = lab.started(MEETING)
    page = await signed_in(desk, lab, f"/console/e/{experiment['id']}")
    here = Desk(page, click)

    await arrive(here, people, experiment)
    groups = await meet(here, people)
    await groups[1][0].close()
    await help_and_check(here, lab, groups[0][0])
    await continue_and_remove(here, lab, groups[0][1], groups[0][2])
    third = here.board.get_by_role("link").nth(2)
    await speak_and_write(here, groups[2][0], await third.inner_text(), everybody=groups[3])
    # A page is missed once its stream has been silent for twenty seconds.
    await expect(here.board.locator(".c-dot.c-person.c-gone")).to_have_count(1, timeout=40_000)
    await pause_and_end(here, groups[3])


async def arrive(here: Desk, people: list[Page], experiment: dict[str, Any]) -> None:
    """They are on their way, then two of them are present: a group needs three."""
    for start in range(0, PEOPLE, A_GROUP):
        await asyncio.gather(*(join(person, experiment) for person in people[start : start + A_GROUP]))
    rooms = here.page.get_by_role("region", name="People without a group")
    await expect(rooms).to_contain_text("a group needs 3 people")
    await expect(rooms).to_contain_text("on their way (12)")
    for person in people[: A_GROUP - 1]:
        await person.get_by_role("button", name="Continue").click()
    await expect(rooms).to_contain_text("present (2)")


async def meet(here: Desk, people: list[Page]) -> list[list[Page]]:
    """The people of each group, which they form as they come."""
    groups = []
    for start in range(0, PEOPLE, A_GROUP):
        group = people[start : start + A_GROUP]
        for person in group[(A_GROUP - 1 if start == 0 else 0) :]:
            await person.get_by_role("button", name="Continue").click()
        # A person who comes too early would meet the people of the group before.
        await asyncio.gather(*(expect(person.get_by_label("Your message")).to_be_visible() for person in group))
        groups.append(group)
    await expect(here.board.get_by_role("link")).to_have_count(len(groups))
    await expect(here.board.locator(".c-dot.c-person.c-here")).to_have_count(PEOPLE)
    await expect(here.page.get_by_role("region", name="People without a group")).to_have_count(0)
    return groups


async def look_at(here: Desk, lab: RunningLab, person: Page) -> None:
    """Open the panel of the member who has this page: the address says whom it shows."""
    key = f"parley.token.{person.url.rpartition('/')[2]}"
    token = await person.evaluate("key => localStorage.getItem(key)", key)
    member = RunningLab(lab.url, token).ask("GET", "/v1/me")["member_id"]
    await here.page.goto(f"{urlsplit(here.page.url).path}?member={member}")
    await expect(here.panel.get_by_role("heading", level=2)).to_be_visible()


async def help_and_check(here: Desk, lab: RunningLab, person: Page) -> None:
    """A call for help, its answer, and a check that is passed on the page."""
    await person.get_by_role("button", name="Ask for help").click()
    await person.get_by_label("What do you need help with?").fill("Where do I write?")
    await person.get_by_role("button", name="Send").last.click()
    needs = here.page.get_by_role("region", name="Needs you")
    await expect(needs).to_contain_text("Where do I write?")
    await here.press("Answer", within=needs)
    await here.answer("Send", Your_words="In the field below.")
    await expect(person.get_by_text("In the field below.")).to_be_visible()
    await look_at(here, lab, person)
    await here.press("Look through")
    seen = here.page.get_by_role("dialog")
    await expect(seen.get_by_role("heading", name="The talk")).to_be_visible()
    await here.press("Close", within=seen)
    await here.press("Check", within=here.panel)
    await person.get_by_role("alertdialog").get_by_role("button", name="I am here").click()
    await expect(person.get_by_role("alertdialog")).to_have_count(0)


async def continue_and_remove(here: Desk, lab: RunningLab, hangs: Page, leaves: Page) -> None:
    """One hangs and is brought on; one is paused, and then removed."""
    await look_at(here, lab, hangs)
    await here.press("Continue", within=here.panel)
    await here.answer("Continue", Reason="the page hangs")
    await expect(hangs.get_by_role("heading", level=1)).to_have_text("Goodbye")
    await look_at(here, lab, leaves)
    await here.press("Pause", within=here.panel)
    await expect(here.board.locator(".c-dot.c-person.c-paused")).to_have_count(1)
    await here.press("Resume", within=here.panel)
    await here.press("Remove", within=here.panel)
    await here.answer("Remove", Reason="asked to go")
    await expect(leaves.get_by_text("Your part in this study was ended by the researchers.")).to_be_visible()


async def speak_and_write(here: Desk, person: Page, group: str, everybody: list[Page]) -> None:
    """A new agent and a line of the lab in one group, and a message to all people."""
    await here.open_group(group)
    await here.add_new_agent("Kim", "You ride a bicycle.")
    await here.press("Speak as the lab", within=here.panel)
    await here.answer("Say it", Your_words="Five more minutes.")
    await expect(person.get_by_role("log").get_by_text("Five more minutes.")).to_be_visible()
    await here.press("Lock", within=here.panel)
    await expect(here.panel.get_by_role("button", name="Unlock")).to_be_visible()
    await here.press("Message to all")
    await here.answer("Send", Your_words="We end at noon.")
    for one in everybody:
        await expect(one.get_by_text("We end at noon.")).to_be_visible()


async def pause_and_end(here: Desk, group: list[Page]) -> None:
    state = here.page.locator(".c-head .c-state")
    await here.press("Pause")
    for person in group:
        await expect(person.get_by_text("The study is paused. It goes on by itself.")).to_be_visible()
    await here.press("Resume")
    await expect(state).to_have_text("running")
    await here.press("End")
    await here.answer("End it", Reason="the day is over")
    await expect(state).to_have_text("ended")
    for person in group:
        await expect(person.get_by_text("Your part in this study was ended by the researchers.")).to_be_visible()
