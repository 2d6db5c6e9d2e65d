"""The arena in the console: results down to a move, and its editor."""

from typing import Any, Final

import pytest
from playwright.async_api import BrowserContext, Page, expect

from tests.pages.accessible import faults
from tests.pages.conftest import RunningLab
from tests.pages.test_console import desk, signed_in

__all__ = ["desk"]

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

HARM: Final = '<img src=x onerror="window.harm=1">'


def arena(*players: str, rounds: int = 4, **changes: Any) -> dict[str, Any]:
    """An arena of scripts, each of which meets all others."""
    scripts: dict[str, dict[str, Any]] = {
        "tft": {"policy": "TFT"},
        "alld": {"policy": "ALLD"},
        "coin": {"policy": "RANDOM", "alpha": 0.25},
        "coins": {"policy": "RANDOM", "alpha": 0.75},
    }
    return {
        "parley": 1,
        "name": "Arena",
        "seed": 4,
        "personas": [
            {"id": one, "profile": {"name": f"{one.upper()} {HARM}"}, "player": "script"}
            | {"script": {"matrix_game": scripts[one]}}
            for one in players
        ],
        "stages": [{"id": "game", "kind": "matrix_game", "horizon": {"type": "fixed", "rounds": rounds}}],
        "pairings": {"stage": "game", "replicates": 2, "round_robin": list(players)},
        **changes,
    }


async def results_of(context: BrowserContext, lab: RunningLab, experiment: dict[str, Any]) -> Page:
    """The results of an arena that has been played."""
    made = lab.ask("POST", "/v1/experiments", experiment)
    lab.ask("POST", f"/v1/experiments/{made['id']}/start")
    page = await signed_in(context, lab, f"/console/e/{made['id']}")
    await expect(page.locator(".c-head .c-is-ended")).to_be_visible(timeout=40_000)
    await page.get_by_role("link", name="Results").click()
    return page


async def test_a_cell_of_the_heat_map_leads_to_games_their_rounds_and_the_replay(
    desk: BrowserContext, lab: RunningLab
) -> None:
    page = await results_of(desk, lab, arena("tft", "alld"))

    overview = page.get_by_role("region", name="Overview")
    await expect(overview.locator("dd").first).to_have_text("2")
    heat_map = page.get_by_role("table", name="How often the row cooperates with the column")
    await heat_map.get_by_text("25 %").click()
    games = page.get_by_role("table")
    await expect(games.get_by_role("row")).to_have_count(3)
    await games.get_by_role("link").first.click()

    replay = page.get_by_role("group", name="Replay")
    await expect(page.get_by_role("table", name="Rounds").get_by_role("row")).to_have_count(5)
    await replay.focus()
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("ArrowRight")
    await expect(replay).to_contain_text("Round 2 of 4")
    await expect(replay.locator(".c-moves").first.locator(".c-move")).to_have_text(["C", "D"])
    await replay.get_by_label("ms a step").fill("100")
    await replay.get_by_role("button", name="Play").click()
    await expect(replay).to_contain_text("Round 4 of 4")
    await expect(replay.get_by_role("button", name="Play")).to_be_visible()
    assert await faults(page) == []
    assert await page.evaluate("window.harm") is None
