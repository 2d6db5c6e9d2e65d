"""Markup and scripts in every text that others see do nothing, and no one receives what is another's alone."""

from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.test_media import an_image, uploaded

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

HARM: Final = '<img src=x onerror="window.harm=1"><script>window.harm=1</script>'
SHORT: Final = "<b onclick=harm()>"
QUOTES: Final = "\"'>]]></script><svg onload=window.harm=1>`${window.harm=1}`"
SECRETS: Final = {
    "external id": "SECRET-ID",
    "parameter": "SECRET-PARAMETER",
    "help": "SECRET-HELP",
    "answer": "SECRET-ANSWER",
    "draft": "SECRET-DRAFT",
}
LISTEN: Final = """
    window.received = [];
    const ask = window.fetch.bind(window);
    window.fetch = async (...given) => {
      const answer = await ask(...given);
      const read = async (copy) => {
        const reader = copy.body?.pipeThrough(new TextDecoderStream()).getReader();
        for (let piece = await reader?.read(); piece && !piece.done; piece = await reader.read()) {
          window.received.push(piece.value);
        }
      };
      void read(answer.clone()).catch(() => {});
      return answer;
    };
"""
"""Keeps all that the lab sends, the stream included."""


def study(image: str) -> dict[str, Any]:
    text = f"{HARM} {QUOTES}"
    option = [{"id": "y", "text": f"Yes {HARM}"}, {"id": "n", "text": f"No {QUOTES}"}]
    return {
        "language": "en",
        "look_back": "all",
        "pace": "live",
        "join": {"title": f"Title {HARM}", "text": text, "parameters": ["SESSION_ID"]},
        "appearance": {
            "words": {"go_on": f"On {HARM}", "lab_says": f"Lab {HARM}", "help": f"Help {HARM}"},
            "logo": "data:image/png;base64,aGFybQ==",
            "logo_text": text,
        },
        "variables": {"town": text},
        "completion": {"completed": {"code": f"CODE {HARM}"}},
        "stages": [
            {"id": "who", "kind": "profile", "name": f"Profile {HARM}", "set": "free", "info": text},
            {
                "id": "about",
                "kind": "survey",
                "name": f"About {HARM}",
                "description": text,
                "audience": "cohort",
                "questions": [
                    {"id": "town", "kind": "text", "title": f"Town {HARM}"},
                    {"id": "bus", "kind": "choice", "title": f"Bus {QUOTES}", "options": option},
                ],
            },
            {
                "id": "alone",
                "kind": "survey",
                "name": "Alone",
                "questions": [{"id": "own", "kind": "text", "title": "Yours alone"}],
            },
            {
                "id": "read",
                "kind": "info",
                "name": f"Read {HARM}",
                "lines": [
                    f"# {HARM}",
                    f"**{HARM}** *{QUOTES}* `{HARM}`",
                    f"- {QUOTES}",
                    "{{town}}",
                    "{{answers.about.town}}",
                ],
                "links": True,
                "media": [
                    {"file": image, "alt": text, "caption": text},
                    {"link": "https://example.org/\"onclick='window.harm=1'", "alt": HARM, "caption": QUOTES},
                ],
            },
            {
                "id": "talk",
                "kind": "group_chat",
                "name": f"Talk {HARM}",
                "topics": [{"id": "one", "name": f"Topic {HARM}"}, {"id": "two", "name": f"Topic {QUOTES}"}],
                "replies_and_reactions": True,
                "links": True,
            },
            {"id": "vote", "kind": "ranking", "name": f"Vote {HARM}", "rank": "participants", "self_vote": True},
            {
                "id": "seen",
                "kind": "survey_per_participant",
                "name": f"Others {HARM}",
                "questions": [{"id": "like", "kind": "text", "title": f"Like {HARM}"}],
            },
            {
                "id": "outcome",
                "kind": "reveal",
                "name": f"Outcome {HARM}",
                "items": [{"stage": "about", "audience": "all"}, {"stage": "vote", "show": "result"}],
            },
        ],
        "cohorts": [{"seats": [{"open": True, "count": 2}]}],
    }


@pytest_asyncio.fixture(loop_scope="session")
async def pair(browser: Browser, lab: RunningLab) -> AsyncIterator[list[Page]]:
    contexts = [await browser.new_context(base_url=lab.url, locale="en") for _ in range(2)]
    pages = []
    for context in contexts:
        await context.add_init_script(LISTEN)
        pages.append(await context.new_page())
    yield pages
    for context in contexts:
        await context.close()


async def is_harmless(page: Page) -> None:
    assert await page.evaluate("window.harm") is None
    strange = ("script", "svg[onload]", "img:not(.logo):not(.medium img)", "b", "[onclick]", "[onerror]")
    assert await page.locator(", ".join(f"#page {one}" for one in strange)).count() == 0
    for link in await page.locator("#page a[href]").all():
        address = await link.get_attribute("href")
        assert address is not None
        assert address.startswith(("#", "https://example.org/")), address


async def go_on(page: Page) -> None:
    await page.locator("article, .chat").get_by_role("button", name="On <img").first.click()


async def test_hostile_messages_do_nothing_to_others_and_drafts_stay_with_their_writer(
    pair: list[Page], lab: RunningLab
) -> None:
    whole = study(uploaded(lab, an_image()))
    experiment = lab.started({**whole, "stages": [one for one in whole["stages"] if one["id"] == "talk"]})
    own, other = pair
    for page in pair:
        await page.goto(f"/join/{experiment['join_code']}")
        await expect(page.get_by_role("button", name="Take part")).to_be_visible()
        await is_harmless(page)
        await page.get_by_role("button", name="Take part").click()
        await page.wait_for_url("**/take/*")

    for text in (HARM, QUOTES):
        await own.get_by_label("Your message").fill(text)
        await own.get_by_label("Your message").press("Enter")
    # A message ends what is known of the typing of its author.
    await expect(other.locator(".message .said")).to_have_text([HARM, QUOTES])
    await own.get_by_label("Your message").press_sequentially(SECRETS["draft"])

    await expect(other.get_by_text("is typing …")).to_be_visible()
    for page in pair:
        await is_harmless(page)
    received = "".join(await other.evaluate("window.received"))
    assert "thread.typing" in received, "the stream was heard"
    assert SECRETS["draft"] not in received


@pytest.mark.grid
async def test_hostile_texts_do_nothing_to_others_and_secrets_stay_with_their_owner(
    pair: list[Page], lab: RunningLab
) -> None:
    told: dict[Page, list[str]] = {page: [] for page in pair}
    refused: list[str] = []
    for page in pair:
        page.on("console", lambda message: refused.append(message.text) if "Security Policy" in message.text else None)
    experiment = lab.started(study(uploaded(lab, an_image())))
    own, other = pair
    for page in pair:
        secret = f"?PROLIFIC_PID={SECRETS['external id']}&SESSION_ID={SECRETS['parameter']}"
        mine = secret if page is own else ""
        await page.goto(f"/join/{experiment['join_code']}{mine}")
        await expect(page.get_by_role("button", name="Take part")).to_be_visible()
        await is_harmless(page)
        await page.get_by_role("button", name="Take part").click()
        await page.wait_for_url("**/take/*")
        await page.get_by_label("Name").fill(HARM)
        await page.get_by_label("Avatar").fill(SHORT)
        await page.get_by_label("Pronouns").fill(SHORT)
        await is_harmless(page)
        await go_on(page)
        await page.get_by_label("Town").fill(f"{HARM} {QUOTES}")
        await page.get_by_label("Yes <img").check()
        await is_harmless(page)
        await go_on(page)
        await page.get_by_label("Yours alone").fill(SECRETS["answer"] if page is own else "mine")
        await go_on(page)
        await expect(page.get_by_role("heading", level=1)).to_contain_text("Read")
        await is_harmless(page)
        if page is own:
            await page.get_by_role("button", name="Help <img").click()
            await page.locator("footer textarea").fill(SECRETS["help"])
            await page.locator("footer").get_by_role("button", name="Send").click()
            await expect(page.get_by_text("Your question was sent.")).to_be_visible()
        await go_on(page)
    for page in pair:
        await expect(page.get_by_label("Your message")).to_be_visible()
    for member in lab.ask("GET", f"/v1/experiments/{experiment['id']}/members")["members"]:
        lab.ask("POST", f"/v1/members/{member['id']}/message", {"text": HARM})
        lab.ask("POST", f"/v1/members/{member['id']}/check", {"text": QUOTES})
    for page in pair:
        await expect(page.get_by_role("button", name="I have read this")).to_be_visible()
        await expect(page.get_by_role("button", name="I am here")).to_be_visible()
        await is_harmless(page)
        await page.get_by_role("button", name="I am here").click()
        await expect(page.get_by_role("alertdialog")).to_have_count(0)
    await own.get_by_label("Your message").fill(HARM)
    await own.get_by_label("Your message").press("Enter")
    await other.get_by_role("button", name="Reply").first.click()
    await other.get_by_label("Your message").fill(f"{QUOTES} https://example.org/<img/src=x/onerror=window.harm=1>")
    await other.get_by_label("Your message").press("Enter")
    await expect(own.locator(".message")).to_have_count(2)
    await own.get_by_label("Your message").press_sequentially(SECRETS["draft"])
    await expect(other.get_by_text("is typing …")).to_be_visible()
    for page in pair:
        await is_harmless(page)
    await own.get_by_label("Your message").fill("")
    for _ in range(2):
        for page in pair:
            await page.get_by_role("button", name="I am done with this topic").click()
        await expect(own.get_by_role("log").locator(".lab-line").first).to_be_visible()
    for page in pair:
        await is_harmless(page)
        leave = page.get_by_role("button", name="I am ready to end").or_(page.get_by_role("button", name="On <img"))
        await leave.first.click()
        await (
            page.get_by_role("button", name="Yes, leave it")
            .or_(page.get_by_role("heading", level=1, name="Vote"))
            .click()
        )
    for title in ("Vote", "Others"):
        for page in pair:
            await expect(page.get_by_role("heading", level=1)).to_contain_text(title)
            await is_harmless(page)
            if title == "Others":
                await page.locator("main textarea, main input[type=text]").first.fill(HARM)
            else:
                await page.get_by_role("button", name="Take this order").click()
            await go_on(page)
    for page in pair:
        await expect(page.get_by_role("heading", level=1)).to_contain_text("Outcome")
        await expect(page.locator("article .cards, article dl").first).to_be_visible()
        await is_harmless(page)
        await page.locator("header summary").click()
        await page.get_by_role("button", name="About <img").click()
        await expect(page.get_by_role("heading", name="What the others answered")).to_be_visible()
        await is_harmless(page)
        await page.get_by_role("button", name="Back to where you are").click()
        await go_on(page)
        await expect(page.locator(".code")).to_contain_text("CODE <img")
        await is_harmless(page)
        told[page] = await page.evaluate("window.received")

    assert refused == []
    received = "".join(told[other])
    assert "thread.typing" in received, "the stream was heard"
    assert {name for name, secret in SECRETS.items() if secret in received} == set()
