"""Numbers are sent as they were typed, key by key: with a point or a comma, below zero, as powers of ten."""

from typing import Any, Final

import pytest
from playwright.async_api import Locator, Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

TYPED: Final = {
    "1.5": 1.5,
    "0,25": 0.25,
    "12.05": 12.05,
    "-0.5": -0.5,
    "1e3": 1000,
    ".5": 0.5,
    "7.": 7,
    "1000": 1000,
    "\uff13\uff14": 34,
    "\u0663\u0664\u066b\u0665": 34.5,
}
NO_NUMBER: Final = "Please write a number, such as 1000 or 2.5."
NO_NUMBERS: Final = {
    **dict.fromkeys(("abc", "-", "0x10", "1e999", "1,000,000"), NO_NUMBER),
    "1,500": "Please write 1500 or 1.5: this can mean both.",
    "5000": "At most 2000, please.",
}
"""With what is told of each."""
NUMBERS: Final[dict[str, Any]] = {
    "id": "about",
    "kind": "survey",
    "name": "About you",
    "questions": [
        {"id": f"number{index}", "kind": "number", "title": f"Number {index}", "maximum": 2000}
        for index in range(len(TYPED))
    ],
}
INTERVIEW: Final[dict[str, Any]] = {
    "id": "interview",
    "kind": "group_interview",
    "name": "The interview",
    "roles": [{"label": "Ana"}],
    "tasks": [
        {
            "id": "share",
            "type": "private_question",
            "questions": [{"role": "Ana", "text": "How much?", "options": {"type": "range", "low": 0.5, "high": 9.5}}],
            "variable": "share",
            "variable_type": "float",
            "check": True,
            "ask_score": True,
        }
    ],
}


def one_of(stage: dict[str, Any], **more: Any) -> dict[str, Any]:
    bye = {"id": "bye", "kind": "info", "name": "Goodbye", "lines": ["Thank you."]}
    return {**STUDY, "stages": [stage, bye], **more}


async def type_into(field: Locator, text: str) -> None:
    await field.fill("")
    await field.press_sequentially(text)
    await expect(field).to_have_value(text)


async def answer_sent(page: Page, button: str) -> Any:
    """What goes to the lab when this button is pressed."""
    sending = page.expect_request(lambda one: one.method == "POST" and one.url.endswith(("/advance", "/answer")))
    async with sending as request:
        await page.get_by_role("button", name=button, exact=True).click()
    answer = await (await request.value).response()
    assert answer is not None
    assert answer.ok
    sent: Any = (await request.value).post_data_json
    return sent["answer"]


async def test_a_survey_is_sent_the_numbers_that_were_typed(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(one_of(NUMBERS)))

    for index, text in enumerate(TYPED):
        await type_into(page.get_by_label(f"Number {index}"), text)

    assert await answer_sent(page, "Continue") == {
        f"number{index}": value for index, value in enumerate(TYPED.values())
    }


@pytest.mark.grid
async def test_numbers_come_back_after_a_reload_before_and_after_the_lab_has_them(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(one_of(NUMBERS)))
    fields = [page.get_by_label(f"Number {index}") for index in range(len(TYPED))]

    for field, text in zip(fields, TYPED, strict=True):
        await type_into(field, text)
    await page.reload()
    for field, text in zip(fields, TYPED, strict=True):
        await expect(field).to_have_value(text)
    async with page.expect_response(lambda one: one.request.method == "PUT" and one.ok):
        pass
    await page.wait_for_function("!Object.keys(localStorage).some((key) => key.startsWith('draft:'))")
    await page.reload()
    for field, value in zip(fields, TYPED.values(), strict=True):
        await expect(field).to_have_value(f"{value:g}")

    assert await answer_sent(page, "Continue") == {
        f"number{index}": value for index, value in enumerate(TYPED.values())
    }


@pytest.mark.grid
async def test_what_is_no_number_is_told_and_stays(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(one_of({**NUMBERS, "questions": NUMBERS["questions"][: len(NO_NUMBERS)]})))
    fields = [page.get_by_label(f"Number {index}") for index in range(len(NO_NUMBERS))]

    for field, typed in zip(fields, NO_NUMBERS, strict=True):
        await type_into(field, typed)
    await page.get_by_role("button", name="Continue").click()

    for field, (typed, told) in zip(fields, NO_NUMBERS.items(), strict=True):
        await expect(page.locator("main .field", has=field).locator(".problem")).to_have_text(told)
        await expect(field).to_have_value(typed)


@pytest.mark.grid
async def test_a_mark_for_thousands_counts_where_numbers_are_whole(page: Page, lab: RunningLab) -> None:
    whole = {**NUMBERS["questions"][0], "integer": True}
    await join(page, lab.started(one_of({**NUMBERS, "questions": [whole]})))

    await type_into(page.get_by_label("Number 0"), "12.5")
    await page.get_by_role("button", name="Continue").click()
    await expect(page.locator("main .field .problem")).to_have_text("Please write a whole number.")
    await type_into(page.get_by_label("Number 0"), "1,500")

    assert await answer_sent(page, "Continue") == {"number0": 1500}


@pytest.mark.grid
async def test_a_german_page_shows_a_saved_number_with_a_comma(page: Page, lab: RunningLab) -> None:
    question = {**NUMBERS, "questions": NUMBERS["questions"][:1]}
    await page.goto(f"/join/{lab.started(one_of(question, language='de'))['join_code']}")
    await page.get_by_role("button", name="Teilnehmen").click()
    field = page.get_by_label("Number 0")

    await type_into(field, "1.500")
    await page.get_by_role("button", name="Weiter").click()
    await expect(page.locator("main .field .problem")).to_have_text(
        "Bitte 1500 oder 1,5 schreiben: Beides kann gemeint sein."
    )
    async with page.expect_response(lambda one: one.request.method == "PUT" and one.ok):
        await type_into(field, "1,125")
    await page.wait_for_function("!Object.keys(localStorage).some((key) => key.startsWith('draft:'))")
    await page.reload()

    await expect(field).to_have_value("1,125")
    assert await answer_sent(page, "Weiter") == {"number0": 1.125}


@pytest.mark.grid
async def test_a_guess_is_sent_as_it_was_typed(page: Page, lab: RunningLab) -> None:
    contest = {"id": "contest", "kind": "beauty_contest", "name": "Guess", "rounds": 1}
    personas = [{"id": "ann", "player": "script", "script": {"contest": {"guesses": [50]}}}]
    cohorts = [{"seats": [{"open": True}, {"persona": "ann"}]}]
    await join(page, lab.started(one_of(contest, personas=personas, cohorts=cohorts)))

    await type_into(page.locator("main input[inputmode]"), "33,25")

    assert await answer_sent(page, "Send") == {"guess": 33.25}


@pytest.mark.grid
async def test_an_interview_is_sent_the_score_that_was_typed(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(one_of(INTERVIEW)))
    fields = page.locator("main input[inputmode]")
    await expect(fields).to_have_count(2)

    await type_into(fields.first, "2.75")
    await type_into(fields.last, "12.5")

    assert await answer_sent(page, "Send") == {"response": 2.75, "speculation_score": 12.5}
