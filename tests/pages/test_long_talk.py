"""A long conversation: the newest messages first, older ones when one scrolls back, news while one reads there."""

import asyncio
import re
from typing import Any

import psycopg
import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join

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
STREAM = """
  const ask = window.fetch.bind(window);
  window.fetch = async (path, options) => {
    window.thread = String(path).match(/threads\\/([^/]+)\\/messages/)?.[1] ?? window.thread;
    if (path !== "/v1/me/stream") return ask(path, options);
    return new Response(new ReadableStream({ start: (stream) => {
      window.tell = (told) => stream.enqueue(new TextEncoder().encode(told));
    } }));
  };
"""
"""In place of the lab's stream; `tell` puts something into it."""
SAY = """
  async ([first, last]) => {
    const author = { id: "bo", profile: { name: "Bo", avatar: "", pronouns: "" } };
    for (let seq = first; seq <= last; seq += 1) {
      const data = { id: `m${seq}`, seq, thread_id: window.thread, author, text: `Message ${seq}`, reactions: [] };
      window.tell(`event: message.created\\ndata: ${JSON.stringify({ data })}\\n\\n`);
      await new Promise((wake) => setTimeout(wake, 0));
    }
  }
"""
"""Has the stream tell of messages, one after the other."""


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
    whole = asyncio.Event()

    async def after(route: Route) -> None:
        await whole.wait()
        await route.continue_()

    # The page has shown the newest messages and still asks for what came since.
    await page.route(re.compile("after_seq=5000&"), after)
    await page.reload()
    log, messages = page.get_by_role("log"), page.locator(".log .message")

    await expect(messages).to_have_count(100)
    await expect(log.get_by_text("Message 5000", exact=True)).to_be_in_viewport()
    await log.hover()
    await page.mouse.wheel(0, -100_000)
    await expect(messages).to_have_count(200)
    whole.set()
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


@pytest.mark.grid
async def test_the_memory_of_a_page_grows_by_the_message_and_not_by_its_square(page: Page, lab: RunningLab) -> None:
    await page.add_init_script(STREAM)
    await join(page, lab.started({**STUDY, "stages": [STUDY["stages"][2]]}))
    await expect(page.get_by_label("Your message")).to_be_visible()
    tools = await page.context.new_cdp_session(page)
    await tools.send("Performance.enable")
    used = []

    for first, last in ((1, 0), (1, 400), (401, 800)):
        await page.evaluate(SAY, [first, last])
        await expect(page.locator(".log .message")).to_have_count(last)
        await tools.send("HeapProfiler.collectGarbage")
        metrics = (await tools.send("Performance.getMetrics"))["metrics"]
        used.append({one["name"]: one["value"] for one in metrics}["JSHeapUsedSize"])

    assert used[2] - used[1] < 1.5 * (used[1] - used[0]), used
