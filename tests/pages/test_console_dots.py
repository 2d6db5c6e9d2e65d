"""Each dot of the board is where the list of members says, at rest, whatever has happened to the stream meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any, Final
from uuid import uuid4

import psycopg
import pytest
from playwright.async_api import Browser, BrowserContext, Page, Route, expect

from parley_lab.contracts.lives import OUT
from parley_lab.store.databases import copy_database, drop_database
from parley_lab.testing.services import Server
from parley_lab.testing.tcp_proxy import TcpProxy
from tests.pages.conftest import RunningLab, lab_process
from tests.pages.test_console import desk, signed_in

__all__ = ["desk"]

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

STAGES: Final = ("welcome", "talk", "bye")
STUDY: Final[dict[str, Any]] = {
    "name": "Dots",
    "pace": "live",
    "personas": [{"id": "ann", "profile": {"name": "Ann"}, "text": "You take the bus."}],
    "stages": [
        {"id": "welcome", "kind": "info", "lines": ["Hello."]},
        {"id": "talk", "kind": "group_chat"},
        {"id": "bye", "kind": "info", "lines": ["Thank you."]},
    ],
    "cohorts": [{"count": 3, "seats": [{"open": True, "count": 2}, {"persona": "ann"}]}],
}
ACTS: Final = 12
PATIENCE_S: Final = 20
DOTS: Final = """() => {
    const cellsOf = (dot) => [...dot.closest(".c-row").querySelectorAll("[role=cell]")];
    const columnOf = (dot) => cellsOf(dot).indexOf(dot.closest("[role=cell]"));
    const dots = [...document.querySelectorAll(".c-matrix-body [role=cell] .c-dot")];
    return Object.fromEntries(dots.map((dot) => [dot.dataset.member, [columnOf(dot), [...dot.classList]]]));
}"""
HIDE: Final = """(isHidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def place_of(member: dict[str, Any]) -> tuple[int, set[str]]:
    """The column of a member, and one of these classes."""
    status = member["status"]
    if status == "completed":
        return len(STAGES), {"c-through"}
    if status in OUT:
        return len(STAGES) + 1, {"c-out"}
    column = STAGES.index(member["stage_id"] or STAGES[0])
    if status == "expected":
        return column, {"c-open"}
    return column, {"c-paused"} if status == "paused" else {"c-gone"} if member["gone_at"] else {"c-here", "c-waits"}


async def require_dots(page: Page, lab: RunningLab, experiment_id: str) -> None:
    """At rest the board says what the list says: which comes later is waited for."""
    until = monotonic() + PATIENCE_S
    while True:
        members = lab.ask("GET", f"/v1/experiments/{experiment_id}/members")["members"]
        dots = await page.evaluate(DOTS)
        wrong = [
            (one["path"], one["status"], dots.get(one["id"]))
            for one in members
            for column, classes in [place_of(one)]
            if one["id"] not in dots or dots[one["id"]][0] != column or classes.isdisjoint(dots[one["id"]][1])
        ]
        if not wrong and len(dots) == len(members):
            return
        assert monotonic() < until, wrong
        await page.wait_for_timeout(100)


class Staff:
    """Does one thing after the other, as chance has it, to members who are there."""

    def __init__(self, lab: RunningLab, experiment_id: str, seed: int) -> None:
        self._lab, self._id, self._rng = lab, experiment_id, Random(seed)
        self._tokens: list[str] = []

    def act(self) -> None:
        self._rng.choice([self._join, self._join, self._go_on, self._go_on, self._on_one, self._on_one, self._add])()

    def _join(self) -> None:
        self._tokens.append(self._lab.ask("POST", f"/v1/experiments/{self._id}/join", {})["token"])

    def _go_on(self) -> None:
        if self._tokens:
            person = RunningLab(self._lab.url, self._rng.choice(self._tokens))
            me = person.ask("GET", "/v1/me")
            if me["status"] == "in_progress" and me["stage_id"] in ("welcome", "bye"):
                person.ask("POST", f"/v1/me/stages/{me['stage_id']}/advance", {"answer": None})

    def _on_one(self) -> None:
        members = self._lab.ask("GET", f"/v1/experiments/{self._id}/members")["members"]
        there = [one for one in members if one["status"] in ("in_progress", "paused")]
        if there:
            one = self._rng.choice(there)
            acts = ["resume"] if one["status"] == "paused" else ["pause", "pause", "check", "remove"]
            act = self._rng.choice(acts)
            self._lab.ask("POST", f"/v1/members/{one['id']}/{act}", {"reason": "chance"} if act == "remove" else {})

    def _add(self) -> None:
        self._lab.ask("POST", f"/v1/experiments/{self._id}/cohorts", {"count": 1})


Interruption = Callable[[Page, Staff], Awaitable[None]]


async def act_a_while(staff: Staff) -> None:
    for _ in range(ACTS):
        await asyncio.to_thread(staff.act)


async def nothing(_: Page, staff: Staff) -> None:
    await act_a_while(staff)


async def hidden_for_a_minute(page: Page, staff: Staff) -> None:
    await page.evaluate(HIDE, True)
    await page.clock.fast_forward(61_000)
    await act_a_while(staff)
    await page.evaluate(HIDE, False)


@pytest.mark.grid
@pytest.mark.parametrize("meanwhile", [nothing, hidden_for_a_minute])
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
async def test_each_dot_is_where_the_list_says(
    browser: Browser, lab: RunningLab, meanwhile: Interruption, seed: int
) -> None:
    experiment_id = lab.started(STUDY)["id"]
    context = await browser.new_context(base_url=lab.url, locale="en")
    page = await signed_in(context, lab, "/console")
    await page.clock.install()
    await page.goto(f"/console/e/{experiment_id}")
    await expect(page.get_by_role("table", name="Groups by stages")).to_be_visible()
    staff = Staff(lab, experiment_id, seed)
    await act_a_while(staff)

    await meanwhile(page, staff)

    await require_dots(page, lab, experiment_id)
    await context.close()


@pytest.mark.grid
async def test_each_dot_is_where_the_list_says_after_a_cut(browser: Browser, lab: RunningLab, proxy: TcpProxy) -> None:
    experiment_id = lab.started(STUDY)["id"]
    context = await browser.new_context(base_url=f"http://{proxy.host}:{proxy.port}", locale="en")
    page = await signed_in(context, lab, f"/console/e/{experiment_id}")
    await expect(page.get_by_role("table", name="Groups by stages")).to_be_visible()
    staff = Staff(lab, experiment_id, 5)

    await proxy.cut()
    await act_a_while(staff)
    await expect(page.get_by_text("connection lost")).to_be_visible()
    await proxy.restore()

    await require_dots(page, lab, experiment_id)
    await expect(page.get_by_text("connection lost")).to_have_count(0)
    await context.close()


@pytest.mark.fault
async def test_each_dot_is_where_the_list_says_after_a_hidden_minute_a_cut_and_a_restart_of_the_lab(
    browser: Browser, postgres_server: Server, template_database: str, tmp_path: Path
) -> None:
    name = f"parley_dots_{uuid4().hex[:12]}"
    variables = {"PARLEY_DATABASE_URL": copy_database(postgres_server.url, template_database, name)}
    with lab_process(tmp_path, variables, "--port", "0") as first:
        host, port = first.url.removeprefix("http://").split(":")
        experiment_id = first.started(STUDY)["id"]
        proxy = TcpProxy(host, int(port))
        await proxy.start()
        context = await browser.new_context(base_url=f"http://{proxy.host}:{proxy.port}", locale="en")
        page = await signed_in(context, first, f"/console/e/{experiment_id}")
        await page.clock.install()
        await page.reload()
        await expect(page.get_by_role("table", name="Groups by stages")).to_be_visible()
        staff = Staff(first, experiment_id, 6)
        await act_a_while(staff)
        await require_dots(page, first, experiment_id)
        await hidden_for_a_minute(page, staff)
        await require_dots(page, first, experiment_id)
        await proxy.cut()
        await act_a_while(staff)
        await expect(page.get_by_text("connection lost")).to_be_visible()
        await proxy.restore()
        await require_dots(page, first, experiment_id)
        await act_a_while(staff)
    await expect(page.get_by_text("connection lost")).to_be_visible()

    with lab_process(tmp_path, variables, "--port", port, "--continue-all") as second:
        async with asyncio.timeout(PATIENCE_S):
            # It pauses what runs when it stops, and goes on once it is there.
            while second.ask("GET", f"/v1/experiments/{experiment_id}")["status"] != "running":
                await page.wait_for_timeout(100)
        await act_a_while(Staff(second, experiment_id, 7))

        await require_dots(page, second, experiment_id)
        await expect(page.get_by_text("connection lost")).to_have_count(0)
        await context.close()
        await proxy.close()
    drop_database(postgres_server.url, name)


@pytest.mark.grid
async def test_an_end_between_the_reading_of_a_board_and_its_stream_is_seen(
    desk: BrowserContext, lab: RunningLab
) -> None:
    experiment_id = str(lab.started(STUDY)["id"])
    page = await signed_in(desk, lab, "/console")

    async def end_before(route: Route) -> None:
        # Only the experiment ends now: events of its members would have the board read again.
        with psycopg.connect(lab.database_url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute("UPDATE experiments SET status = 'ended' WHERE id = %s", [experiment_id])
        await route.continue_()

    await page.route("**/stream?of=board*", end_before, times=1)
    await page.goto(f"/console/e/{experiment_id}")

    await expect(page.locator(".c-head .c-is-ended")).to_be_visible()
