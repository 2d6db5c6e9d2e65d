"""The board of an experiment in the console: who is where, acts on several, and the keyboard."""

from typing import Final

import pytest
from playwright.async_api import BrowserContext, expect

from parley_lab.web.assets import assets
from tests.pages.accessible import faults
from tests.pages.conftest import RunningLab
from tests.pages.test_console import GROUPS, HARM, desk, signed_in

__all__ = ["desk"]

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

NEWS_WITHOUT_END: Final = """
    async (module) => {
        const { BoardState } = await import(module);
        const board = new BoardState("one");
        let reads = 0;
        board.read = async () => { reads += 1; return null; };
        for (let turn = 0; turn < 75; turn += 1) {
            board.apply("cohort.created", { data: {} });
            await new Promise((wake) => setTimeout(wake, 20));
        }
        return reads;
    }
"""


async def test_a_person_who_joins_and_moves_shows_on_the_open_board(desk: BrowserContext, lab: RunningLab) -> None:
    experiment = lab.started(GROUPS)
    page = await signed_in(desk, lab, f"/console/e/{experiment['id']}")
    board = page.get_by_role("table", name="Groups by stages")
    await expect(board.locator(".c-dot.c-person.c-open")).to_have_count(2)

    joined = lab.ask("POST", f"/v1/experiments/{experiment['id']}/join", {"profile": {"name": HARM}})
    await expect(board.locator(".c-dot.c-person.c-open")).to_have_count(1)
    RunningLab(lab.url, joined["token"]).ask("POST", "/v1/me/stages/welcome/advance", {"answer": None})

    await expect(board.locator(".c-row:not(:has([role=columnheader])) .c-cell:nth-child(3) .c-person")).to_have_count(1)
    assert await page.evaluate("window.harm") is None


@pytest.mark.grid
async def test_groups_are_added_and_several_members_are_acted_on_at_once(desk: BrowserContext, lab: RunningLab) -> None:
    experiment = lab.started(GROUPS)
    person = {"profile": {"name": "Ada"}, "external_id": "p-17"}
    joined = lab.ask("POST", f"/v1/experiments/{experiment['id']}/join", person)
    page = await signed_in(desk, lab, f"/console/e/{experiment['id']}")
    board = page.get_by_role("table", name="Groups by stages")

    await page.get_by_role("button", name="Add groups").click()
    await page.get_by_role("dialog").get_by_label("How many").fill("2")
    await page.get_by_role("dialog").get_by_role("button", name="Add", exact=True).click()
    await expect(board.locator(".c-dot.c-person.c-open")).to_have_count(3)
    await board.get_by_role("link").first.click()
    await page.get_by_label("Choose all of the group").check()
    chosen = page.get_by_role("region", name="Chosen members")
    await chosen.get_by_role("button", name="Pause").click()
    await expect(board.locator(".c-dot.c-paused")).to_have_count(2)
    await chosen.get_by_role("button", name="Resume").click()
    await expect(board.locator(".c-dot.c-paused")).to_have_count(0)
    assert await faults(page) == []
    await chosen.get_by_role("button", name="Choose none").click()
    await page.get_by_role("button", name="Message to all").click()
    await page.get_by_role("dialog").get_by_label("Your words").fill("We begin soon.")
    await page.get_by_role("dialog").get_by_role("button", name="Send").click()

    await expect(page.get_by_text("Done with 1 member.")).to_be_visible()
    assert RunningLab(lab.url, joined["token"]).ask("GET", "/v1/me")["notices"][0]["text"] == "We begin soon."
    await page.get_by_label("Find a group or member").fill("p-17")
    await page.get_by_role("button", name="Look for the external id p-17").click()
    await expect(page.get_by_role("complementary").get_by_role("heading", level=2)).to_contain_text("Ada")
    await page.get_by_role("complementary").get_by_role("link", name="c1").click()
    await page.get_by_role("button", name="End the group").click()
    await page.get_by_role("dialog").get_by_label("Reason").fill("it is enough")
    await page.get_by_role("dialog").get_by_role("button", name="End it").click()
    await expect(board.locator(".c-dot.c-out")).to_have_count(2)


@pytest.mark.grid
async def test_ctrl_k_jumps_to_a_member_of_the_open_experiment(desk: BrowserContext, lab: RunningLab) -> None:
    experiment = lab.started(GROUPS)
    page = await signed_in(desk, lab, f"/console/e/{experiment['id']}")
    await expect(page.get_by_role("table", name="Groups by stages")).to_be_visible()

    await page.keyboard.press("Control+k")
    await page.keyboard.type("c2/m2")
    await expect(page.get_by_role("dialog").get_by_role("button", name="c2/m2")).to_be_visible()
    assert await faults(page) == []
    await page.keyboard.press("Enter")

    await expect(page.get_by_role("complementary", name="c2/m2")).to_be_visible()


@pytest.mark.grid
async def test_people_without_a_group_are_in_the_row_of_the_room_that_is_next_on_their_way(
    desk: BrowserContext, lab: RunningLab
) -> None:
    stages = [{"id": one, "kind": "info", "name": one, "lines": ["Hello."]} for one in ("welcome", "first", "again")]
    meeting = {"made": "when_together", "at": ["first", "again"], "count": 9, "seats": [{"open": True, "count": 2}]}
    experiment = lab.started({**GROUPS, "personas": [], "stages": stages, "cohorts": [meeting]})
    join = f"/v1/experiments/{experiment['id']}/join"
    joined = [lab.ask("POST", join, {"profile": {"name": name}}) for name in ("Ada", "Cy", "Bo")]
    ada, _, bo = [RunningLab(lab.url, one["token"]) for one in joined]
    page = await signed_in(desk, lab, f"/console/e/{experiment['id']}")
    first, again = (page.locator(".c-room").filter(has=page.get_by_text(one, exact=True)) for one in ("first", "again"))

    await expect(first).to_contain_text("a group needs 2 people")
    await expect(first).to_contain_text("on their way (3)")
    await expect(again).to_contain_text("on their way (0)")
    for person in (ada, bo):
        person.ask("POST", "/v1/me/stages/welcome/advance", {"answer": None})
    await expect(first).to_contain_text("on their way (1)")
    # The two of the group go on alone, to meet anew.
    await expect(page.get_by_role("table", name="Groups by stages").get_by_role("link")).to_have_count(1)
    ada.ask("POST", "/v1/me/stages/first/advance", {"answer": None})
    await expect(again).to_contain_text("present (1)")
    await expect(first).to_contain_text("present (0)")
    await again.get_by_role("button", name="Ada").click()
    await expect(page.get_by_role("complementary").get_by_role("heading", level=2)).to_contain_text("Ada")
    assert await faults(page) == []


@pytest.mark.grid
async def test_the_board_says_the_round_of_a_game_and_its_cells_are_walked_by_arrows(
    desk: BrowserContext, lab: RunningLab
) -> None:
    game = {"id": "game", "kind": "matrix_game", "name": "The game", "horizon": {"type": "fixed", "rounds": 3}}
    # Ann answers at once, and not after the time that a person needs.
    ann = {**GROUPS["personas"][0], "pages": {"reading_words_per_minute": 0, "writing_words_per_minute": 0}}
    experiment = lab.started({**GROUPS, "personas": [ann], "stages": [game]})
    joined = lab.ask("POST", f"/v1/experiments/{experiment['id']}/join", {"profile": {"name": "Ada"}})
    ada = RunningLab(lab.url, joined["token"])
    page = await signed_in(desk, lab, f"/console/e/{experiment['id']}")
    cell = page.get_by_role("table", name="Groups by stages").get_by_role("cell").filter(has=page.locator(".c-round"))
    await expect(cell).to_contain_text("round 1")

    (move,) = ada.ask("GET", "/v1/me")["asks"]
    ada.ask("POST", f"/v1/me/asks/{move['id']}/answer", {"answer": {"action": "C"}})
    await expect(cell).to_contain_text("round 2")
    await page.get_by_role("link", name="c1", exact=True).focus()
    await page.keyboard.press("ArrowRight")
    await expect(cell).to_be_focused()
    await page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name="c1")
    await expect(panel).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(cell).to_be_focused()
    for key in ("ArrowDown", "ArrowUp", "ArrowLeft"):
        await page.keyboard.press(key)
    await expect(page.get_by_role("link", name="c1", exact=True)).to_be_focused()
    await cell.locator(".c-person").click()

    await expect(page.locator(".c-now")).to_contain_text("The game: takes part, round 2")
    assert await faults(page) == []


@pytest.mark.grid
async def test_a_board_is_read_again_also_while_news_come_without_a_pause(desk: BrowserContext) -> None:
    page = await desk.new_page()
    await page.goto("/console")

    reads = await page.evaluate(NEWS_WITHOUT_END, f"{assets().root}/console/board_state.js")

    assert 0 < reads < 10
