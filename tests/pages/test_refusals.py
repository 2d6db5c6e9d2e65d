"""What the lab refuses is said in the language of the page, and not in the lab's English."""

import json
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect

from parley_lab.web.assets import assets
from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

ALL_SAID = """
    async ([root, reasons]) => {
      const { reason } = await import(`${root}/lab/refusals.js`);
      const { Refused } = await import(`${root}/lab/api.js`);
      const { speak } = await import(`${root}/lab/words.js`);
      await speak(["de"], { assets: root, languages: ["de", "en"] });
      const refused = (body) => reason(new Refused(409, { detail: "The lab's own words.", code: "conflict", ...body }));
      return {
        said: reasons.map((one) => refused({ reason: one })),
        waits: refused({ code: "too_many_requests", params: { seconds: 3 } }),
        unknown: refused({ reason: "of_a_later_lab" }),
        ofTheCode: refused({ code: "too_large", reason: null }),
        ofTheStage: refused({ params: { reasons: [{ code: "goes_on", params: {}, text: "It goes on." }] } }),
      };
    }
"""


async def test_every_refusal_is_said_in_the_words_of_the_page(page: Page, lab: RunningLab) -> None:
    german = json.loads(assets().files["words/de.json"].content)
    keys = {key for key in german if key.startswith("refused_")} - {"refused_too_soon"}
    reasons = [key.removeprefix("refused_") for key in sorted(keys)]
    await page.goto("/take/unknown")

    found: dict[str, Any] = await page.evaluate(ALL_SAID, [assets().root, reasons])

    assert found["said"] == [german[key] for key in sorted(keys)]
    assert found["waits"] == german["refused_too_soon"].replace("{count}", "3")
    assert (found["unknown"], found["ofTheCode"]) == (german["refused"], german["refused_too_large"])
    assert found["ofTheStage"] == german["why_goes_on"]


@pytest.mark.grid
async def test_a_german_page_says_in_german_why_a_message_was_not_taken(page: Page, lab: RunningLab) -> None:
    study = {**STUDY, "language": "de", "stages": [STUDY["stages"][2]], "cohorts": [{"seats": [{"open": True}]}]}
    experiment = lab.started(study)
    await page.goto(f"/join/{experiment['join_code']}")
    await page.get_by_role("button", name="Teilnehmen").click()
    await expect(page.get_by_label("Ihre Nachricht")).to_be_visible()

    async def pause_first(route: Route) -> None:
        lab.ask("POST", f"/v1/experiments/{experiment['id']}/pause")
        await route.continue_()

    await page.route("**/messages", pause_first)
    await page.get_by_label("Ihre Nachricht").fill("Hallo")
    await page.get_by_label("Ihre Nachricht").press("Enter")

    german = json.loads(assets().files["words/de.json"].content)
    await expect(page.locator(".pending")).to_contain_text(german["paused"])
    await expect(page.get_by_text("The experiment is paused")).to_have_count(0)
