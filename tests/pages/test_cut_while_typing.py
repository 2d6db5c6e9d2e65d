"""The connection is cut while a person types and messages flow: shown, nothing lost, nothing said in another order."""

import pytest
from playwright.async_api import Page, Route, expect

from parley_lab.testing.tcp_proxy import TcpProxy
from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, take_along

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

STAGES = [STUDY["stages"][1], STUDY["stages"][2]]
PAIR = {**STUDY, "cohorts": [{"seats": [{"open": True, "count": 2}]}]}
LOST = "The connection is lost."
BACK = "The connection is back."


async def take_part(page: Page, code: str) -> None:
    await page.goto(f"/join/{code}")
    await page.get_by_role("button", name="Take part").click()
    await expect(page.get_by_text("Step 1 of")).to_be_visible()


async def said(page: Page) -> list[str]:
    return await page.locator(".log .message:not(.pending) .said").all_inner_texts()


@pytest.mark.grid
async def test_what_is_typed_into_a_form_while_the_connection_is_cut_is_kept_and_saved(
    page: Page, far: Page, proxy: TcpProxy, lab: RunningLab
) -> None:
    await take_part(far, lab.started({**STUDY, "stages": STAGES})["join_code"])
    city = far.get_by_label("Where do you live?")
    await city.focus()
    await far.keyboard.type("Chur, ")
    await proxy.cut()
    await expect(far.get_by_text(LOST)).to_be_visible()
    await far.keyboard.type("in the old town")
    await expect(city).to_be_focused()

    async with far.expect_response(lambda answer: answer.request.method == "PUT" and answer.ok):
        await proxy.restore()

    await expect(far.get_by_text(BACK)).to_be_visible()
    await expect(far.get_by_text(LOST)).to_have_count(0)
    await expect(city).to_have_value("Chur, in the old town")
    await expect(city).to_be_focused()
    await take_along(far, page)
    await expect(page.get_by_label("Where do you live?")).to_have_value("Chur, in the old town")


@pytest.mark.grid
async def test_messages_that_cross_a_cut_are_there_once_in_one_order_and_the_next_is_still_being_written(
    page: Page, far: Page, proxy: TcpProxy, lab: RunningLab
) -> None:
    experiment = lab.started({**PAIR, "stages": [STUDY["stages"][2]]})
    for one in (page, far):
        await take_part(one, experiment["join_code"])
    for one in (page, far):
        await expect(one.get_by_label("Your message")).to_be_visible()
    mine, theirs = page.get_by_label("Your message"), far.get_by_label("Your message")
    expected = set()
    for turn in range(1, 4):
        for number in range(1, 4):
            text = f"Far {turn}.{number}"
            await theirs.press_sequentially(text)
            if number == 2:
                await proxy.cut()
            await theirs.press("Enter")
            await mine.fill(f"Near {turn}.{number}")
            await mine.press("Enter")
            expected |= {text, f"Near {turn}.{number}"}
        await expect(far.get_by_text(LOST)).to_be_visible()
        await theirs.press_sequentially("I was about to ")

        await proxy.restore()

        await expect(far.get_by_text(LOST)).to_have_count(0)
        await expect(theirs).to_have_value("I was about to ")
        await expect(theirs).to_be_focused()
        await theirs.fill("")
        for one in (page, far):
            await expect(one.locator(".pending")).to_have_count(0)
            await expect(one.locator(".log .message")).to_have_count(6 * turn)
    assert await said(far) == await said(page)
    assert set(await said(far)) == expected
    spoken = [text for text in await said(far) if text.startswith("Far")]
    assert spoken == sorted(spoken), "what one person said is in the order in which they said it"


async def test_a_message_whose_answer_is_lost_is_shown_once_at_every_moment(
    page: Page, far: Page, proxy: TcpProxy, lab: RunningLab
) -> None:
    experiment = lab.started({**PAIR, "stages": [STUDY["stages"][2]]})
    for one in (page, far):
        await take_part(one, experiment["join_code"])
    for one in (page, far):
        await expect(one.get_by_label("Your message")).to_be_visible()
    await far.evaluate("""() => {
        window.most = 0;
        const count = () => [...document.querySelectorAll(".said")].filter((one) => one.textContent === "Once").length;
        new MutationObserver(() => { window.most = Math.max(window.most, count()); })
            .observe(document.body, { subtree: true, childList: true, characterData: true });
    }""")

    async def store_and_cut(route: Route) -> None:
        await route.fetch()
        await proxy.cut()
        await route.abort()

    await far.route("**/messages", store_and_cut, times=1)
    await far.get_by_label("Your message").fill("Once")
    await far.get_by_label("Your message").press("Enter")
    await expect(page.locator(".log .said")).to_have_text(["Once"])
    await expect(far.get_by_text(LOST)).to_be_visible()
    await proxy.restore()

    await expect(far.locator(".log .message:not(.pending) .said")).to_have_text(["Once"])
    await expect(far.locator(".pending")).to_have_count(0)
    assert await far.evaluate("window.most") == 1
    assert await said(page) == ["Once"]
