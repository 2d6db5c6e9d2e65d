"""Texts that mean harm do nothing on any page of the console."""

import asyncio
from typing import Any, Final

import pytest
from playwright.async_api import BrowserContext, Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.test_console import HARM, desk, signed_in

__all__ = ["desk"]

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

LINK: Final = "javascript:window.harm=1"
STUDY: Final[dict[str, Any]] = {
    "name": f"Study {HARM}",
    "study": f"Of {HARM}",
    "pace": "live",
    "variables": {"word": f"word {HARM}"},
    "treatments": [{"id": "one", "name": f"One {HARM}"}, {"id": "two", "name": LINK}],
    "personas": [
        {
            "id": "ann",
            "profile": {"name": f"Ann {HARM}"[:40], "avatar": "🚲"},
            "text": f"You {HARM}",
            "role": HARM,
            "mock": {"lines": [f"Said {HARM}", LINK]},
        }
    ],
    "stages": [
        {
            "id": "before",
            "kind": "survey",
            "name": f"Before {HARM}",
            "questions": [{"id": "why", "kind": "text", "title": f"Why {HARM}?"}],
        },
        {"id": "talk", "kind": "group_chat", "name": f"Talk {HARM}", "description": f"{{{{word}}}} {HARM}"},
    ],
    "cohorts": [{"treatment": arm, "seats": [{"open": True}, {"persona": "ann"}]} for arm in ("one", "two")],
}


def write_harm_everywhere(lab: RunningLab) -> str:
    """An experiment in which a person has written the same everywhere."""
    experiment_id = str(lab.started(STUDY)["id"])
    lab.ask("PUT", f"/v1/experiments/{experiment_id}/guests", {"guests": [f"id {HARM}"[:100]]})
    given = {"external_id": f"id {HARM}"[:100], "profile": {"name": f"Bo {HARM}"[:40]}}
    person = RunningLab(lab.url, lab.ask("POST", f"/v1/experiments/{experiment_id}/join", given)["token"])
    person.ask("POST", "/v1/me/stages/before/advance", {"answer": {"why": HARM}})
    person.ask("POST", "/v1/me/help", {"text": f"Help {HARM}"})
    lab.ask("PATCH", f"/v1/experiments/{experiment_id}", {"name": f"Listed {HARM}", "study": LINK})
    return experiment_id


async def test_hostile_texts_do_nothing_on_the_board_and_beside_a_member(desk: BrowserContext, lab: RunningLab) -> None:
    experiment_id = write_harm_everywhere(lab)
    page = await signed_in(desk, lab, f"/console/e/{experiment_id}")
    await expect(page.get_by_role("region", name="Needs you")).to_contain_text("Help <img")
    await require_harmless(page)

    members = lab.ask("GET", f"/v1/experiments/{experiment_id}/members")["members"]
    person = next(one["id"] for one in members if one["joined_at"] and one["player"] == "person")
    await page.goto(f"/console/e/{experiment_id}?member={person}")

    await expect(page.get_by_role("complementary")).to_contain_text("Bo <img")
    await require_harmless(page)


@pytest.mark.grid
@pytest.mark.waits(60, reason="every page is opened")
async def test_hostile_texts_do_nothing_on_any_page_of_the_console(desk: BrowserContext, lab: RunningLab) -> None:
    experiment_id = write_harm_everywhere(lab)
    lab.ask("PUT", "/v1/personas/harm", {"id": "harm", "profile": {"name": HARM[:40]}, "text": HARM, "role": LINK})
    page = await signed_in(desk, lab, f"/console/e/{experiment_id}")
    await expect(page.get_by_role("region", name="Needs you")).to_contain_text("Help <img")
    await require_harmless(page)

    members = lab.ask("GET", f"/v1/experiments/{experiment_id}/members")["members"]
    person = next(one["id"] for one in members if one["joined_at"] and one["player"] == "person")
    agent = next(one["id"] for one in members if one["player"] == "agent")
    own = f"/console/e/{experiment_id}"
    pages = [f"?member={person}", f"?member={agent}", "/threads", "/calls", "/file", "/see?stage=talk&compare=1"]
    pages += ["/results", *(f"/data?table={name}" for name in ("answers", "messages", "participants"))]
    for path in [
        "/console",
        "/console/personas",
        "/console/personas/harm",
        "/console/account",
        *(own + p for p in pages),
    ]:
        await page.goto(path)
        await expect(page.locator("h1")).to_be_attached()
        await expect(page.locator(".c-loading:not(.c-charts *)")).to_have_count(0)
        await require_harmless(page)
    await page.goto(f"{own}/threads/{await first_thread(lab, experiment_id)}")
    await expect(page.locator(".c-talk")).to_contain_text("Said <img")
    await require_harmless(page)


async def first_thread(lab: RunningLab, experiment_id: str) -> str:
    """The conversation, once the agent has come to it: it takes as long over the survey as a person would."""
    for _ in range(200):
        if found := lab.ask("GET", f"/v1/experiments/{experiment_id}/threads")["threads"]:
            return str(found[0]["id"])
        await asyncio.sleep(0.2)
    raise AssertionError("The agent has not come to the conversation.")


async def require_harmless(page: Page) -> None:
    """No script of a text has run, no text has become an element, and no link leads to a script."""
    assert await page.evaluate("window.harm") is None
    assert await page.locator("main img[src=x], main script").count() == 0
    assert await page.locator("a[href^='javascript:']").count() == 0
