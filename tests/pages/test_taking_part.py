"""A person takes part in the browser, with everything that goes wrong on the way."""

import re

import pytest
from playwright.async_api import Browser, BrowserContext, Page, Route, expect

from tests.pages.accessible import faults
from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join, leave_talk

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]


async def fill_in(page: Page) -> None:
    await page.get_by_label("How old are you?").fill("33")
    await page.get_by_label("Where do you live?").fill("Chur")
    await page.get_by_label("5", exact=True).check()
    await page.get_by_label("Daily").check()


async def to_the_survey(page: Page) -> None:
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_label("How old are you?")).to_be_visible()


async def to_the_talk(page: Page) -> None:
    await to_the_survey(page)
    await fill_in(page)
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_label("Your message")).to_be_visible()


async def test_a_person_goes_from_the_link_to_the_end(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(STUDY))
    await to_the_talk(page)

    await page.get_by_label("Your message").fill("Buses are fine")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("log").get_by_text("Buses are fine")).to_have_count(1)
    await leave_talk(page)

    await expect(page.get_by_role("heading", level=1)).to_have_text("Goodbye")
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_text("Thank you! You have completed the study.")).to_be_visible()


@pytest.mark.grid
async def test_the_join_page_says_what_the_file_says_in_the_language_of_the_file(page: Page, lab: RunningLab) -> None:
    about = {"title": "Über Busse", "text": "Es dauert **zehn Minuten**."}
    experiment = lab.started({**STUDY, "join": about, "language": "de-CH"})

    await page.goto(f"/join/{experiment['join_code']}")

    await expect(page.get_by_role("heading", level=1)).to_have_text("Über Busse")
    await expect(page.locator("strong")).to_have_text("zehn Minuten")
    await expect(page.get_by_role("button", name="Teilnehmen")).to_be_visible()
    await expect(page.locator("html")).to_have_attribute("lang", "de-CH")


async def test_a_link_that_leads_nowhere_and_a_full_study_say_so(page: Page, browser: Browser, lab: RunningLab) -> None:
    await page.goto("/join/no-such-code")
    await expect(page.get_by_role("alert")).to_contain_text("belongs to no study")

    experiment = lab.started(STUDY)
    await join(page, experiment)
    other = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()
    await other.goto(f"/join/{experiment['join_code']}")

    await expect(other.get_by_text("All places are taken at the moment.")).to_be_visible()
    await other.context.close()


@pytest.mark.grid
async def test_people_who_do_not_wait_for_a_place_have_the_code_of_a_full_study(
    page: Page, browser: Browser, lab: RunningLab
) -> None:
    experiment = lab.started({**STUDY, "completion": {"full": {"code": "FULL-7"}}})
    await join(page, experiment)
    other = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()

    await other.goto(f"/join/{experiment['join_code']}")

    await expect(other.get_by_text("All places are taken at the moment.")).to_be_visible()
    await expect(other.get_by_text("FULL-7")).to_be_visible()
    await other.context.close()


@pytest.mark.grid
async def test_who_comes_before_the_start_or_in_a_pause_can_look_again(page: Page, lab: RunningLab) -> None:
    created = lab.ask("POST", "/v1/experiments?is_test=true", {"parley": 1, "name": "Early", **STUDY})
    at = f"/v1/experiments/{created['id']}"
    code = lab.ask("GET", at)["join_code"]
    again = page.get_by_role("button", name="Try again")
    await page.goto(f"/join/{code}")
    await expect(page.get_by_text("has not begun yet")).to_be_visible()

    lab.ask("POST", f"{at}/start")
    lab.ask("POST", f"{at}/pause")
    await again.click()
    await expect(page.get_by_text("The study is paused")).to_be_visible()
    lab.ask("POST", f"{at}/resume")
    await again.click()

    await expect(page.get_by_role("button", name="Take part")).to_be_visible()
    await expect(again).to_have_count(0)


@pytest.mark.grid
async def test_the_same_browser_gets_its_place_back(context: BrowserContext, page: Page, lab: RunningLab) -> None:
    experiment = lab.started(STUDY)
    await join(page, experiment)
    await to_the_survey(page)

    await page.goto(f"/join/{experiment['join_code']}")
    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_label("How old are you?")).to_be_visible()


@pytest.mark.grid
async def test_an_external_id_gives_the_place_back_in_another_browser_when_no_place_is_left(
    page: Page, browser: Browser, lab: RunningLab
) -> None:
    experiment = lab.started(STUDY)
    link = f"/join/{experiment['join_code']}?PROLIFIC_PID="
    await page.goto(f"{link}ida")
    await page.get_by_role("button", name="Take part").click()
    await to_the_survey(page)
    other = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()

    await other.goto(f"{link}ida")
    await expect(other.get_by_text("All places are taken at the moment.")).to_be_visible()
    await other.get_by_role("button", name="Continue").click()
    await expect(other.get_by_label("How old are you?")).to_be_visible()
    await expect(page.get_by_text("You may have gone on in another one.")).to_be_visible()
    assert await faults(page) == []
    await page.get_by_role("link", name="Go on in this browser").click()
    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_label("How old are you?")).to_be_visible()
    await expect(other.get_by_text("You may have gone on in another one.")).to_be_visible()
    await other.context.close()


@pytest.mark.grid
async def test_an_external_id_without_a_place_gets_none_when_no_place_is_left(
    page: Page, browser: Browser, lab: RunningLab
) -> None:
    experiment = lab.started(STUDY)
    await join(page, experiment)
    other = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()

    await other.goto(f"/join/{experiment['join_code']}?PROLIFIC_PID=ben")
    await other.get_by_role("button", name="Continue").click()

    told = other.get_by_role("heading", level=1)
    await expect(told).to_have_text("All places are taken. Thank you for your interest!")
    await expect(told).to_be_focused()
    await expect(other.get_by_text("All places are taken.")).to_have_count(1)
    await other.context.close()


@pytest.mark.grid
async def test_what_is_wrong_is_told_at_its_field_and_nothing_is_lost(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(STUDY))
    await to_the_survey(page)

    await page.get_by_label("How old are you?").fill("7")
    await page.get_by_label("Never").check()
    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_text("At least 18, please.").first).to_be_visible()
    await expect(page.get_by_label("Why never?")).to_be_visible()
    await expect(page.get_by_role("alert")).to_contain_text("4 answers need your attention.")
    await expect(page.get_by_label("How old are you?")).to_have_value("7")


@pytest.mark.grid
async def test_what_was_entered_survives_a_reload(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(STUDY))
    await to_the_survey(page)
    await fill_in(page)

    await page.reload()

    await expect(page.get_by_label("Where do you live?")).to_have_value("Chur")
    await expect(page.get_by_label("Daily")).to_be_checked()


async def test_a_double_click_and_the_back_button_skip_nothing(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(STUDY))

    await page.get_by_role("button", name="Continue").dblclick()

    await expect(page.get_by_text("Step 2 of 4")).to_be_visible()
    taking_part = page.url
    await page.go_back()
    await page.goto(taking_part)
    await expect(page.get_by_text("Step 2 of 4")).to_be_visible()


@pytest.mark.grid
async def test_the_second_click_of_a_double_click_does_not_press_what_is_there_then(
    page: Page, lab: RunningLab
) -> None:
    pages = [{"id": f"p{number}", "kind": "info", "name": f"Page {number}", "lines": ["Read."]} for number in range(3)]
    await join(page, lab.started({**STUDY, "stages": pages}))
    box = await page.get_by_role("button", name="Continue").bounding_box()
    assert box is not None

    await page.mouse.click(box["x"] + 5, box["y"] + 5)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Page 1")
    await page.mouse.down(click_count=2)
    await page.mouse.up(click_count=2)

    await page.get_by_role("button", name="Ask for help").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Page 1")
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Page 2")


@pytest.mark.grid
async def test_an_answer_is_kept_while_the_network_is_away(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(STUDY))
    await to_the_survey(page)
    await fill_in(page)

    await page.context.set_offline(True)
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    await page.context.set_offline(False)
    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_text("Step 3 of 4")).to_be_visible()


async def test_two_people_read_each_other_once_and_as_text(page: Page, browser: Browser, lab: RunningLab) -> None:
    experiment = lab.started({**STUDY, "cohorts": [{"seats": [{"open": True, "count": 2}]}]})
    other = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()
    await join(page, experiment)
    await join(other, experiment)
    for one in (page, other):
        await to_the_survey(one)
        await fill_in(one)
        await one.get_by_role("button", name="Continue").click()
    hostile = '<img src=x onerror="window.harm = 1">'

    await page.get_by_label("Your message").fill(hostile)
    await page.get_by_role("button", name="Send").click()
    await expect(other.get_by_role("log").get_by_text(hostile)).to_have_count(1)
    await other.get_by_role("button", name=re.compile("^Like with a heart")).first.click()

    await expect(page.get_by_role("button", name="Like with a heart, 1 person")).to_be_visible()
    assert await other.evaluate("window.harm") is None
    await other.context.close()


@pytest.mark.grid
async def test_the_first_in_a_conversation_that_waits_for_no_one_can_write(page: Page, lab: RunningLab) -> None:
    at_once = {"progress": {"wait_for_all": False}}
    private = {"id": "ask", "kind": "private_chat", "name": "Your questions", **at_once}
    stages = [STUDY["stages"][0], {**STUDY["stages"][2], **at_once}, private]
    guide = {"id": "guide", "profile": {"name": "Guide"}, "text": "You answer questions."}
    cohorts = [{"seats": [{"open": True, "count": 2}], "mediators": ["guide"]}]
    await join(page, lab.started({**STUDY, "stages": stages, "personas": [guide], "cohorts": cohorts}))

    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_label("Your message")).to_be_visible()
    await leave_talk(page)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Your questions")
    await expect(page.get_by_label("Your message")).to_be_visible()


@pytest.mark.grid
async def test_a_long_paste_is_refused_with_its_excess(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(STUDY))
    await to_the_talk(page)

    await page.get_by_label("Your message").fill("a" * 10_001)

    await expect(page.get_by_text("1 character too many.")).to_be_visible()
    await expect(page.get_by_role("button", name="Send")).to_have_attribute("aria-disabled", "true")


@pytest.mark.grid
async def test_emoji_are_said_as_they_were_written_and_count_as_the_lab_counts_them(
    page: Page, lab: RunningLab
) -> None:
    words = "A family: 👩‍👩‍👧‍👦, a hand: 👍🏽, a flag: 🇨🇭"
    await join(page, lab.started(STUDY))
    await to_the_talk(page)
    own = page.locator(".message.own:not(.pending) .said")

    await page.get_by_label("Your message").fill(words)
    await page.get_by_role("button", name="Send").click()
    await expect(own).to_have_text([words])
    await page.get_by_label("Your message").fill("😀" * 10_001)
    await expect(page.get_by_text("1 character too many.")).to_be_visible()
    await page.get_by_label("Your message").fill("😀" * 10_000)
    await page.get_by_role("button", name="Send").click()

    await expect(own).to_have_text([words, "😀" * 10_000])


@pytest.mark.grid
async def test_one_can_leave_after_a_question(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(STUDY))

    await page.get_by_role("button", name="Leave the study").click()
    await page.get_by_role("button", name="Yes, leave").click()

    await expect(page.get_by_text("You have left the study.")).to_be_visible()


async def test_a_survey_is_filled_in_by_keyboard_alone(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(STUDY))
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("How old are you?")).to_be_visible()

    for keys in ("33", "Chur"):
        await page.keyboard.press("Tab")
        await page.keyboard.type(keys)
    for _ in range(2):
        await page.keyboard.press("Tab")
        await page.keyboard.press("Space")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")

    await expect(page.get_by_text("Step 3 of 4")).to_be_visible()


@pytest.mark.grid
async def test_the_lab_and_a_participant_reach_each_other(page: Page, lab: RunningLab) -> None:
    experiment = lab.started(STUDY)
    await join(page, experiment)
    (member,) = lab.ask("GET", f"/v1/experiments/{experiment['id']}/members")["members"]

    lab.ask("POST", f"/v1/members/{member['id']}/check", {})
    await page.get_by_role("button", name="I am here").click()
    lab.ask("POST", f"/v1/members/{member['id']}/message", {"text": "We start in a minute."})
    await page.get_by_role("button", name="I have read this").click()
    await page.get_by_role("button", name="Ask for help").click()
    await page.get_by_label("What do you need help with?").fill("I see no picture.")
    await page.get_by_role("button", name="Send").click()

    await expect(page.get_by_text("Your question was sent.")).to_be_visible()
    await expect(page.get_by_text("We start in a minute.")).to_have_count(0)
    alerts = lab.ask("GET", f"/v1/experiments/{experiment['id']}/alerts")["alerts"]
    assert [one["type"] for one in alerts if one["resolved_at"] is None] == ["help"]


@pytest.mark.grid
async def test_a_call_for_help_whose_answer_is_lost_is_one_alert(page: Page, lab: RunningLab) -> None:
    experiment = lab.started(STUDY)
    await join(page, experiment)
    asked: list[str] = []

    async def lose_the_first_answer(route: Route) -> None:
        asked.append(route.request.headers["idempotency-key"])
        answer = await route.fetch()
        await (route.abort() if len(asked) == 1 else route.fulfill(response=answer))

    await page.route("**/v1/me/help", lose_the_first_answer)
    await page.get_by_role("button", name="Ask for help").click()
    await page.get_by_label("What do you need help with?").fill("I see no picture.")
    await page.get_by_role("button", name="Send").click()

    await expect(page.get_by_text("Your question was sent.")).to_be_visible()
    alerts = lab.ask("GET", f"/v1/experiments/{experiment['id']}/alerts")["alerts"]
    assert [one["text"] for one in alerts] == ["I see no picture."]
    assert len(asked) == 2


@pytest.mark.grid
async def test_who_waits_is_told_for_how_long_and_what_came_of_it(page: Page, lab: RunningLab) -> None:
    waits = {"wait_for_all": True, "at_most_seconds": 9}
    meet = {"id": "meet", "kind": "info", "name": "All", "lines": ["Hello."], "progress": waits}
    seats = [{"open": True, "count": 2}]
    code = {"released": {"code": "WAITED1"}}
    await join(page, lab.started({**STUDY, "stages": [meet], "cohorts": [{"seats": seats}], "completion": code}))

    await expect(page.get_by_text("1 of 2 is here.")).to_be_visible()
    await expect(page.get_by_text(re.compile(r"The wait ends in 0:0\d at the latest"))).to_be_visible()

    await expect(page.get_by_text("Thank you for waiting!")).to_be_visible(timeout=20_000)
    await expect(page.get_by_text("WAITED1")).to_be_visible()


@pytest.mark.grid
async def test_a_topic_is_shown_with_what_agents_read_about_it(page: Page, lab: RunningLab) -> None:
    items = [{"id": "north", "name": "To the north"}, {"id": "lake", "name": "To the lake"}]
    trams = {"id": "trams", "name": "Trams", "description": "Which line comes *first*?", "items": items}
    buses = {"id": "buses", "name": "Buses", "description": "Should they cost nothing?"}
    talk = {"id": "talk", "kind": "group_chat", "topics": [trams, buses]}
    await join(page, lab.started({**STUDY, "stages": [talk]}))

    await expect(page.get_by_text("Topic: Trams")).to_be_visible()
    await expect(page.get_by_text("Which line comes first?")).to_be_visible()
    await expect(page.locator("em")).to_have_text("first")
    await expect(page.locator(".about-topic li")).to_have_text(["To the north", "To the lake"])

    await page.get_by_role("button", name="I am done with this topic").click()
    await expect(page.get_by_text("Should they cost nothing?")).to_be_visible()
    await expect(page.get_by_text("Which line comes first?")).to_have_count(0)
