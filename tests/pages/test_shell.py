"""The frame around the stages: finding the lab, losing it, several tabs, looking back."""

import asyncio
import re
from typing import Any

import psycopg
import pytest
from playwright.async_api import Browser, BrowserContext, Page, Route, expect

from parley_lab.testing.quick import quick_first
from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join, leave_talk

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.grid
async def test_a_page_whose_first_request_fails_finds_the_lab_by_itself(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(STUDY))
    refused = [0]

    async def refuse_twice(route: Route) -> None:
        refused[0] += 1
        await (route.abort() if refused[0] <= 2 else route.continue_())

    await page.route("**/v1/me", refuse_twice)
    await page.reload()

    await expect(page.get_by_text("The connection is lost.")).to_be_visible()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")
    await expect(page.get_by_text("The connection is lost.")).to_have_count(0)


@pytest.mark.grid
@pytest.mark.tabs
async def test_who_joins_again_in_a_second_tab_keeps_the_place_in_both(
    context: BrowserContext, page: Page, lab: RunningLab
) -> None:
    experiment = lab.started(STUDY)
    await join(page, experiment)
    second = await context.new_page()
    await second.goto(f"/join/{experiment['join_code']}")

    await second.get_by_role("button", name="Continue").click()

    await expect(second.get_by_text("Step 1 of")).to_be_visible()
    async with page.expect_event("load"):
        await page.get_by_role("button", name="Take part in this tab").click()
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_text("How old are you?")).to_be_visible()
    await second.reload()
    await expect(second.get_by_text("How old are you?")).to_be_visible()


TOGETHER: dict[str, Any] = {
    "stages": [
        {"id": "alone", "kind": "info", "name": "Welcome", "lines": ["Please read this."]},
        {
            "id": "all",
            "kind": "info",
            "name": "All of us",
            "lines": ["Here we are."],
            "progress": {"wait_for_all": True},
        },
    ],
    "cohorts": [{"seats": [{"open": True, "count": 2}]}],
}


@pytest.mark.grid
async def test_an_answer_that_comes_later_than_what_happened_since_is_looked_at_again(
    browser: Browser, page: Page, lab: RunningLab
) -> None:
    experiment = lab.started(TOGETHER)
    context = await browser.new_context(base_url=lab.url, locale="en")
    other = await context.new_page()
    for one in (page, other):
        await join(one, experiment)
    is_answered, may_arrive = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        response = await route.fetch()
        is_answered.set()
        await may_arrive.wait()
        await route.fulfill(response=response)

    await page.route("**/advance", hold)

    await page.get_by_role("button", name="Continue").click()
    await is_answered.wait()
    await other.get_by_role("button", name="Continue").click()
    await expect(page.get_by_text("Here we are.")).to_be_visible()
    # Until every look that the events led to is over.
    await page.wait_for_timeout(1000)
    async with page.expect_response("**/v1/me", timeout=5_000):
        may_arrive.set()

    await expect(page.get_by_text("Here we are.")).to_be_visible()
    await expect(page.get_by_text("Waiting for the others")).to_have_count(0)
    await context.close()


SHARED: dict[str, Any] = {
    "stages": [
        {
            "id": "views",
            "kind": "survey",
            "name": "Your view",
            "audience": "cohort",
            "questions": [
                {
                    "id": "bus",
                    "kind": "choice",
                    "title": "Should buses be free?",
                    "options": [{"id": "y", "text": "Certainly"}, {"id": "n", "text": "Never"}],
                }
            ],
        },
        {"id": "bye", "kind": "info", "name": "Goodbye", "lines": ["Thank you."], "progress": {"wait_for_all": True}},
    ],
    "personas": [
        {
            "id": "ann",
            "profile": {"name": "Ann"},
            "text": "You live here.",
            "player": "script",
            "script": {"views": {"answers": {"bus": "n"}}},
        }
    ],
    "cohorts": [{"seats": [{"open": True}, {"persona": "ann"}]}],
}


@pytest.mark.grid
async def test_looking_back_shows_ones_answer_and_those_of_others(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started({"language": "en", "look_back": "all", **SHARED}))
    await page.get_by_label("Certainly").check()
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Goodbye")

    await page.get_by_text("Step 2 of 2").click()
    await page.get_by_role("button", name="Your view").click()

    await expect(page.get_by_role("heading", name="What the others answered")).to_be_visible()
    answers = page.get_by_role("definition")
    await expect(answers).to_have_text(["Certainly", "Never"])
    await page.get_by_role("button", name="Back to where you are").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Goodbye")


@pytest.mark.grid
async def test_looking_back_shows_what_was_to_read_and_the_names_of_no_coming_stages(
    page: Page, lab: RunningLab
) -> None:
    talk = {**STUDY["stages"][2], "description": "Talk about *buses*."}
    welcome, quiet = STUDY["stages"][0], {**STUDY["stages"][0], "id": "quiet", "name": "Quiet", "look_back": "none"}
    await join(page, lab.started({**STUDY, "stages": [welcome, quiet, talk, STUDY["stages"][3]]}))
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("heading", level=1, name="Quiet").wait_for()
    await page.get_by_text("Step 2 of 4").click()
    await expect(page.locator(".steps li")).to_have_text([re.compile("Welcome"), re.compile("Quiet")])
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_label("Your message").fill("Good morning")
    await page.get_by_label("Your message").press("Enter")
    await expect(page.locator(".message .said")).to_have_text("Good morning")
    await leave_talk(page)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Goodbye")

    await expect(page.locator(".steps button")).to_have_text(["Welcome", "The conversation"])
    await page.get_by_role("button", name="The conversation").click()
    await expect(page.get_by_text("Talk about buses.")).to_be_visible()
    await expect(page.get_by_text("Good morning")).to_have_count(0)
    await page.get_by_role("button", name="Welcome").click()
    await expect(page.get_by_text("Please read this.")).to_be_visible()


TALK: dict[str, Any] = {**STUDY, "stages": [STUDY["stages"][2]]}
SCRIPT = "**/kinds/group_chat/page.js*"


@pytest.mark.parametrize("by", quick_first(["itself", "the button"], 1, pytest.mark.grid))
async def test_a_page_whose_script_does_not_come_is_there_once_it_does(page: Page, lab: RunningLab, by: str) -> None:
    await page.clock.install()
    asked: list[str] = []

    async def refuse(route: Route) -> None:
        asked.append(route.request.url)
        await route.abort()

    await page.route(SCRIPT, refuse)
    await page.goto(f"/join/{lab.started(TALK)['join_code']}")
    await page.get_by_role("button", name="Take part").click()
    await expect(page.get_by_text("This page could not be loaded.")).to_be_visible()
    await page.clock.pause_at(await page.evaluate("Date.now() + 1000"))
    await page.get_by_role("button", name="Try again").click()
    await expect(page.get_by_role("button", name="Try again")).not_to_have_attribute("aria-busy", "true")
    await expect(page.get_by_text("This page could not be loaded.")).to_be_visible()
    await page.unroute(SCRIPT)

    if by == "itself":
        await page.clock.run_for(5000)
    else:
        await page.get_by_role("button", name="Try again").click()

    await expect(page.get_by_label("Your message")).to_be_visible()
    assert len(set(asked)) > 1, "some browsers never ask again for what has failed"


@pytest.mark.grid
async def test_help_can_be_asked_for_again(page: Page, lab: RunningLab) -> None:
    experiment = lab.started(STUDY)
    await join(page, experiment)
    question = page.get_by_label("What do you need help with?")

    for begin in ("Ask for help", "Ask for help again"):
        await page.get_by_role("button", name=begin, exact=True).click()
        await expect(question).to_be_focused()
        await expect(question).to_have_value("")
        await question.fill("It hangs")
        await page.get_by_role("button", name="Send").click()
        await expect(page.get_by_text("Your question was sent.")).to_be_visible()

    alerts = lab.ask("GET", f"/v1/experiments/{experiment['id']}/alerts")["alerts"]
    assert [one["text"] for one in alerts if one["text"] == "It hangs"] == ["It hangs"] * 2


async def test_in_a_pause_a_form_takes_nothing_and_loses_nothing(page: Page, lab: RunningLab) -> None:
    experiment = lab.started({**STUDY, "stages": [STUDY["stages"][1], STUDY["stages"][3]]})
    await join(page, experiment)
    await page.get_by_label("How old are you?").fill("33")
    await page.get_by_label("Where do you live?").fill("Chur")
    await page.get_by_label("5", exact=True).check()
    await page.get_by_label("Daily").check()

    lab.ask("POST", f"/v1/experiments/{experiment['id']}/pause")
    await expect(page.get_by_text("The study is paused.")).to_be_visible()
    for field in await page.locator("main form input").all():
        await expect(field).to_be_disabled()
    await expect(page.get_by_role("button", name="Continue")).to_be_disabled()
    await page.reload()
    await expect(page.get_by_label("Where do you live?")).to_have_value("Chur")
    lab.ask("POST", f"/v1/experiments/{experiment['id']}/resume")

    await expect(page.get_by_label("Where do you live?")).to_be_enabled()
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Goodbye")


@pytest.mark.grid
async def test_a_conversation_that_begins_is_there_without_asking_again(page: Page, lab: RunningLab) -> None:
    talk = {"id": "talk", "kind": "group_chat", "name": "Talk", "progress": {"wait_for_all": False}}
    welcome = {"id": "welcome", "kind": "info", "name": "Welcome", "lines": ["Hello."]}
    study = {"language": "en", "pace": "live", "stages": [welcome, talk], "cohorts": [{"seats": [{"open": True}]}]}
    experiment = lab.started(study)
    await join(page, experiment)

    # Nothing is settled while the cohort is held: the page has read all that the move led to before.
    with psycopg.connect(lab.database_url.replace("+psycopg", "")) as connection:
        whose = "SELECT id FROM cohorts WHERE experiment_id = %s FOR NO KEY UPDATE"
        assert len(connection.execute(whose, (experiment["id"],)).fetchall()) == 1
        await page.get_by_role("button", name="Continue").click()
        await expect(page.get_by_text("Waiting for the others")).to_be_visible()
        await page.wait_for_timeout(1_000)
        connection.rollback()

    await expect(page.get_by_label("Your message")).to_be_visible(timeout=5_000)


async def test_a_study_that_was_ended_is_no_lost_connection(page: Page, lab: RunningLab) -> None:
    experiment = lab.started(STUDY)
    await join(page, experiment)

    lab.ask("POST", f"/v1/experiments/{experiment['id']}/end")

    title = page.get_by_role("heading", level=1)
    await expect(title).to_have_text("Your part in this study was ended by the researchers.")
    # The stream has ended, too.
    await page.wait_for_load_state("networkidle")
    await expect(page.locator(".notices")).to_be_empty()


@pytest.mark.grid
async def test_who_looks_back_while_the_study_is_ended_is_told(page: Page, lab: RunningLab) -> None:
    experiment = lab.started(STUDY)
    await join(page, experiment)
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_text("How old are you?")).to_be_visible()
    await page.get_by_text("Step 2 of").click()
    await page.get_by_role("button", name="Welcome").click()
    await expect(page.get_by_text("You are looking back at “Welcome”.")).to_be_visible()

    lab.ask("POST", f"/v1/experiments/{experiment['id']}/end")

    await expect(page.get_by_text("Your part in this study was ended by the researchers.")).to_be_visible()


@pytest.mark.grid
async def test_that_the_lab_cannot_be_reached_is_said_until_it_can(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(STUDY))
    failure = page.get_by_text("The lab cannot be reached.")

    await page.context.set_offline(True)
    await page.get_by_role("button", name="Continue").click()
    await expect(failure).to_be_visible()
    await page.context.set_offline(False)

    await expect(failure).to_have_count(0)
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_text("How old are you?")).to_be_visible()
