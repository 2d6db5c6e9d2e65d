"""What the lab says is said in the language of the page."""

import re
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.going_through import words_in
from tests.pages.test_kinds import example_of

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

TALK: dict[str, Any] = {
    "language": "de",
    "pace": "live",
    "stages": [
        {
            "id": "talk",
            "kind": "group_chat",
            "name": "Gespräch",
            "topics": [{"id": "trams", "name": "Straßenbahnen"}, {"id": "buses", "name": "Busse"}],
        }
    ],
    "cohorts": [{"seats": [{"open": True, "count": 2}]}],
}


def german(key: str, **values: str) -> str:
    found: str = words_in("de")[key]
    return found.format(**values)


async def take_part(page: Page, experiment: dict[str, Any]) -> str:
    """The id of the member whose page it is."""
    await page.goto(f"/join/{experiment['join_code']}")
    async with page.expect_response("**/v1/me") as told:
        await page.get_by_role("button", name=german("join")).click()
    me = await (await told.value).json()
    return str(me["member_id"])


@pytest.mark.grid
async def test_a_german_page_says_in_german_what_the_lab_says(browser: Browser, page: Page, lab: RunningLab) -> None:
    experiment = lab.started(TALK)
    context = await browser.new_context(base_url=lab.url, locale="en")
    other = await context.new_page()
    mine, _ = [await take_part(one, experiment) for one in (page, other)]
    log = page.get_by_role("log")

    for one in (page, other):
        await expect(one.get_by_label(german("say_something"))).to_be_visible()
        await one.get_by_role("button", name=german("done_with_topic")).click()
    await expect(log.get_by_text(german("line_goes_on_to", name="Busse"))).to_be_visible()
    await other.get_by_role("button", name=german("leave"), exact=True).click()
    await other.get_by_role("button", name=german("leave_yes")).click()
    await expect(log.locator(".lab-line").nth(1)).to_contain_text(german("line_has_left", name="").strip())
    lab.ask("POST", f"/v1/members/{mine}/check", {})

    await expect(page.get_by_role("alertdialog")).to_contain_text(german("check_still_there"))
    await context.close()


@pytest.mark.grid
@pytest.mark.parametrize(
    ("kind", "labels"),
    [
        ("profile", ["label_name", "label_avatar", "label_pronouns"]),
        ("matrix_game", ["label_action"]),
        ("group_interview", ["label_your_turn_to_speak"]),
    ],
)
async def test_a_german_form_has_the_labs_own_titles_in_german(
    page: Page, lab: RunningLab, kind: str, labels: list[str]
) -> None:
    experiment = lab.started({**example_of(kind), "language": "de"})
    await page.goto(f"/join/{experiment['join_code']}")

    await page.get_by_role("button", name=german("join")).click()

    for label in labels:
        await expect(page.get_by_text(german(label))).to_have_count(1)


@pytest.mark.grid
@pytest.mark.parametrize(("language", "you"), [("en", "You"), ("de", "Sie")])
async def test_the_reader_is_named_among_the_players_and_the_winners(
    page: Page, lab: RunningLab, language: str, you: str
) -> None:
    contest = {"id": "contest", "kind": "beauty_contest", "rounds": 2}
    ann = {"id": "ann", "profile": {"name": "Ann"}, "player": "script", "script": {"contest": {"guesses": [50, 50]}}}
    cohorts = [{"seats": [{"open": True}, {"persona": "ann"}]}]
    experiment = lab.started({**TALK, "language": language, "stages": [contest], "personas": [ann], "cohorts": cohorts})
    await page.goto(f"/join/{experiment['join_code']}")
    await page.locator("main .button").first.click()

    players = page.locator(".hint").filter(has_text="Ann")
    await expect(players).to_contain_text(f" {words_in(language)['you']}")
    await expect(players).not_to_contain_text(f"Ann {words_in(language)['you']}")
    await page.locator("main input[inputmode]").fill("40")
    await page.get_by_role("button", name=words_in(language)["send"], exact=True).click()

    await expect(page.get_by_role("cell", name=f"{you} (40)", exact=True)).to_be_visible()


@pytest.mark.grid
@pytest.mark.parametrize(("language", "you"), [("en", "You"), ("de", "Sie")])
async def test_who_writes_in_a_game_is_named_like_the_other(
    page: Page, lab: RunningLab, language: str, you: str
) -> None:
    game = {"id": "game", "kind": "matrix_game", "horizon": {"type": "fixed", "rounds": 2}, "chat": True}
    cohorts = [{"seats": [{"open": True}, {"persona": "ann"}]}]
    pages = {"reading_words_per_minute": 0, "writing_words_per_minute": 0}
    ann = {"id": "ann", "profile": {"name": "Ann"}, "pages": pages}
    experiment = lab.started({**TALK, "language": language, "stages": [game], "personas": [ann], "cohorts": cohorts})
    await page.goto(f"/join/{experiment['join_code']}")
    await page.locator("main .button").first.click()

    await page.locator("main textarea, main input[type=text]").first.fill("Hi")
    await page.get_by_role("button", name=words_in(language)["send"], exact=True).click()

    await expect(page.get_by_role("listitem").filter(has_text=re.compile(": Hi$"))).to_have_text(f"{you}: Hi")


FORM: dict[str, Any] = {
    "pace": "live",
    "completion": {"completed": {"code": "DONE", "redirect": "https://app.prolific.com/submissions/complete?cc=DONE"}},
    "stages": [
        {
            "id": "ask",
            "kind": "survey",
            "stay": {"at_most_seconds": 600, "then": "go_on"},
            "questions": [{"id": "age", "kind": "number", "title": "٣؟", "integer": True, "maximum": 99}],
        }
    ],
    "cohorts": [{"seats": [{"open": True}]}],
}


async def test_an_arabic_page_is_laid_out_from_right_to_left_and_takes_arabic_digits(
    page: Page, lab: RunningLab
) -> None:
    said = words_in("ar")
    experiment = lab.started({**FORM, "language": "ar"})
    await page.goto(f"/join/{experiment['join_code']}")
    await page.get_by_role("button", name=said["join"], exact=True).click()

    field = page.locator("input[inputmode]")
    await field.fill("١٢٣")
    await page.get_by_role("button", name=said["go_on"], exact=True).click()
    bound = await page.evaluate("new Intl.NumberFormat('ar').format(99)")
    await expect(page.locator("main .field .problem")).to_have_text(said["at_most"].format(bound=bound))
    assert await page.evaluate("[document.documentElement.dir, document.documentElement.lang]") == ["rtl", "ar"]
    await field.fill("٣٤")
    await page.get_by_role("button", name=said["go_on"], exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(said["end_completed"])
    data = lab.ask("GET", f"/v1/experiments/{experiment['id']}/members")["members"]
    assert [one["status"] for one in data] == ["completed"]


@pytest.mark.grid
async def test_a_language_that_the_lab_lacks_is_words_of_the_file(page: Page, lab: RunningLab) -> None:
    words = {
        "join": "Partecipa",
        "go_on": "Continua",
        "step": "Passo {number} di {count}",
        "return_to": "Torna a {name}",
    }
    experiment = lab.started({**FORM, "language": "it", "appearance": {"words": words}})
    await page.goto(f"/join/{experiment['join_code']}")
    await page.get_by_role("button", name="Partecipa").click()

    await expect(page.locator("header summary")).to_have_text("Passo 1 di 1")
    await page.locator("input[inputmode]").fill("34")
    await page.get_by_role("button", name="Continua").click()

    await expect(page.get_by_role("link", name="Torna a Prolific")).to_be_visible()
    assert await page.evaluate("document.documentElement.lang") == "it"
