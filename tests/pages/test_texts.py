"""The texts of researchers as participants read them."""

import pytest
from playwright.async_api import Page

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import join

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

STEPS = """1. Read.
2. Think.

A break.

3. Write.

- tea

2) again"""


async def test_a_numbered_list_goes_on_with_its_number_after_a_paragraph(page: Page, lab: RunningLab) -> None:
    stage = {"id": "steps", "kind": "info", "lines": [STEPS]}
    await join(page, lab.started({"stages": [stage], "cohorts": [{"seats": [{"open": True}]}]}))

    found = await page.locator(".text ol").evaluate_all("all => all.map((one) => [one.start, one.children.length])")

    assert found == [[1, 2], [3, 1], [2, 1]]
