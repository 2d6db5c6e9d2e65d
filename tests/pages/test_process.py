"""How an answer comes about is recorded where the file asks for it, and pasting is refused where it says so."""

from typing import Any, Final

import pytest
from playwright.async_api import Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

STAGES: Final[list[dict[str, Any]]] = [
    {"id": "terms", "kind": "terms_of_service", "name": "Consent", "lines": ["Do you agree?"]},
    {
        "id": "ask",
        "kind": "survey",
        "name": "Questions",
        "questions": [
            {"id": "why", "kind": "text", "title": "Why?", "paste": "allowed"},
            {"id": "how", "kind": "text", "title": "How?"},
        ],
    },
    {**STUDY["stages"][2]},
]
# A window that goes to the back takes the focus from its field first.
LOOK_ELSEWHERE: Final = """
    (field) => {
        field.dispatchEvent(new FocusEvent("focusout", { bubbles: true }));
        window.dispatchEvent(new FocusEvent("blur"));
        field.dispatchEvent(new FocusEvent("focusin", { bubbles: true }));
    }
"""
PASTE: Final = """
    (field, text) => {
        field.focus();
        const clipboardData = new DataTransfer();
        clipboardData.setData("text", text);
        const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
        return field.dispatchEvent(event);
    }
"""


async def test_the_page_says_that_it_records_and_counts_keys_and_pasted_characters(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started({**STUDY, "stages": STAGES, "record": "process", "paste": "refused"}))
    await expect(page.get_by_text("This study also records how answers and messages are entered")).to_be_visible()
    await page.locator("main form.form input").first.check()
    await page.get_by_role("button", name="Continue").click()
    why, how = page.get_by_label("Why?"), page.get_by_label("How?")
    await how.press_sequentially("By bus")
    await how.evaluate(LOOK_ELSEWHERE)
    is_taken = [await field.evaluate(PASTE, "12345") for field in (why, how)]
    await expect(page.get_by_text("Please type this yourself")).to_have_count(1)
    await why.press_sequentially("abc")
    async with page.expect_request("**/process") as told:
        await page.get_by_role("button", name="Continue").click()
    said: Any = (await told.value).post_data_json

    assert is_taken == [True, False]
    assert {name: said["questions"][name]["keys"] for name in ("why", "how", "")} == {"why": 3, "how": 6, "": 9}
    assert [said["questions"][name]["pasted_characters"] for name in ("why", "how")] == [5, 0]
    assert [said["questions"][name]["out_of_focus"] for name in ("why", "how", "")] == [0, 1, 1]
    assert said["questions"]["how"]["seconds"] >= 0
    field = page.get_by_label("Your message")
    assert not await field.evaluate(PASTE, "12345")
    await expect(page.get_by_text("Please type this yourself")).to_be_visible()

    counted = []
    for words in ("Hello", "Me too"):
        await field.press_sequentially(words)
        await field.evaluate(LOOK_ELSEWHERE)
        async with page.expect_request("**/process") as told, page.expect_request("**/messages") as posted:
            await field.press("Enter")
        sent: Any = ((await told.value).post_data_json, (await posted.value).post_data_json)
        assert sent[0]["key"] == f"message:{sent[1]['client_message_id']}"
        counted.append(sent[0]["questions"][""])

    names = ("keys", "pasted_characters", "out_of_focus")
    assert [tuple(one[name] for name in names) for one in counted] == [(6, 0, 1), (7, 0, 1)]
