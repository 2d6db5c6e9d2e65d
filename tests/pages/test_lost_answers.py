"""Answers that are cut in the middle, are not of the lab, or say "later": nothing is lost or overtaken."""

import json
from time import monotonic
from typing import Any, Final

import pytest
from playwright.async_api import Page, Route, expect

from parley_lab.testing.quick import quick_first
from parley_lab.web.assets import assets
from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

TALK: Final[dict[str, Any]] = {**STUDY, "stages": [STUDY["stages"][2]]}
SURVEY: Final[dict[str, Any]] = {**STUDY, "stages": [STUDY["stages"][1]]}
ALL_TURNS: Final = 4
"""So often a request is made before the page says that the lab cannot be reached."""
CUT: Final = """
    window.toCut = { address: "", turns: 0 };
    const whole = window.fetch;
    window.fetch = async (address, options) => {
        const answer = await whole(address, options);
        const isMeant = options?.method === "POST" && String(address).endsWith(window.toCut.address);
        if (!isMeant || window.toCut.turns === 0) return answer;
        window.toCut.turns -= 1;
        const body = new ReadableStream({ start: (to) => to.error(new TypeError("network error")) });
        return new Response(body, { status: answer.status, headers: answer.headers });
    };
"""
"""Cuts the connection between the headers and the body of answers."""
WAITS: Final = """
    async (root) => {
        const { about } = await import(`${root}/lab/api.js`);
        return Array.from({ length: 50 }, () => about(1000));
    }
"""
PORTAL: Final = {"status": 200, "content_type": "text/html", "body": "<title>Please log in to the network</title>"}
NO_SERVER: Final = {"status": 502, "content_type": "text/html", "body": "<title>Bad Gateway</title>"}


async def cut(page: Page, address: str, turns: int) -> None:
    await page.evaluate("([address, turns]) => { window.toCut = { address, turns }; }", [address, turns])


async def say(page: Page, *texts: str) -> None:
    for text in texts:
        await page.get_by_label("Your message").fill(text)
        await page.get_by_label("Your message").press("Enter")


async def expect_said(page: Page, *texts: str) -> None:
    await expect(page.locator(".log .message:not(.pending) .said")).to_have_text(list(texts))
    await expect(page.locator(".pending")).to_have_count(0)


@pytest.mark.parametrize("turns", quick_first([1, ALL_TURNS], 1, pytest.mark.grid))
async def test_messages_go_on_after_an_answer_that_was_cut(page: Page, lab: RunningLab, turns: int) -> None:
    await page.add_init_script(CUT)
    await join(page, lab.started(TALK))
    await expect(page.get_by_label("Your message")).to_be_visible()

    await cut(page, "/messages", turns)
    await say(page, "One", "Two")

    await expect_said(page, "One", "Two")


@pytest.mark.grid
async def test_messages_wait_while_the_study_is_paused(page: Page, lab: RunningLab) -> None:
    experiment = lab.started(TALK)
    await join(page, experiment)
    await expect(page.get_by_label("Your message")).to_be_visible()

    lab.ask("POST", f"/v1/experiments/{experiment['id']}/pause")
    await say(page, "One", "Two")
    await expect(page.locator(".pending").first).to_contain_text("The study is paused. It goes on by itself.")
    lab.ask("POST", f"/v1/experiments/{experiment['id']}/resume")
    await say(page, "Three")

    await expect_said(page, "One", "Two", "Three")


@pytest.mark.grid
@pytest.mark.parametrize("answer", [PORTAL, NO_SERVER], ids=["portal", "no server"])
async def test_messages_wait_while_another_server_answers(page: Page, lab: RunningLab, answer: dict[str, Any]) -> None:
    await join(page, lab.started(TALK))
    await expect(page.get_by_label("Your message")).to_be_visible()
    await page.route("**/messages", lambda route: route.fulfill(**answer), times=ALL_TURNS)

    await say(page, "One", "Two")

    await expect(page.get_by_text("It goes out by itself in a moment.")).to_be_visible()
    await expect_said(page, "One", "Two")


@pytest.mark.grid
async def test_a_message_that_came_too_soon_goes_out_when_the_lab_takes_it(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(TALK))
    await expect(page.get_by_label("Your message")).to_be_visible()
    asked: list[float] = []
    told = {"code": "too_many_requests", "params": {"seconds": 7}}

    async def too_soon_at_first(route: Route) -> None:
        asked.append(monotonic())
        if len(asked) > 1:
            await route.continue_()
        else:
            await route.fulfill(status=429, content_type="application/json", body=json.dumps(told))

    await page.route("**/messages", too_soon_at_first)
    await say(page, "One", "Two")

    await expect_said(page, "One", "Two")
    assert asked[1] - asked[0] >= 7
    assert len(asked) == 3


@pytest.mark.grid
async def test_what_was_said_is_shown_when_the_lab_is_back(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(TALK))
    await expect(page.get_by_label("Your message")).to_be_visible()
    await say(page, "One")
    await expect_said(page, "One")
    await page.route("**/messages?*", lambda route: route.fulfill(**NO_SERVER), times=ALL_TURNS)

    await page.reload()

    await expect(page.locator(".log .hint")).to_contain_text("The connection is lost.")
    await expect_said(page, "One")


@pytest.mark.grid
async def test_what_is_entered_is_saved_when_the_lab_is_back(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(SURVEY))
    await page.route("**/answer", lambda route: route.fulfill(**NO_SERVER), times=ALL_TURNS)

    async with page.expect_response(lambda one: one.request.method == "PUT" and one.ok):
        await page.get_by_label("Where do you live?").fill("Chur")


@pytest.mark.grid
async def test_a_form_says_that_the_lab_did_not_answer_and_can_be_sent_again(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started({**STUDY, "stages": [STUDY["stages"][1], STUDY["stages"][3]]}))
    await page.get_by_label("How old are you?").fill("33")
    await page.get_by_label("Where do you live?").fill("Chur")
    await page.get_by_label("5", exact=True).check()
    await page.get_by_label("Daily").check()

    await page.route("**/advance", lambda route: route.fulfill(**PORTAL), times=ALL_TURNS)
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("alert").get_by_text("cannot be reached")).to_be_visible()
    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_role("heading", level=1)).to_have_text("Goodbye")


@pytest.mark.grid
async def test_who_lost_the_answer_to_joining_can_try_again_and_has_one_seat(page: Page, lab: RunningLab) -> None:
    experiment = lab.started({**STUDY, "cohorts": [{"seats": [{"open": True, "count": 2}]}]})
    await page.add_init_script(CUT)
    await page.goto(f"/join/{experiment['join_code']}")
    await expect(page.get_by_role("button", name="Take part")).to_be_visible()

    await cut(page, f"/join/{experiment['join_code']}", ALL_TURNS)
    await page.get_by_role("button", name="Take part").click()
    await expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")
    members = lab.ask("GET", f"/v1/experiments/{experiment['id']}/members")["members"]
    assert sum(one["status"] == "in_progress" for one in members) == 1


async def test_those_who_were_cut_off_together_do_not_come_back_at_once(page: Page, lab: RunningLab) -> None:
    await page.goto("/take/unknown")

    waits: list[float] = await page.evaluate(WAITS, assets().root)

    assert len(set(waits)) > len(waits) / 2
    assert 500 <= min(waits) < max(waits) <= 1500


@pytest.mark.grid
async def test_a_cursor_that_is_refused_has_the_page_read_where_the_participant_is(page: Page, lab: RunningLab) -> None:
    experiment = lab.started(TALK)
    await page.route("**/v1/me/stream", lambda route: route.fulfill(status=422))

    async with page.expect_response("**/v1/me/stream") as refused:
        await join(page, experiment)
    assert (await refused.value).status == 422
    async with page.expect_response("**/v1/me", timeout=10_000):
        pass


@pytest.mark.grid
async def test_who_could_not_see_the_study_can_look_again(page: Page, lab: RunningLab) -> None:
    experiment = lab.started(STUDY)
    await page.route("**/v1/join/*", lambda route: route.fulfill(**NO_SERVER), times=ALL_TURNS)
    await page.goto(f"/join/{experiment['join_code']}")
    await expect(page.get_by_role("alert")).to_contain_text("cannot be reached")

    await page.get_by_role("button", name="Try again").click()

    await expect(page.get_by_role("button", name="Take part")).to_be_visible()
    await expect(page.get_by_role("alert")).to_have_count(0)
