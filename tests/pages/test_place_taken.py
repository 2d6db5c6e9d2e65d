"""A person comes back after an agent has taken the place."""

import asyncio
from typing import Any, Final

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
TAKEN: Final = "Your place was taken while you were away. Thank you for your time."


async def test_it_is_said_with_the_code_on_the_page_after_a_reload_and_by_the_link(
    far: Page, proxy: TcpProxy, page: Page, lab: RunningLab
) -> None:
    experiment = lab.started(STUDY)
    await join(far, experiment)
    await join(page, experiment)

    await proxy.cut()
    for _ in range(150):
        first, _ = lab.ask("GET", f"/v1/experiments/{experiment['id']}/members")["members"]
        if first["player"] == "agent":
            break
        await asyncio.sleep(0.2)
    await proxy.restore()

    await expect_farewell(far)
    await far.reload()
    await expect_farewell(far)
    await far.goto(f"/join/{experiment['join_code']}")
    await far.get_by_role("button", name="Continue").click()
    await expect_farewell(far)


async def expect_farewell(page: Page) -> None:
    await expect(page.get_by_role("heading", name=TAKEN)).to_be_visible(timeout=30_000)
    await expect(page.get_by_text("AWAY-7")).to_be_visible()
    await expect(page.get_by_role("button")).to_have_count(0)
