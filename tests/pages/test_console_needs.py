"""Alerts on the board: each with its remedy, in the title of the tab and as a sound."""

import re
from typing import Any, Final
from uuid import uuid4

import psycopg
import pytest
from playwright.async_api import BrowserContext, expect

from tests.pages.accessible import faults
from tests.pages.conftest import RunningLab
from tests.pages.test_console import GROUPS, desk, signed_in

__all__ = ["desk"]

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

RAISE: Final = """
    INSERT INTO alerts (id, path, experiment_id, cohort_id, type, text, created_at)
    SELECT %(id)s, %(path)s, e.id, (SELECT c.id FROM cohorts c WHERE c.experiment_id = e.id AND c.path = %(cohort)s),
        %(type)s, %(text)s, now()
    FROM experiments e WHERE e.id = %(experiment_id)s
"""
COUNT_SOUNDS: Final = """
    window.sounds = 0;
    const Own = window.AudioContext;
    window.AudioContext = class extends Own {
        createOscillator() {
            window.sounds += 1;
            return super.createOscillator();
        }
    };
"""


def raise_alert(lab: RunningLab, experiment: dict[str, Any], kind: str, cohort: str | None = None) -> None:
    """An alert as the lab raises it."""
    row = {"id": uuid4(), "path": str(uuid4()), "type": kind, "text": f"It is {kind}.", "cohort": cohort}
    with psycopg.connect(lab.database_url, autocommit=True) as connection:
        connection.execute(RAISE, {**row, "experiment_id": experiment["id"]})


async def test_an_alert_changes_the_title_and_sounds_until_that_is_off(desk: BrowserContext, lab: RunningLab) -> None:
    experiment = lab.started(GROUPS)
    await desk.add_init_script(COUNT_SOUNDS)
    # Alerts that the first look finds make no sound.
    async with desk.expect_event("response", lambda one: "/alerts" in one.url):
        page = await signed_in(desk, lab, f"/console/e/{experiment['id']}")
    await page.get_by_role("heading", level=1).click()

    raise_alert(lab, experiment, "key_paused")
    await expect(page).to_have_title(re.compile(r"^\(1\) "))
    sounds = await page.evaluate("window.sounds")
    await page.get_by_role("region", name="Needs you").get_by_role("button", name="Sound").click()
    raise_alert(lab, experiment, "no_stand_in", "c2")
    await expect(page).to_have_title(re.compile(r"^\(2\) "))

    assert (sounds, await page.evaluate("window.sounds")) == (2, 2)


@pytest.mark.grid
async def test_an_alert_has_its_remedy(desk: BrowserContext, lab: RunningLab) -> None:
    experiment = lab.started(GROUPS)
    page = await signed_in(desk, lab, f"/console/e/{experiment['id']}")

    raise_alert(lab, experiment, "key_paused")
    needs = page.get_by_role("region", name="Needs you")
    await needs.get_by_role("button", name="Show the key").click()
    await expect(page.get_by_role("dialog", name="Refused keys")).to_contain_text("No key is refused now.")
    assert await faults(page) == []
    await page.get_by_role("dialog").get_by_role("button", name="Close").click()
    raise_alert(lab, experiment, "no_stand_in", "c2")
    await needs.get_by_role("button", name="Add an agent").click()
    dialog = page.get_by_role("dialog", name="Add an agent to c2")
    await dialog.get_by_role("button", name="Add", exact=True).click()
    await expect(dialog).to_have_count(0)

    members = lab.ask("GET", f"/v1/experiments/{experiment['id']}/members")["members"]
    assert [one["path"] for one in members if one["added_by"]] == ["c2/m3"]
