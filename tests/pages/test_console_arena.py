"""The arena in the console: results down to a move, and its editor."""

import re
from typing import Any, Final, Literal

import pytest
from playwright.async_api import Browser, BrowserContext, FilePayload, Page, expect

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


@pytest.mark.grid
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


DRAFT: Final = """\
# Two rules.
parley: 1
name: Duel   # of two
personas:
  - {id: hawk, profile: {name: Hawk}, player: script, script: {matrix_game: {policy: ALLD}}}
  - {id: dove, profile: {name: Dove}, player: script, script: {matrix_game: {policy: ALLC}}}
stages:
  - id: game
    kind: matrix_game  # the game
    payoffs: {CC: [3, 3], CD: [0, 5], DC: [5, 0], DD: [1, 1]}
pairings:
  stage: game
  round_robin: [hawk, dove]   # both
"""


async def editor_of(context: BrowserContext, lab: RunningLab) -> tuple[Page, str]:
    made = lab.ask("POST", "/v1/experiments", DRAFT, media_type="application/yaml")
    page = await signed_in(context, lab, f"/console/e/{made['id']}")
    await page.get_by_role("link", name="Arena", exact=True).click()
    await expect(page.get_by_role("heading", name="Payoffs")).to_be_visible()
    return page, f"/v1/experiments/{made['id']}/source"


async def save(page: Page) -> None:
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_text("saved", exact=True)).to_be_visible()


async def test_a_pair_is_dragged_and_bad_payoffs_are_refused_by_their_rule(
    desk: BrowserContext, lab: RunningLab
) -> None:
    page, source = await editor_of(desk, lab)

    await page.get_by_label("T, temptation").fill("6")
    await page.get_by_role("button", name="Set the payoffs").click()
    await expect(page.get_by_role("alert")).to_contain_text("breaks 2R > T + S")
    await expect(page.get_by_label("T, temptation")).to_have_value("6")
    await page.get_by_label("R, reward").fill("4")
    await page.get_by_role("button", name="Set the payoffs").click()
    await expect(page.get_by_role("alert")).to_have_count(0)
    pair = page.get_by_role("group", name=re.compile("First player of a new pair|meets …"))
    await page.get_by_role("button", name="Hawk", exact=True).drag_to(pair)
    await expect(page.get_by_role("group", name="Hawk meets …")).to_be_visible()
    await page.get_by_role("button", name="A person", exact=True).drag_to(pair)
    await expect(page.get_by_text("Hawk meets A person")).to_be_visible()
    assert await faults(page) == []
    await save(page)

    payoffs = "payoffs: {CC: [4, 4], CD: [0, 6], DC: [6, 0], DD: [1, 1]}"
    own = DRAFT.replace("payoffs: {CC: [3, 3], CD: [0, 5], DC: [5, 0], DD: [1, 1]}", payoffs)
    assert lab.ask("GET", source)["text"] == f"{own}  pairs: [{{seats: [hawk, {{open: true}}]}}]\n"


async def press(page: Page, name: str) -> None:
    """Press the button by the keyboard alone."""
    button = page.get_by_role("button", name=name, exact=True)
    await button.focus()
    await page.keyboard.press("Enter")


@pytest.mark.grid
@pytest.mark.tabs
@pytest.mark.waits(60, reason="an arena is seeded, edited, played and replayed")
async def test_an_arena_is_seeded_changed_paired_played_and_replayed_by_keys(
    desk: BrowserContext, lab: RunningLab
) -> None:
    page, source = await editor_of(desk, lab)
    await press(page, "Add the sixteen agents")
    await expect(page.get_by_role("button", name="Remove Random(1)")).to_be_visible()
    changing = await desk.new_page()
    await changing.goto("/console/personas/selfish-agent")
    await changing.get_by_label("Own system prompt in games").fill("You are a stone.")
    await changing.get_by_role("button", name="Save", exact=True).press("Enter")
    await expect(changing.get_by_label("All fields")).to_have_value(re.compile("You are a stone"))

    for name in ("Hawk", "Dove", "GTFT", "ALLC", "GRIM", "WSLS", "Selfish", "Forgiving", "Random", "Random(0.5)"):
        await press(page, f"Remove {name}")
        await expect(page.get_by_role("button", name=f"Remove {name}", exact=True)).to_have_count(0)
    await press(page, "Dove")
    await page.get_by_role("group", name="First player of a new pair").get_by_role("button").press("Enter")
    await page.get_by_role("group", name="Dove meets …").get_by_role("button", name="Place Dove here").press("Enter")
    await expect(page.get_by_text("Dove meets Dove")).to_be_visible()
    await page.get_by_label("rounds", exact=True).fill("3")
    await page.get_by_label("rounds", exact=True).press("Enter")
    await page.get_by_label("Games of each pair").fill("2")
    await page.get_by_label("Games of each pair").press("Enter")
    await expect(page.get_by_text("not saved", exact=True)).to_be_visible()
    assert await faults(page) == []
    await save(page)
    text = lab.ask("GET", source)["text"]
    assert "replicates: 2" in text
    assert "horizon: {type: fixed, rounds: 3}" in text
    await press(page, "Start")

    await expect(page.locator(".c-head .c-is-ended")).to_be_visible(timeout=40_000)
    await page.get_by_role("link", name="Results").press("Enter")
    over_alpha = page.get_by_role("img", name="Cooperation over alpha of the opponent")
    await over_alpha.scroll_into_view_if_needed()
    await expect(over_alpha.locator("svg")).to_be_visible()
    assert await faults(page) == []
    cell = page.get_by_role("link", name=re.compile(r"^Dove with Dove: 100 %, 2 games"))
    await cell.press("Enter")
    await page.get_by_role("table").get_by_role("link").first.press("Enter")
    replay = page.get_by_role("group", name="Replay")
    await replay.press("End")
    await expect(replay).to_contain_text("Round 3 of 3")
    await replay.press("Home")
    await replay.press(" ")
    await expect(replay).to_contain_text("Round 3 of 3")


@pytest.mark.grid
@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
async def test_the_replay_moves_only_where_motion_is_wanted(
    browser: Browser, lab: RunningLab, motion: Literal["reduce", "no-preference"]
) -> None:
    context = await browser.new_context(base_url=lab.url, reduced_motion=motion, locale="en")
    page = await results_of(context, lab, arena("tft", "alld"))
    await page.get_by_role("link", name=re.compile("^TFT.* with ALLD")).click()
    await page.get_by_role("table").get_by_role("link").first.click()
    await page.get_by_role("button", name="Forward").click()

    moved = await page.locator(".c-newest").first.evaluate("one => getComputedStyle(one).animationName")
    await context.close()

    assert (moved == "none") == (motion == "reduce")


@pytest.mark.grid
@pytest.mark.waits(60, reason="an arena is played, and three pages are looked at")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light"), (390, "dark")])
async def test_pages_of_an_arena_can_be_read_in_every_window(
    browser: Browser, lab: RunningLab, width: int, scheme: Literal["light", "dark"]
) -> None:
    context = await browser.new_context(
        base_url=lab.url, viewport={"width": width, "height": 800}, color_scheme=scheme, locale="en"
    )
    draft = lab.ask("POST", "/v1/experiments", DRAFT, media_type="application/yaml")
    game = "?player=tft&opponent=coin&game=c1&stage=game"
    made = lab.ask("POST", "/v1/experiments", arena("tft", "coin", "alld"))
    lab.ask("POST", f"/v1/experiments/{made['id']}/start")
    page = await signed_in(context, lab, f"/console/e/{made['id']}")
    await expect(page.locator(".c-head .c-is-ended")).to_be_visible(timeout=40_000)

    results = f"{made['id']}/results"
    for path in (f"{draft['id']}/arena", results, f"{results}?player=tft&opponent=coin", results + game):
        await page.goto(f"/console/e/{path}")
        await expect(page.locator("h2").first).to_be_visible()
        # A chart below the window waits until it comes near.
        await expect(page.locator(".c-loading:not(.c-charts *)")).to_have_count(0)
        assert await faults(page) == [], path

    await context.close()


@pytest.mark.grid
async def test_a_move_that_could_not_be_read_is_flagged_with_the_words_of_the_model(
    desk: BrowserContext, lab: RunningLab
) -> None:
    file = arena("alld", rounds=2)
    failures = [{"status": "invalid", "text": f"hmm {HARM}"}]
    file["personas"].append({"id": "mumbler", "profile": {"name": "Mumbler"}, "mock": {"failures": failures}})
    file["stages"][0]["on_invalid"] = "fallback:D"
    file["pairings"]["round_robin"].append("mumbler")
    page = await results_of(desk, lab, file)

    await page.get_by_role("link", name=re.compile("^Mumbler with ALLD")).click()
    await page.get_by_role("table").get_by_role("link").first.click()

    rounds = page.get_by_role("table", name="Rounds")
    await expect(rounds.get_by_text("flagged: fallback:D")).to_have_count(2)
    await expect(rounds.get_by_text("hmm <img")).to_have_count(2)
    assert await page.evaluate("window.harm") is None
    assert await faults(page) == []


@pytest.mark.grid
async def test_an_agent_file_is_imported_under_its_name_chatted_with_and_exported(
    desk: BrowserContext, lab: RunningLab
) -> None:
    page = await signed_in(desk, lab, "/console/personas")
    agent = b"role: a diplomat\ngoal: peace\nbackstory: You come from a small country.\n"
    file: FilePayload = {"name": "Old Diplomat.yaml", "mimeType": "application/yaml", "buffer": agent}

    await page.get_by_label("Agent file").set_input_files(file)
    await page.get_by_role("link", name="old-diplomat").click()
    await page.get_by_label("Your message").fill("Hello.")
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_role("log").get_by_role("listitem")).to_have_count(2)
    await page.get_by_role("button", name="Clear the chat").click()
    await expect(page.get_by_role("log").get_by_role("listitem")).to_have_count(0)
    assert await faults(page) == []
    async with page.expect_download() as taken:
        await page.get_by_role("button", name="Agent file").click()

    assert "role: a diplomat" in (await (await taken.value).path()).read_text()
