"""The console of experimenters in the browser: signing in, experiments, the board and its acts."""

import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

import pytest
import pytest_asyncio
import yaml
from playwright.async_api import Browser, BrowserContext, Page, Route, expect

from parley_lab.store import keys, sign_ins
from parley_lab.store.databases import connect
from parley_lab.store.session import Session
from parley_lab.testing.quick import quick_first
from parley_lab.web.assets import assets
from tests.pages.accessible import faults
from tests.pages.conftest import RunningLab

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

ARENA: Final = Path(__file__).parents[2] / "demos" / "arena.yaml"
QR_OF_62_BYTES: Final = "3ed5f315803840a81ef8c8d30249abcfc292df138c2fa57c192376617e79f332"
KEPT: Final = "parley.sign-in"
EMPTY: Final = "/empty"
WINDOWS: Final = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
HARM: Final = '<img src=x onerror="window.harm=1"><script>window.harm=1</script>'
GROUPS: Final[dict[str, Any]] = {
    "parley": 1,
    "name": "Night buses",
    "pace": "live",
    "personas": [{"id": "ann", "profile": {"name": f"Ann {HARM}"}, "text": "You take the bus."}],
    "stages": [
        {"id": "welcome", "kind": "info", "name": f"Welcome {HARM}", "lines": ["Hello."]},
        {"id": "talk", "kind": "group_chat", "name": "The talk"},
    ],
    "cohorts": [{"count": 2, "seats": [{"open": True}, {"persona": "ann"}]}],
}


@pytest_asyncio.fixture(loop_scope="session")
async def desk(browser: Browser, lab: RunningLab) -> AsyncIterator[BrowserContext]:
    """A browser on a desk; an error in a page, or a refused script, fails the test."""
    context = await browser.new_context(base_url=lab.url, viewport={"width": 1280, "height": 800}, locale="en")
    context.set_default_timeout(20_000)
    errors: list[str] = []
    context.on("weberror", lambda error: errors.append(str(error.error)))
    context.on("console", lambda told: errors.append(told.text) if told.type == "error" else None)
    yield context
    await context.close()
    assert errors == []


async def code_of_a_newcomer(lab: RunningLab) -> str:
    """A code as a terminal shows it, for an experimenter who has no experiments yet."""
    database = connect(lab.database_url, pool_size=1)

    async def make(session: Session) -> str:
        now = datetime.now(UTC)
        await keys.create_key(session, "newcomer", now)
        return await sign_ins.make_code(session, "newcomer", now)

    try:
        return await database.transact(make)
    finally:
        await database.close()


async def signed_in(context: BrowserContext, lab: RunningLab, path: str = "/console") -> Page:
    """A page of the console whose tab is signed in."""
    given = lab.ask("POST", "/v1/sign-ins", {})
    page = await context.new_page()
    # An empty page of the lab's address: loading the console only to sign in would cost as much as the test.
    await page.route(EMPTY, lambda route: route.fulfill(content_type="text/html", body="<title>Empty</title>"))
    await page.goto(EMPTY)
    await page.unroute(EMPTY)
    await page.evaluate("([key, kept]) => sessionStorage.setItem(key, kept)", [KEPT, json.dumps(given)])
    await page.goto(path)
    await expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    return page


async def test_a_pasted_key_signs_in_and_is_stored_nowhere(desk: BrowserContext, lab: RunningLab) -> None:
    page = await desk.new_page()
    await page.goto("/console")

    await page.get_by_label("Or paste an API key").fill(lab.key)
    await page.get_by_role("button", name="Sign in").click()

    await expect(page.get_by_role("heading", level=1)).to_have_text("Experiments")
    kept = await page.evaluate("JSON.stringify([{ ...sessionStorage }, { ...localStorage }])")
    assert lab.key not in kept
    assert await desk.cookies() == []


@pytest.mark.tabs
async def test_signing_in_serves_new_tabs_and_signing_out_ends_all(desk: BrowserContext, lab: RunningLab) -> None:
    first = await signed_in(desk, lab)
    second = await desk.new_page()
    await second.goto("/console/account")
    for table in ("Where you are signed in", "Keys", "What you have done"):
        await expect(second.get_by_role("table", name=table)).to_be_visible()

    await first.get_by_role("button", name="Sign out").click()

    for page in (first, second):
        await expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        assert await page.evaluate("sessionStorage.length") == 0


@pytest.mark.grid
async def test_a_sign_in_that_ends_under_a_page_leaves_the_page_and_asks_again(
    browser: Browser, lab: RunningLab
) -> None:
    context = await browser.new_context(base_url=lab.url, locale="en")
    page = await signed_in(context, lab, "/console?new=1")
    await page.get_by_label("Or paste the text").fill("name: kept")
    token = json.loads(await page.evaluate("key => sessionStorage.getItem(key)", KEPT))["token"]
    RunningLab(lab.url, token).ask("DELETE", "/v1/sign-ins/current")

    # The page may have heard of it already, and ask over the button.
    await page.get_by_role("button", name="Store as a draft").dispatch_event("click")
    dialog = page.get_by_role("dialog", name="Your sign-in has ended")
    await dialog.get_by_label("Or paste an API key").fill(lab.key)
    await dialog.get_by_role("button", name="Sign in").click()

    await expect(dialog).to_have_count(0)
    await expect(page.get_by_label("Or paste the text")).to_have_value("name: kept")
    await context.close()


@pytest.mark.grid
async def test_a_page_says_before_its_sign_in_ends_and_signs_in_again_in_place(
    desk: BrowserContext, lab: RunningLab
) -> None:
    page = await signed_in(desk, lab)
    soon = (datetime.now(UTC) + timedelta(minutes=10)).isoformat()
    end_soon = """([key, soon]) => {
        const kept = { ...JSON.parse(sessionStorage.getItem(key)), expires_at: soon };
        sessionStorage.setItem(key, JSON.stringify(kept));
    }"""
    await page.evaluate(end_soon, [KEPT, soon])
    await page.goto("/console/account")
    await expect(page.get_by_text("Your sign-in ends at")).to_be_visible()
    assert await faults(page) == []

    await page.get_by_role("button", name="Sign in again").click()
    await page.get_by_role("dialog").get_by_label("Or paste an API key").fill(lab.key)
    await page.get_by_role("dialog").get_by_role("button", name="Sign in", exact=True).click()

    await expect(page.get_by_text("Your sign-in ends at")).to_have_count(0)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Account")


@pytest.mark.grid
async def test_errors_of_a_pasted_file_are_shown_with_their_lines(browser: Browser, lab: RunningLab) -> None:
    context = await browser.new_context(base_url=lab.url, locale="en")
    page = await signed_in(context, lab, "/console?new=1")

    await page.get_by_label("Or paste the text").fill("parley: 1\nname: Buses\nstages:\n  - id: a\n    kind: infos\n")
    await page.get_by_role("button", name="Store as a draft").click()

    await expect(page.get_by_role("alert")).to_contain_text("infos")
    await expect(page.get_by_role("alert")).to_contain_text("kind: infos")
    await context.close()


@pytest.mark.grid
async def test_an_experiment_is_stored_started_looked_after_and_ended(desk: BrowserContext, lab: RunningLab) -> None:
    page = await signed_in(desk, lab, "/console?new=1")
    await page.get_by_label("Or paste the text").fill(yaml.safe_dump(GROUPS))
    await page.get_by_role("button", name="Store as a draft").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Night buses")
    await page.get_by_role("button", name="Start").click()

    board = page.get_by_role("table", name="Groups by stages")
    await expect(board.locator(".c-dot.c-agent.c-here, .c-dot.c-agent.c-waits")).to_have_count(2)
    await expect(board.locator(".c-dot.c-person.c-open")).to_have_count(2)
    await board.get_by_role("link").first.click()
    panel = page.get_by_role("complementary")
    await panel.get_by_role("button", name="Ann").click()
    await panel.get_by_role("button", name="Pause").click()
    await expect(panel.get_by_role("button", name="Resume")).to_be_visible()
    await expect(board.locator(".c-dot.c-agent.c-paused")).to_have_count(1)
    await panel.get_by_role("button", name="Remove").click()
    asked = page.get_by_role("dialog")
    await expect(asked.get_by_role("button", name="Remove")).to_have_attribute("aria-disabled", "true")
    await asked.get_by_label("Reason").fill("asked to go")
    await asked.get_by_role("button", name="Remove").click()
    await expect(board.locator(".c-dot.c-out")).to_have_count(1)
    assert await faults(page) == []
    await page.keyboard.press("Escape")
    assert await page.evaluate("window.harm") is None

    await page.get_by_role("button", name="End", exact=True).click()
    await page.get_by_role("dialog").get_by_label("Reason").fill("it is enough")
    await page.get_by_role("dialog").get_by_role("button", name="End it").click()
    await expect(page.locator(".c-head .c-is-ended")).to_be_visible()
    assert await faults(page) == []


@pytest.mark.grid
async def test_the_list_is_chosen_by_study_and_calls_of_an_ended_experiment_are_shown_from_its_start(
    desk: BrowserContext, lab: RunningLab
) -> None:
    first, _ = (lab.ask("POST", "/v1/experiments", {**GROUPS, "name": one}) for one in ("Of two", "Of none"))
    lab.ask("PATCH", f"/v1/experiments/{first['id']}", {"study": "Twofold"})
    lab.ask("POST", f"/v1/experiments/{first['id']}/start")
    lab.ask("POST", f"/v1/experiments/{first['id']}/end")
    page = await signed_in(desk, lab)

    async def price(route: Route) -> None:
        answer = await route.fetch()
        found = await answer.json()
        priced = [{**one, "cost": 0.25} for one in found["experiments"]]
        await route.fulfill(response=answer, json={**found, "experiments": priced})

    await page.route("**/v1/experiments?*", price)
    await page.goto("/console?q=Of+")
    lines = page.get_by_role("main").get_by_role("listitem")
    await expect(lines).to_have_count(2)
    await page.get_by_label("Study").select_option("Twofold")
    await expect(lines).to_have_count(1)
    await expect(lines).to_contain_text("0.25 $")
    await lines.get_by_role("link").click()
    await page.get_by_role("link", name="Calls").click()

    await expect(page.get_by_label("Time")).to_have_value("all")
    assert await faults(page) == []


async def test_the_first_hour_from_the_code_in_the_terminal_to_the_data(desk: BrowserContext, lab: RunningLab) -> None:
    """By the interface alone: sign in, run the demo, see the board, results, a conversation, a draft, the data."""
    page = await desk.new_page()
    await page.goto(f"/console#code={await code_of_a_newcomer(lab)}")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Experiments")
    assert "code" not in page.url
    assert await faults(page) == []
    await page.get_by_role("button", name="Run the demo").click()
    board = page.get_by_role("table", name="Groups by stages")
    await expect(board).to_be_visible()

    await expect(page).to_have_url(re.compile("/results$"), timeout=60_000)
    await expect(page.get_by_text("Mock data")).to_be_visible()
    await expect(page.get_by_role("img", name="How participants ended").locator("svg")).to_be_visible()
    await page.get_by_role("group", name="Show How participants ended as").get_by_role("button", name="table").click()
    await expect(page.get_by_role("table", name="How participants ended").get_by_role("row")).to_have_count(9)
    assert await faults(page) == []
    await page.get_by_role("link", name="Board").click()
    await expect(board.locator(".c-dot.c-through")).to_have_count(8)
    assert await faults(page) == []
    await page.get_by_role("link", name="Conversations").click()
    await page.locator(".c-line a").first.click()
    await expect(page.locator(".c-talk li").nth(3)).to_be_visible()
    await page.locator(".c-lane", has_text="lost claim").first.click()
    panel = page.get_by_role("complementary", name="Draft")
    await expect(panel.get_by_text("Sent exactly so.")).to_be_visible()
    assert await faults(page) == []
    await panel.get_by_role("button", name="Reply (1 attempt)").click()
    await expect(panel.get_by_label("Raw reply")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(panel).to_have_count(0)
    await page.get_by_role("link", name="Calls").click()
    await expect(page.get_by_role("table", name="Calls of models").get_by_role("row").nth(5)).to_be_visible()
    await page.get_by_role("navigation", name="Pages of the experiment").get_by_role("link", name="Data").click()
    async with page.expect_download() as taken:
        await page.get_by_role("button", name="JSON only").click()
    assert (await (await taken.value).path()).stat().st_size > 1000


@pytest.mark.grid
async def test_a_file_is_mended_where_its_problem_is_and_saved(desk: BrowserContext, lab: RunningLab) -> None:
    created = lab.ask("POST", "/v1/experiments", {**GROUPS, "name": "To mend"})
    page = await signed_in(desk, lab, f"/console/e/{created['id']}/file")
    text = page.get_by_label("Text of the file")
    good = await text.input_value()

    await text.fill(good.replace('"name": "To mend"', '"nam": "To mend"'))
    problem = page.get_by_role("list", name="Problems").get_by_role("button").first
    await expect(problem).to_contain_text("nam")
    await expect(page.locator(".c-gutter .c-wrong")).not_to_have_count(0)
    assert await faults(page) == []
    await text.fill(good.replace("To mend", "Mended"))
    await expect(page.get_by_text("No problems")).to_be_visible()
    await page.keyboard.press("Control+s")

    await expect(page.get_by_role("heading", level=1)).to_have_text("Mended")
    await expect(page.get_by_text("saved", exact=True)).to_be_visible()


@pytest.mark.grid
async def test_a_save_over_a_newer_version_is_refused_and_both_texts_survive(browser: Browser, lab: RunningLab) -> None:
    created = lab.ask("POST", "/v1/experiments", {**GROUPS, "name": "Shared"})
    context = await browser.new_context(base_url=lab.url, locale="en")
    page = await signed_in(context, lab, f"/console/e/{created['id']}/file")
    text = page.get_by_label("Text of the file")
    good = await text.input_value()
    lab.ask("PUT", f"/v1/experiments/{created['id']}/file", {**GROUPS, "name": "Theirs"})

    await text.fill(good.replace("Shared", "Mine"))
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("Saved by")
    assert "Mine" in await text.input_value()
    difference = page.get_by_role("region", name="Your text and theirs")
    await expect(difference.locator("del").filter(has_text="Mine")).to_have_count(1)
    await expect(difference.locator("ins").filter(has_text="Theirs")).to_have_count(1)
    await page.get_by_role("button", name="Save mine over it").click()

    await expect(page.get_by_role("heading", level=1)).to_have_text("Mine")
    await context.close()


def rows_read_by(code: str, folder: Path) -> Any:
    """The rows that this Python reads in a process of its own."""
    program = [sys.executable, "-c", f"{code}\nimport json\nprint(json.dumps(rows))"]
    return json.loads(subprocess.run(program, cwd=folder, check=True, capture_output=True, text=True).stdout)


@pytest.mark.grid
async def test_a_table_is_shown_a_page_at_a_time_in_german_and_its_python_reads_the_file(
    browser: Browser, lab: RunningLab, tmp_path: Path
) -> None:
    experiment = lab.started(GROUPS)
    context = await browser.new_context(base_url=lab.url, locale="de")
    page = await context.new_page()
    await page.goto("/console")
    await page.get_by_label("Oder fügen Sie einen API-Schlüssel ein").fill(lab.key)
    await page.get_by_role("button", name="Anmelden").click()
    await page.get_by_role("button", name="Abmelden").wait_for()

    await page.goto(f"/console/e/{experiment['id']}/data?table=participants")

    table = page.get_by_role("table", name="participants")
    await expect(table.get_by_role("row")).to_have_count(5)
    await expect(page.get_by_text("1 bis 4 von 4 Zeilen")).to_be_visible()
    assert await faults(page) == []
    code = await page.get_by_label("In Python", exact=True).text_content()
    address = f"/v1/experiments/{experiment['id']}/tables/participants"
    file = await context.request.get(f"{address}?format=csv", headers={"Authorization": f"Bearer {lab.key}"})
    (tmp_path / "participants.csv").write_bytes(await file.body())
    shown = lab.ask("GET", address)
    assert rows_read_by(code or "", tmp_path) == [
        dict(zip(shown["columns"], row, strict=True)) for row in shown["rows"]
    ]
    await context.close()


@pytest.mark.grid
@pytest.mark.waits(60, reason="an arena of 12 games is played")
async def test_every_chart_of_an_arena_is_drawn(desk: BrowserContext, lab: RunningLab) -> None:
    arena = yaml.safe_load(ARENA.read_text())
    arena["stages"][0]["horizon"]["rounds"] = 4
    arena["pairings"] = {**arena["pairings"], "replicates": 2, "round_robin": ["tft", "alld", "coin"]}
    made = lab.ask("POST", "/v1/experiments", arena)
    lab.ask("POST", f"/v1/experiments/{made['id']}/start")
    page = await signed_in(desk, lab, f"/console/e/{made['id']}")
    await expect(page.locator(".c-head .c-is-ended")).to_be_visible(timeout=40_000)

    await page.goto(f"/console/e/{made['id']}/results")
    cards = page.locator(".c-charts > .c-card")
    await expect(cards).not_to_have_count(0)
    for card in await cards.all():
        await card.scroll_into_view_if_needed()
        # The heat map is a table, since its cells lead to games.
        await expect(card.locator(".c-drawn svg, table").first).to_be_visible()

    assert await faults(page) == []


@pytest.mark.parametrize(("width", "scheme"), quick_first(WINDOWS, 1, pytest.mark.grid))
async def test_every_page_can_be_read_in_every_window(
    browser: Browser, lab: RunningLab, width: int, scheme: Literal["light", "dark"]
) -> None:
    experiment = lab.started(GROUPS)
    context = await browser.new_context(
        base_url=lab.url, viewport={"width": width, "height": 800}, color_scheme=scheme, locale="en"
    )
    errors: list[str] = []
    context.on("console", lambda told: errors.append(told.text) if told.type == "error" else None)
    page = await signed_in(context, lab)
    own = f"/console/e/{experiment['id']}"
    pages = ["", "/threads", "/calls", "/file", "/see?stage=talk", "/results", "/data"]

    for path in ["/console", "/console?new=1", "/console/personas", "/console/account", *(own + one for one in pages)]:
        await page.goto(path)
        await expect(page.get_by_role("button", name="Sign out")).to_be_attached()
        await expect(page.locator("h1")).to_be_attached()
        await expect(page.locator(".c-loading")).to_have_count(0)
        assert await faults(page) == [], path

    await context.close()
    assert errors == []


async def test_the_qr_code_of_a_link_is_that_of_the_standard(desk: BrowserContext, lab: RunningLab) -> None:
    """Its modules are those that another encoder (segno 1.6) draws, with the mask of the least penalty."""
    page = await desk.new_page()
    await page.goto("/console")
    module = f"{assets().root}/console/qr.js"
    text = ("https://lab.example/join/" + "aB3dEf" * 40)[:62]

    rows = await page.evaluate("async ([module, text]) => (await import(module)).qrCode(text)", [module, text])

    drawn = "\n".join("".join("#" if is_dark else "." for is_dark in row) for row in rows)
    assert sha256(drawn.encode()).hexdigest() == QR_OF_62_BYTES


@pytest.mark.grid
async def test_a_stage_is_seen_as_person_and_as_agent_and_tried_alone(desk: BrowserContext, lab: RunningLab) -> None:
    created = lab.ask("POST", "/v1/experiments", {**GROUPS, "name": "To see"})
    page = await signed_in(desk, lab, f"/console/e/{created['id']}/see")
    alone = page.get_by_role("heading", name="Only a person reads").locator("..")
    await expect(alone).to_contain_text("Welcome <img")
    await expect(page.get_by_text("Nothing is asked of a model here.")).to_be_visible()

    await page.get_by_label("Stage").select_option("talk")
    await expect(page.get_by_text("The mock has answered the earlier stages: welcome.")).to_be_visible()
    await expect(page.locator(".c-inside").get_by_role("heading", name="The talk")).to_be_visible()
    await page.get_by_label("Seat").select_option("c1/m2")
    await expect(page.locator(".c-prompt")).to_contain_text("You take the bus.")
    assert await faults(page) == []
    assert await page.evaluate("window.harm") is None

    await page.get_by_role("button", name="Try it alone").click()
    async with desk.expect_page() as opened:
        await page.get_by_role("link", name="Take your seat").click()
    await expect((await opened.value).get_by_role("heading", level=1)).to_be_visible()
