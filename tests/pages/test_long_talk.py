"""A long conversation: the newest messages first, older ones when one scrolls back, news while one reads there."""

from typing import Any

import psycopg
import pytest
from playwright.async_api import Browser, Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

TALK: dict[str, Any] = {
    **STUDY,
    "stages": [STUDY["stages"][2]],
    "cohorts": [{"seats": [{"open": True, "count": 2}]}],
}
MANY = """
    WITH talk AS (
        SELECT t.id, m.id AS author_id FROM threads t JOIN members m USING (cohort_id)
        JOIN cohorts c ON c.id = t.cohort_id WHERE c.experiment_id = %s ORDER BY m.path LIMIT 1
    ), said AS (
        INSERT INTO messages (id, thread_id, seq, member_id, author_kind, text, elapsed_ms, created_at)
        SELECT gen_random_uuid(), talk.id, seq, author_id, 'person', 'Message ' || seq, 0, now()
        FROM talk, generate_series(1, 5000) AS seq
    )
    UPDATE threads SET last_seq = 5000 FROM talk WHERE threads.id = talk.id
"""
READ_BACK = """
    (words) => new Promise((done) => {
      const log = document.querySelector(".log");
      const line = [...log.querySelectorAll(".said")].find((one) => one.textContent === words);
      const count = log.querySelectorAll(".message").length;
      log.scrollTop = 20;
      const tops = [];
      let more = 10;
      const note = () => {
        tops.push(line.getBoundingClientRect().top);
        if (log.querySelectorAll(".message").length > count) more -= 1;
        if (more > 0) requestAnimationFrame(note);
        else done(tops);
      };
      note();
    })
"""
"""Goes to the top, and says where this message is on the screen, frame by frame, until older ones are above it."""


WORD = "Supercalifragilistic" * 30 + " https://example.org/ <b>bold</b>"


async def test_a_thread_of_5000_shows_the_newest_and_scrolls_back(
    page: Page, browser: Browser, lab: RunningLab
) -> None:
    experiment = lab.started(TALK)
    other = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()
    for one in (page, other):
        await one.goto(f"/join/{experiment['join_code']}")
        await one.get_by_role("button", name="Take part").click()
    for one in (page, other):
        await expect(one.get_by_label("Your message")).to_be_visible()
    with psycopg.connect(lab.database_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(MANY, (experiment["id"],))
    await page.reload()
    log, messages = page.get_by_role("log"), page.locator(".log .message")

    await expect(messages).to_have_count(100)
    await expect(log.get_by_text("Message 5000", exact=True)).to_be_in_viewport()
    await log.hover()
    await page.mouse.wheel(0, -100_000)
    await expect(messages).to_have_count(200)
    await expect(log.get_by_text("Message 4901", exact=True)).to_be_in_viewport()

    for shown in (300, 400, 500):
        oldest = 5101 - shown
        tops: list[float] = await page.evaluate(READ_BACK, f"Message {oldest}")
        await expect(messages).to_have_count(shown)
        assert len(tops) > 10
        assert max(tops) - min(tops) <= 1, (shown, tops)
    await expect(log.get_by_text("Message 4501", exact=True)).to_be_attached()

    await other.get_by_label("Your message").fill(WORD)
    await other.get_by_label("Your message").press("Enter")
    await page.get_by_role("button", name="1 new message").click()
    await expect(log.get_by_text(WORD)).to_be_in_viewport()
    await expect(page.get_by_role("button", name="new message")).to_have_count(0)
    await log.hover()
    await page.mouse.wheel(0, -2000)
    await expect(log.get_by_text(WORD)).not_to_be_in_viewport()
    await page.get_by_label("Your message").fill("My own words")
    await page.get_by_label("Your message").press("Enter")
    await expect(log.get_by_text("My own words")).to_be_in_viewport()
    assert await log.get_by_role("link").count() == 0
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await other.context.close()
