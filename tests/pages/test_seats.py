"""Several seats in one browser: each address is a memory of its own, and a link can join anew."""

import pytest
from playwright.async_api import BrowserContext, Page, Route, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]


async def take_part(page: Page, address: str) -> None:
    await page.goto(address)
    await page.get_by_role("button", name="Take part").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")


def people_in(lab: RunningLab, experiment_id: str) -> int:
    members = lab.ask("GET", f"/v1/experiments/{experiment_id}/members")["members"]
    return sum(one["status"] == "in_progress" for one in members)


@pytest.mark.grid
@pytest.mark.tabs
async def test_each_address_of_the_lab_is_a_seat_of_its_own(context: BrowserContext, lab: RunningLab) -> None:
    experiment = lab.started({**STUDY, "cohorts": [{"seats": [{"open": True, "count": 3}]}]})
    port = lab.url.rpartition(":")[2]

    tabs = [await context.new_page() for _ in range(3)]
    for number, tab in enumerate(tabs, start=1):
        await take_part(tab, f"http://p{number}.localhost:{port}/join/{experiment['join_code']}")

    assert people_in(lab, experiment["id"]) == 3
    for tab in tabs:
        await tab.reload()
        await expect(tab.get_by_role("heading", level=1)).to_have_text("Welcome")
        await expect(tab.get_by_text("taking part in another tab")).to_have_count(0)


@pytest.mark.grid
async def test_a_link_with_new_joins_anew_and_a_plain_one_comes_back(page: Page, lab: RunningLab) -> None:
    experiment = lab.started({**STUDY, "cohorts": [{"seats": [{"open": True, "count": 2}]}]})
    link = f"/join/{experiment['join_code']}"
    await take_part(page, link)

    await page.goto(link)
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")
    assert people_in(lab, experiment["id"]) == 1

    await take_part(page, f"{link}?new=1")
    assert people_in(lab, experiment["id"]) == 2


@pytest.mark.grid
async def test_an_answer_that_is_lost_costs_no_seat_where_one_joins_anew(page: Page, lab: RunningLab) -> None:
    experiment = lab.started({**STUDY, "cohorts": [{"seats": [{"open": True, "count": 3}]}]})
    link = f"/join/{experiment['join_code']}"
    await take_part(page, link)

    async def lose_the_answer(route: Route) -> None:
        if route.request.method == "POST":
            await route.fetch()
            await route.abort()
        else:
            await route.continue_()

    await page.route("**/v1/join/*", lose_the_answer)
    await page.goto(f"{link}?new=1")
    await page.get_by_role("button", name="Take part").click()
    await expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    await page.unroute("**/v1/join/*")
    await page.reload()
    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")
    assert people_in(lab, experiment["id"]) == 2


@pytest.mark.grid
async def test_who_came_too_late_is_told_so_after_a_reload_too(page: Page, lab: RunningLab) -> None:
    experiment = lab.started({**STUDY, "cohorts": [{"seats": [{"open": True}]}]})
    await page.goto(f"/join/{experiment['join_code']}")
    await expect(page.get_by_role("button", name="Take part")).to_be_visible()
    lab.ask("POST", f"/v1/join/{experiment['join_code']}", {"join_key": "k" * 32})

    await page.get_by_role("button", name="Take part").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("All places are taken")
    await page.reload()

    await expect(page.get_by_text("All places are taken")).to_be_visible()
    await expect(page.get_by_role("button")).to_have_count(0)


@pytest.mark.grid
async def test_the_next_person_at_a_computer_is_not_shown_what_was_not_sent(page: Page, lab: RunningLab) -> None:
    alone = {**STUDY["stages"][2], "progress": {"wait_for_all": False, "min_participants": 1}}
    talk = {**STUDY, "stages": [alone], "cohorts": [{"seats": [{"open": True, "count": 2}]}]}
    link = f"/join/{lab.started(talk)['join_code']}"
    await page.goto(link)
    await page.get_by_role("button", name="Take part").click()
    await page.get_by_label("Your message").fill("My own words")
    await page.get_by_role("button", name="Ask for help").click()
    await page.get_by_label("What do you need help with?").fill("My own trouble")
    await page.reload()
    await expect(page.get_by_label("Your message")).to_have_value("My own words")

    await page.goto(f"{link}?new=1")
    await page.get_by_role("button", name="Take part").click()
    await expect(page.get_by_label("Your message")).to_have_value("")
    await page.get_by_role("button", name="Ask for help").click()
    await expect(page.get_by_label("What do you need help with?")).to_have_value("")


async def test_nothing_that_was_not_sent_stays_at_a_computer_when_one_has_left(page: Page, lab: RunningLab) -> None:
    talk = {**STUDY, "stages": [STUDY["stages"][2]]}
    await page.goto(f"/join/{lab.started(talk)['join_code']}")
    await page.get_by_role("button", name="Take part").click()
    await page.get_by_label("Your message").fill("My own words")
    await page.get_by_role("button", name="Ask for help").click()
    await page.get_by_label("What do you need help with?").fill("My own trouble")

    await page.get_by_role("button", name="Leave the study").click()
    await page.get_by_role("button", name="Yes, leave").click()
    await expect(page.get_by_text("You have left the study.")).to_be_visible()

    await page.wait_for_function("!JSON.stringify(localStorage).includes('My own')")
