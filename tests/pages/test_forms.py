"""What a form asks for, and when it takes nothing."""

from random import Random
from typing import Any, Final

import pytest
from playwright.async_api import Browser, Page, Route, expect

from parley_lab.base.fitting import is_met
from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join, take_along

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

IF_NEVER = {"question": "often", "value": "never"}
RIDES: dict[str, Any] = {
    "id": "rides",
    "kind": "survey",
    "name": "Your rides",
    "questions": [
        {
            "id": "often",
            "kind": "choice",
            "title": "How often do you ride?",
            "options": [{"id": "never", "text": "Never"}, {"id": "daily", "text": "Daily"}],
        },
        {"id": "why", "kind": "text", "title": "Why never?", "show_if": IF_NEVER},
        {"id": "last", "kind": "number", "title": "When last?", "required": False, "show_if": IF_NEVER},
    ],
}


async def test_a_conditional_question_needs_an_answer_unless_the_file_says_otherwise(
    page: Page, lab: RunningLab
) -> None:
    await join(page, lab.started({**STUDY, "stages": [RIDES, STUDY["stages"][3]]}))
    await page.get_by_label("Never").check()
    await expect(page.locator("label", has_text="When last?")).to_contain_text("(optional)")
    await expect(page.locator("label", has_text="Why never?")).not_to_contain_text("(optional)")

    await page.get_by_role("button", name="Continue").click()
    await expect(page.locator("main .problem")).to_have_text(["Please answer this."])
    await page.get_by_label("Why never?").fill("No bus")
    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_role("heading", level=1)).to_have_text("Goodbye")


@pytest.mark.grid
async def test_what_is_wrong_with_answers_together_is_told_of_none_of_them(page: Page, lab: RunningLab) -> None:
    async def refuse(route: Route) -> None:
        problem = {"where": "", "found": "14", "expected": "at most 10 in all"}
        body: dict[str, Any] = {
            "code": "invalid_input",
            "detail": "Too many.",
            "reason": None,
            "params": {},
            "problems": [problem],
        }
        await route.fulfill(status=422, json=body)

    await join(page, lab.started({**STUDY, "stages": [RIDES, STUDY["stages"][3]]}))
    await page.route("**/advance", refuse)
    await page.get_by_label("Never").check()
    await page.get_by_label("Why never?").fill("No bus")

    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_role("alert")).to_contain_text("Expected: at most 10 in all.")
    await expect(page.get_by_role("alert").get_by_role("link")).to_have_count(0)
    await expect(page.locator("main .problem")).to_have_count(0)
    await page.get_by_label("Why never?").fill("No bus at all")
    await expect(page.get_by_text("Expected: at most 10 in all.")).to_have_count(0)


MONEY: dict[str, Any] = {
    "id": "money",
    "kind": "survey",
    "name": "Money",
    "groups": {"shares": {"total": {"equals": 100}}},
    "questions": [
        {"id": "rent", "kind": "number", "title": "Rent?", "minimum": 0, "group": "shares"},
        {"id": "food", "kind": "number", "title": "Food?", "minimum": 0, "group": "shares"},
        {"id": "back", "kind": "number", "title": "Back?", "maximum": {"question": "food"}},
    ],
}


@pytest.mark.grid
async def test_numbers_are_added_up_while_one_types_and_bounded_by_each_other(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started({**STUDY, "stages": [MONEY, STUDY["stages"][3]]}))
    await page.get_by_label("Rent?").fill("60.5")
    await expect(page.locator(".sum-so-far")).to_have_text("Total: 60.5 of 100")
    await page.get_by_label("Food?").fill("30")
    await page.get_by_label("Back?").fill("31")
    await expect(page.locator(".sum-so-far")).to_have_text("Total: 90.5 of 100")

    await page.get_by_role("button", name="Continue").click()
    await expect(page.locator("main .problem")).to_have_text(
        ["These numbers must add up to 100; they add up to 90.5.", "At most 30, please."]
    )
    await page.get_by_label("Food?").fill("39.5")
    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_role("heading", level=1)).to_have_text("Goodbye")


async def test_rows_are_shown_one_at_a_time_and_where_one_was_the_page_goes_on(page: Page, lab: RunningLab) -> None:
    each = {**RIDES["questions"][0], "title": "How often by {{row.what}}?"}
    rows = [{"id": what, "what": what} for what in ("bus", "tram", "train")]
    stage = {"id": "rides", "kind": "survey", "one_page_each": True, "rows": rows, "questions": [each]}
    await join(page, lab.started({**STUDY, "stages": [stage, STUDY["stages"][3]]}))

    await expect(page.get_by_text("How often by tram?")).to_have_count(0)
    await page.get_by_role("button", name="Next").click()
    await expect(page.locator("main .problem")).to_have_text(["Please answer this."])
    await page.get_by_label("Never").check()
    await page.get_by_role("button", name="Next").click()
    await expect(page.get_by_text("2 of 3")).to_be_visible()
    await page.get_by_label("Daily").check()
    await page.get_by_role("button", name="Next").click()
    await page.reload()

    await expect(page.get_by_text("How often by train?")).to_be_visible()
    await expect(page.get_by_text("How often by bus?")).to_have_count(0)
    await page.get_by_label("Never").check()
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Goodbye")


@pytest.mark.grid
async def test_another_device_goes_on_after_rows_that_were_left_empty(
    page: Page, browser: Browser, lab: RunningLab
) -> None:
    why = {"id": "why", "kind": "text", "title": "Why {{row.what}}?", "required": False}
    rides = {"id": "rides", "kind": "check", "title": "I ride the {{row.what}}."}
    rows = [{"id": what, "what": what} for what in ("bus", "tram", "train", "boat")]
    stage = {"id": "rides", "kind": "survey", "one_page_each": True, "rows": rows, "questions": [rides, why]}
    await join(page, lab.started({**STUDY, "stages": [stage, STUDY["stages"][3]]}))
    await page.get_by_label("Why bus?").fill("Near")
    for number in (2, 3, 4):
        async with page.expect_response(lambda one: one.request.method == "PUT") as saved:
            await page.get_by_role("button", name="Next").click()
        assert (await saved.value).ok
        await expect(page.get_by_text(f"{number} of 4")).to_be_visible()

    other = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()
    await take_along(page, other)

    await expect(other.get_by_text("4 of 4")).to_be_visible()
    async with other.expect_request("**/advance") as sent:
        await other.get_by_role("button", name="Continue").click()
    told = (await sent.value).post_data_json
    assert told is not None
    await other.context.close()
    assert told["answer"] == {
        "bus.why": "Near",
        **{f"{what}.rides": False for what in ("bus", "tram", "train", "boat")},
    }


SUMS: Final[list[list[float]]] = [
    [0.1, 0.2, -0.3],
    [0.1, 0.2, -0.30000000001],
    [1e-10, -1e-10],
    [1e-10, 0],
    [1e17, 0.1, -1e17],
    [1e21, 1, -1e21],
    [1 / 3, 2 / 3, -1],
    [33.3333333333, 33.3333333333, 33.3333333334, -100],
    [-0.0, 0],
    [5e-324, -5e-324],
    *(
        [Random(seed).choice((0.1, 1e-7, 3, 1e9)) * Random(seed).randint(-99, 99) for seed in range(n, n + 4)]
        for n in range(60)
    ),
]
"""Numbers, each list with the bound below zero at its end."""


async def test_the_page_adds_numbers_up_as_the_lab_does(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started({**STUDY, "stages": [MONEY, STUDY["stages"][3]]}))
    await page.get_by_label("Rent?").fill("1")
    await expect(page.locator(".sum-so-far")).to_be_visible()
    totals = [{name: -given[-1]} for given in SUMS for name in ("equals", "at_least", "at_most")]
    numbers = [given[:-1] for given in SUMS for _ in range(3)]

    found = await page.evaluate(
        """async ([totals, numbers]) => {
            const loaded = performance.getEntriesByType("resource").map((one) => one.name);
            const { missed } = await import(loaded.find((name) => name.includes("/sums")));
            return totals.map((total, index) => missed(total, numbers[index]) === undefined);
        }""",
        [totals, numbers],
    )

    assert found == [is_met(total, given) for total, given in zip(totals, numbers, strict=True)]


@pytest.mark.grid
async def test_when_the_time_for_a_row_is_up_the_page_goes_on_with_what_is_entered(page: Page, lab: RunningLab) -> None:
    each = {**RIDES["questions"][0], "title": "How often by {{row.what}}?"}
    rows = [{"what": what} for what in ("bus", "tram")]
    times = {"seconds": 1.5, "pause_seconds": 0.1}
    stage = {"id": "rides", "kind": "survey", "one_page_each": times, "rows": rows, "questions": [each]}
    await join(page, lab.started({**STUDY, "stages": [stage, STUDY["stages"][3]]}))

    await expect(page.get_by_text("How often by tram?")).to_be_visible()
    async with page.expect_request("**/advance") as sent:
        await page.get_by_label("Never").check()

    told = (await sent.value).post_data_json
    assert told is not None
    assert told["answer"] == {"2.often": "never"}
    await expect(page.get_by_role("heading", level=1)).to_have_text("Goodbye")


@pytest.mark.grid
async def test_the_time_for_a_row_stands_in_a_pause_and_goes_on_with_the_rest(page: Page, lab: RunningLab) -> None:
    seconds = 4
    each = {**RIDES["questions"][0], "title": "How often by {{row.what}}?"}
    rows = [{"what": what} for what in ("bus", "tram")]
    stage = {"id": "rides", "kind": "survey", "one_page_each": {"seconds": seconds}, "rows": rows, "questions": [each]}
    experiment = lab.started({**STUDY, "stages": [stage, STUDY["stages"][3]]})
    address = f"/v1/experiments/{experiment['id']}"
    await join(page, experiment)
    lab.ask("POST", f"{address}/pause")
    notice = page.get_by_text("The study is paused")
    await expect(notice).to_be_visible()

    await page.wait_for_timeout(1000 * (seconds + 1))
    lab.ask("POST", f"{address}/resume")
    await expect(notice).to_have_count(0)
    is_first_row = await page.get_by_text("How often by bus?").is_visible()

    await expect(page.get_by_text("How often by tram?")).to_be_visible()
    assert is_first_row


LONG: dict[str, Any] = {
    "id": "long",
    "kind": "survey",
    "rows": [{"what": f"thing {number}"} for number in range(1, 201)],
    "questions": [{"id": "liked", "kind": "scale", "upper": 7, "title": "How much do you like {{row.what}}?"}],
}


@pytest.mark.grid
async def test_how_many_answers_of_a_long_page_are_missing_is_in_sight(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started({**STUDY, "stages": [LONG, STUDY["stages"][3]]}))

    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_text("200 answers need your attention.")).to_be_in_viewport()
    await page.get_by_role("link", name="How much do you like thing 200?").click()
    await expect(page.get_by_role("group", name="How much do you like thing 200?")).to_be_in_viewport()


@pytest.mark.grid
async def test_a_long_page_of_rows_fits_a_phone_and_keeps_what_is_entered(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started({**STUDY, "stages": [LONG, STUDY["stages"][3]]}))
    points = [
        page.get_by_role("group", name=f"How much do you like thing {row}?", exact=True).get_by_label(point, exact=True)
        for row, point in ((1, "2"), (100, "0"), (200, "7"))
    ]

    for point in points:
        async with page.expect_response(lambda one: one.request.method == "PUT") as saved:
            await point.check()
        assert (await saved.value).ok
    assert await page.evaluate("scrollY") > 10_000
    await page.reload()

    for point in points:
        await expect(point).to_be_checked()
    await expect(page.get_by_role("radio", checked=True)).to_have_count(len(points))
    assert await page.evaluate("document.documentElement.scrollWidth") == 390
