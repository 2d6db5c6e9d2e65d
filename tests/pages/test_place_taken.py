"""A person comes back after an agent has taken the place."""

import asyncio
from typing import Any, Final

import psycopg
import pytest
from playwright.async_api import Page, expect

from parley_lab.testing.tcp_proxy import TcpProxy
from tests.pages.conftest import RunningLab
from tests.pages.taking_part import join

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

STUDY: Final[dict[str, Any]] = {
    "language": "en",
    "pace": "live",
    "completion": {"dropped_out": {"code": "AWAY-7"}},
    "personas": [{"id": "helper", "text": "You help.", "profile": {"name": "Helper"}}],
    "stages": [
        {
            "id": "talk",
            "kind": "group_chat",
            "name": "Talk",
            "when_gone": "replace",
            "stand_in": "helper",
            "gone_after_seconds": 1,
        }
    ],
    "cohorts": [{"seats": [{"open": True, "count": 2}]}],
}
SEEN_LONG_AGO: Final = """
    WITH gateway AS (UPDATE gateways SET started_at = now() - interval '2 minutes')
    UPDATE presence SET seen_at = now() - interval '1 minute' WHERE member_id = %(member_id)s
"""
TAKEN: Final = "Your place was taken while you were away. Thank you for your time."


@pytest.mark.grid
@pytest.mark.waits(60, reason="a page waits longer each time before it connects again")
async def test_it_is_said_with_the_code_on_the_page_after_a_reload_and_by_the_link(
    far: Page, proxy: TcpProxy, page: Page, lab: RunningLab
) -> None:
    experiment = lab.started(STUDY)
    await join(far, experiment)
    await join(page, experiment)

    await proxy.cut()
    await until_an_agent_plays(lab, experiment)
    await page.get_by_label("Your message").fill("Is anybody there?")
    await page.get_by_label("Your message").press("Enter")
    await expect(page.get_by_role("log").get_by_text("Participant 1")).to_be_visible(timeout=30_000)
    await proxy.restore()

    await expect_farewell(far)
    await far.reload()
    await expect_farewell(far)
    await far.goto(f"/join/{experiment['join_code']}")
    await far.get_by_role("button", name="Continue").click()
    await expect_farewell(far)


@pytest.mark.grid
async def test_the_seat_is_given_back_while_the_agent_has_done_nothing(
    far: Page, proxy: TcpProxy, page: Page, lab: RunningLab
) -> None:
    silent = {**STUDY["personas"][0], "chat": {"max_responses": 0}}
    experiment = lab.started({**STUDY, "personas": [silent]})
    await join(far, experiment)
    await join(page, experiment)

    await proxy.cut()
    await until_an_agent_plays(lab, experiment)
    await proxy.restore()

    await expect(far.get_by_label("Your message")).to_be_visible(timeout=30_000)
    await far.get_by_label("Your message").fill("I am back.")
    await far.get_by_label("Your message").press("Enter")
    await expect(page.get_by_text("I am back.")).to_be_visible(timeout=30_000)


async def test_a_browser_that_keeps_no_data_is_told_before_it_takes_a_seat(page: Page, lab: RunningLab) -> None:
    await page.add_init_script("Storage.prototype.setItem = () => { throw new Error('private'); }")
    experiment = lab.started(STUDY)

    await page.goto(f"/join/{experiment['join_code']}")

    await expect(page.get_by_text("This browser keeps no data")).to_be_visible()
    await expect(page.get_by_role("button")).to_have_count(0)


async def until_an_agent_plays(lab: RunningLab, experiment: dict[str, Any]) -> None:
    """The first member counts as gone at once: the time that the lab gives a page to come back is over."""
    with psycopg.connect(lab.database_url.replace("+psycopg", ""), autocommit=True) as connection:
        for _ in range(150):
            first, _ = lab.ask("GET", f"/v1/experiments/{experiment['id']}/members")["members"]
            if first["player"] == "agent":
                return
            connection.execute(SEEN_LONG_AGO, {"member_id": first["id"]})
            await asyncio.sleep(0.2)
    raise AssertionError("No agent has taken the place.")


async def expect_farewell(page: Page) -> None:
    await expect(page.get_by_role("heading", name=TAKEN)).to_be_visible(timeout=30_000)
    await expect(page.get_by_text("AWAY-7")).to_be_visible()
    await expect(page.get_by_role("button")).to_have_count(0)
