"""Conversations in the console: all of them can be reached, and their figures are those of the whole."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import BrowserContext, Route, expect

from parley_lab.kinds.stages import kinds
from tests.pages.accessible import faults
from tests.pages.conftest import RunningLab
from tests.pages.test_console import GROUPS, desk, signed_in

__all__ = ["desk"]

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

TALK: dict[str, Any] = {
    **GROUPS,
    "stages": [{"id": "talk", "kind": "group_chat", "name": "The talk"}],
    "cohorts": [{"seats": [{"open": True}, {"persona": "ann"}]}],
}
A_PAGE = 100


def begin_talk(lab: RunningLab, changes: Mapping[str, Any] | None = None) -> tuple[str, str]:
    """An experiment with one conversation, which goes on; and that conversation."""
    experiment_id = lab.started({**TALK, **(changes or {})})["id"]
    lab.ask("POST", f"/v1/experiments/{experiment_id}/join", {"profile": {"name": "Ada"}})
    for _ in range(400):
        found = lab.ask("GET", f"/v1/experiments/{experiment_id}/threads")["threads"]
        if found:
            return experiment_id, str(found[0]["id"])
    raise AssertionError("No conversation has begun.")


class ManyTalks:
    """The list of conversations as if there were so many, each like the first one."""

    def __init__(self, count: int) -> None:
        self.count = count

    async def __call__(self, route: Route) -> None:
        asked = {name: int(one[0]) for name, one in parse_qs(urlsplit(route.request.url).query).items()}
        start = asked.get("after", 0)
        end = min(self.count, start + asked.get("limit", A_PAGE))
        answer = await route.fetch(url=route.request.url.split("?")[0])
        found = await answer.json()
        first = found["threads"][0]
        rows = [{**first, "id": f"{index:032x}"} for index in range(start, end)]
        more = None if end == self.count else str(end)
        await route.fulfill(response=answer, json={"threads": rows, "next_after": more})


@pytest.mark.grid
async def test_conversations_beyond_the_first_page_come_on_a_press(desk: BrowserContext, lab: RunningLab) -> None:
    experiment_id, _ = begin_talk(lab)
    page = await signed_in(desk, lab)
    await page.route("**/v1/experiments/*/threads*", ManyTalks(A_PAGE + 20))
    await page.goto(f"/console/e/{experiment_id}/threads")
    lines = page.get_by_role("listitem").filter(has_text="The talk")
    await expect(lines).to_have_count(A_PAGE)

    await page.get_by_role("button", name="Show more").click()

    await expect(lines).to_have_count(A_PAGE + 20)
    await expect(page.get_by_role("button", name="Show more")).to_have_count(0)


async def many_events(route: Route) -> None:
    """The latest events of a member as if there were so many, each like the first one."""
    asked = {name: int(one[0]) for name, one in parse_qs(urlsplit(route.request.url).query).items()}
    end = asked.get("before", A_PAGE + 21)
    start = max(1, end - asked.get("limit", A_PAGE))
    answer = await route.fetch(url=route.request.url.split("?")[0])
    first = (await answer.json())["events"][0]
    rows = [{**first, "seq": seq} for seq in reversed(range(start, end))]
    await route.fulfill(response=answer, json={"events": rows, "next_before": start if start > 1 else None})


async def many_words(route: Route) -> None:
    """A test chat of three messages, of which a page has one."""
    asked = parse_qs(urlsplit(route.request.url).query)
    seq = int(asked.get("after_seq", ["0"])[0]) + 1
    said = {"id": f"{seq:032x}", "seq": seq, "author": "you", "text": f"Word {seq}", "reply": "given", "failure": None}
    chat = {"persona_id": "long", "is_awaiting_reply": False, "messages": [said]}
    await route.fulfill(json={**chat, "next_after_seq": seq if seq < 3 else None})


async def test_what_is_beyond_the_first_page_of_a_story_or_a_test_chat_can_be_read(
    desk: BrowserContext, lab: RunningLab
) -> None:
    experiment_id, _ = begin_talk(lab)
    member = lab.ask("GET", f"/v1/experiments/{experiment_id}/members")["members"][0]["id"]
    lab.ask("PUT", "/v1/personas/long", {"profile": {"name": "Long"}, "text": "You talk a lot."})
    page = await signed_in(desk, lab)
    await page.route("**/v1/members/*/events*", many_events)
    await page.route("**/v1/personas/long/chat*", many_words)
    await page.goto(f"/console/e/{experiment_id}?member={member}")
    story = page.locator(".c-story li")
    await expect(story).to_have_count(A_PAGE)

    await page.get_by_role("complementary").get_by_role("button", name="Show more").click()

    await expect(story).to_have_count(A_PAGE + 20)
    await page.goto("/console/personas/long")
    await expect(page.get_by_role("log").get_by_role("listitem")).to_have_count(3)


@pytest.mark.grid
async def test_a_conversation_of_the_chosen_group_and_stage_shows_its_last_words_in_the_list(
    desk: BrowserContext, lab: RunningLab
) -> None:
    experiment_id, thread = begin_talk(lab, {"cohorts": [{**TALK["cohorts"][0], "count": 2}]})
    page = await signed_in(desk, lab, f"/console/e/{experiment_id}/threads")
    await page.get_by_label("Group").select_option(label="c2")
    await expect(page.get_by_text("No conversation is like this.")).to_be_visible()
    await page.get_by_label("Group").select_option(label="c1")
    await page.get_by_label("Stage").select_option(label="The talk")
    await expect(page.get_by_role("link", name="The talk")).to_be_visible()

    lab.ask("POST", f"/v1/threads/{thread}/messages", {"text": "The lab speaks.", "client_message_id": "one"})

    await expect(page.get_by_text("The lab speaks.")).to_be_visible()


@pytest.mark.grid
async def test_the_figures_of_a_long_conversation_count_what_is_not_drawn(
    desk: BrowserContext, lab: RunningLab
) -> None:
    experiment_id, thread = begin_talk(lab)
    for number in range(A_PAGE + 5):
        lab.ask("POST", f"/v1/threads/{thread}/messages", {"text": f"Line {number}", "client_message_id": f"{number}"})
    said = lab.ask("GET", f"/v1/threads/{thread}/messages?limit=1000")["messages"]
    page = await signed_in(desk, lab)

    async def halve(route: Route) -> None:
        """The lab gives a part at a time."""
        await route.continue_(url=route.request.url.replace("limit=1000", f"limit={A_PAGE // 2}"))

    await page.route("**/messages?*", halve)
    await page.goto(f"/console/e/{experiment_id}/threads/{thread}")
    lines = page.locator(".c-talk > li")
    await expect(page.locator(".c-figure").first).to_have_text(re.compile(f"messages *{len(said)}"))
    await expect(lines).to_have_count(A_PAGE)
    await page.get_by_role("button", name="Show earlier messages").click()

    await expect(lines).to_have_count(len(said))
    await expect(page.get_by_role("button", name="Show earlier messages")).to_have_count(0)


@pytest.mark.grid
async def test_a_member_beyond_the_first_page_is_found(desk: BrowserContext, lab: RunningLab) -> None:
    experiment_id = lab.started({**TALK, "cohorts": [{"count": 3, "seats": [{"open": True}]}]})["id"]
    members = lab.ask("GET", f"/v1/experiments/{experiment_id}/members")["members"]
    page = await signed_in(desk, lab, f"/console/e/{experiment_id}")

    async def one_at_a_time(route: Route) -> None:
        url = route.request.url
        await route.continue_(url=f"{url}{'&' if '?' in url else '?'}limit=1")

    await page.route("**/v1/experiments/*/members*", one_at_a_time)
    await page.keyboard.press("Control+k")
    await page.get_by_label("An experiment, a page or a member").fill(members[-1]["path"])

    await expect(page.get_by_role("dialog").get_by_role("button", name=members[-1]["path"])).to_be_visible()


@pytest.mark.grid
async def test_the_minutes_of_an_interview_are_replayed_by_keys(desk: BrowserContext, lab: RunningLab) -> None:
    interview = kinds()["group_interview"].example().model_dump(mode="json") | {"kind": "group_interview"}
    seats = [{"persona": "ann", "count": 2}]
    experiment_id = lab.started({**TALK, "pace": "fast", "stages": [interview], "cohorts": [{"seats": seats}]})["id"]
    page = await signed_in(desk, lab, f"/console/e/{experiment_id}")
    await expect(page.locator(".c-head .c-is-ended")).to_be_visible()
    (thread,) = lab.ask("GET", f"/v1/experiments/{experiment_id}/threads")["threads"]
    await page.goto(f"/console/e/{experiment_id}/threads/{thread['id']}")
    said = page.locator(".c-talk > li")
    await expect(said).to_have_count(thread["messages"])

    await page.get_by_role("button", name="Replay").click()
    await expect(said).to_have_count(0)
    replay = page.get_by_role("group", name="Replay")
    await replay.focus()
    await page.keyboard.press("ArrowRight")
    await expect(said).to_have_count(1)
    await page.keyboard.press("End")
    await expect(said).to_have_count(thread["messages"])
    await replay.get_by_role("slider", name=re.compile("ms a step")).fill("100")
    await page.keyboard.press("Home")
    await replay.get_by_role("button", name="Play").click()

    await expect(said).to_have_count(thread["messages"])
    assert await faults(page) == []
    await page.get_by_role("button", name="Show all messages").click()
    await expect(replay).to_have_count(0)
