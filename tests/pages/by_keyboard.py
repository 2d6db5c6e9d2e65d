"""Taking a study with a stage of every kind by the keyboard alone."""

import re
from typing import Any, Final

from playwright.async_api import Page, expect

from parley_lab.kinds.stages import kinds
from tests.pages.going_through import ENGLISH
from tests.pages.taking_part import STUDY

MOST_KEYS: Final = 300
QUESTIONS: Final[list[dict[str, Any]]] = [
    *STUDY["stages"][1]["questions"][:4],
    {"id": "share", "kind": "scale", "title": "Which share?", "lower": 0, "upper": 100},
    {
        "id": "how",
        "kind": "choice",
        "title": "How do you come here?",
        "widget": "dropdown",
        "options": [{"id": one, "text": one.capitalize()} for one in ("bus", "tram", "foot")],
    },
    {
        "id": "all",
        "kind": "choices",
        "title": "Which have you tried?",
        "options": [{"id": one, "text": one.capitalize()} for one in ("bus", "tram", "foot")],
    },
    {"id": "willing", "kind": "check", "title": "I am willing."},
]
REASONS: Final = [{"id": one, "text": one.capitalize()} for one in ("safe", "cheap", "quiet")]


def example_of(kind: str, **changed: Any) -> dict[str, Any]:
    """The example of this kind, as it is in a file."""
    stage = kinds()[kind].example()
    return {**stage.model_dump(mode="json"), "id": kind, "kind": kind, "name": kind, **changed}


STAGES: Final[list[dict[str, Any]]] = [
    example_of("info"),
    {"id": "consent", "kind": "terms_of_service", "name": "Before you begin", "lines": ["Nothing is kept."]},
    {"id": "who", "kind": "profile", "name": "Your name here", "set": "gendered"},
    {"id": "about", "kind": "survey", "name": "About you", "questions": QUESTIONS},
    {
        "id": "check",
        "kind": "comprehension",
        "name": "Have you understood?",
        "questions": [
            {
                "id": "who",
                "kind": "choice",
                "title": "With whom do you talk?",
                "options": [{"id": "one", "text": "With one other"}, {"id": "two", "text": "With two others"}],
                "correct": "one",
            }
        ],
    },
    {"id": "talk", "kind": "group_chat", "name": "The conversation", "replies_and_reactions": True},
    {"id": "reasons", "kind": "ranking", "name": "What matters", "rank": "items", "items": REASONS},
    {
        "id": "game",
        "kind": "matrix_game",
        "name": "Three rounds",
        "horizon": {"type": "fixed", "rounds": 3},
    },
    example_of("role"),
    example_of("asset_allocation"),
    # Without two assets one does not divide by a slider.
    example_of(
        "asset_allocation", id="three", name="three", step=1, assets=[{"id": one, "name": one} for one in "abc"]
    ),
    example_of("beauty_contest"),
    example_of("group_interview"),
    example_of("private_chat"),
    example_of("stock_info"),
    example_of("survey_per_participant"),
    {"id": "outcome", "kind": "reveal", "name": "What came of it", "items": [{"stage": "reasons", "audience": "all"}]},
    {"id": "pay", "kind": "payout", "name": "Your payment", "items": [{"id": "base", "stage": "about", "base": 2}]},
]
EVERY_PAGE: Final[dict[str, Any]] = {
    "language": "en",
    "stages": STAGES,
    "personas": [
        {"id": "ann", "profile": {"name": "Ann"}, "text": "You live here."},
        {"id": "guide", "profile": {"name": "Guide"}, "text": "You answer questions."},
    ],
    "cohorts": [{"seats": [{"open": True}, {"persona": "ann"}], "mediators": ["guide"]}],
}

WATCH: Final = """
    window.lost = [];
    let frames = 0;
    let had = "";
    // From its first and its last part one leaves the page by Tab for the browser's own: nothing is lost.
    // Shift is pressed before the Tab that it goes with, on a busy machine by some frames.
    let isLeft = false;
    addEventListener("keydown", ({ key }) => void (isLeft = key === "Tab" || (isLeft && key === "Shift")), true);
    addEventListener("focusin", () => void (isLeft = false), true);
    const look = () => {
      const one = document.activeElement;
      const isLost = one === null || one === document.body;
      if (!isLost) had = one.outerHTML.slice(0, 120);
      frames = isLost && !isLeft && had && document.getElementById("page") ? frames + 1 : 0;
      if (frames === 6) window.lost.push(had);
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
"""
"""Keeps what had the focus each time that nothing has it for more than some frames."""

FOCUSED: Final = """
    () => {
      const one = document.activeElement;
      if (one === null || one === document.body) return null;
      const isSeen = (part) => {
        const { outlineStyle, outlineWidth } = getComputedStyle(part);
        return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
      };
      const box = one.getBoundingClientRect();
      const log = one.closest(".log")?.getBoundingClientRect() ?? { top: 0, bottom: innerHeight };
      one.dataset.reached = "yes";
      if (one.type === "radio") for (const other of document.getElementsByName(one.name)) other.dataset.reached = "yes";
      return {
        tag: one.tagName, type: one.type ?? "", text: (one.getAttribute("aria-label") ?? one.textContent).trim(),
        checked: one.checked ?? false, value: one.value ?? "", disabled: one.getAttribute("aria-disabled") === "true",
        isSubmit: one.tagName === "BUTTON" && one.type === "submit",
        hasChoice: one.name ? [...document.getElementsByName(one.name)].some((other) => other.checked) : false,
        isSeen: isSeen(one) || [one.closest("label")].some((part) => part !== null && isSeen(part)),
        isOnScreen: box.bottom > Math.max(0, log.top) && box.top < Math.min(innerHeight, log.bottom)
          && box.right > 0 && box.left < innerWidth,
        isInMain: one.closest("main") !== null,
      };
    }
"""
UNREACHED: Final = """
    () => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
      .filter((one) => one.checkVisibility() && !one.disabled && one.dataset.reached !== "yes")
      .map((one) => one.outerHTML.slice(0, 160))
"""


async def focused(page: Page) -> dict[str, Any] | None:
    """What has the focus, once it is checked that it can be seen."""
    found: dict[str, Any] | None = await page.evaluate(FOCUSED)
    if found is not None:
        assert found["isSeen"], found
        assert found["isOnScreen"], found
    return found


async def title_with_focus(page: Page) -> str:
    """The title of the page, once the focus is on it."""
    title = page.locator("h1:focus")
    await expect(title).to_be_visible()
    return await title.inner_text()


async def all_is_reached(page: Page) -> None:
    """With Tab through the whole page and back again: nothing is left out, nothing holds the focus."""
    for key in ("Tab", "Shift+Tab"):
        await page.evaluate("document.querySelectorAll('[data-reached]').forEach((one) => delete one.dataset.reached)")
        for _ in range(MOST_KEYS):
            await page.keyboard.press(key)
            # From its end one comes to the beginning of the page, by way of the browser.
            await focused(page)
            if not await page.evaluate(UNREACHED):
                break
        assert await page.evaluate(UNREACHED) == [], key


async def tab_to(page: Page, text: str) -> None:
    """To the next button or field with this text."""
    for _ in range(MOST_KEYS):
        await page.keyboard.press("Tab")
        found = await focused(page)
        if found is not None and text in found["text"]:
            return
    raise AssertionError(f"{text!r} is not reached")


async def fill_in(page: Page, *, words: str = "33") -> None:
    """From the title on: every field that comes, and the button that sends them or goes on."""
    for _ in range(MOST_KEYS):
        await page.keyboard.press("Tab")
        found = await focused(page)
        if found is None or not found["isInMain"]:
            continue
        match found:
            case {"type": "radio", "hasChoice": False}:
                await page.keyboard.press("Space")
            case {"type": "checkbox", "checked": False}:
                await page.keyboard.press("Space")
            case {"type": "range"}:
                await page.keyboard.press("ArrowRight")
            case {"tag": "SELECT", "value": ""}:
                await page.keyboard.press("ArrowDown")
            case {"type": "text" | "textarea", "value": ""}:
                await page.keyboard.type(words)
            case {"tag": "BUTTON", "text": "Take this order"}:
                await page.keyboard.press("Enter")
            case {"tag": "BUTTON", "isSubmit": True} | {"tag": "BUTTON", "text": "Continue"}:
                if not found["disabled"]:
                    await page.keyboard.press("Enter")
                    return
    raise AssertionError("there is nothing to send")


async def next_page(page: Page, title: str) -> None:
    await expect(page.get_by_role("heading", level=1)).not_to_have_text(title)
    assert await title_with_focus(page) != title


async def go_through(page: Page) -> None:
    """One thing after another that the stage asks for, each from where the focus was left, to the next stage."""
    title = await page.get_by_role("heading", level=1).inner_text()
    others = page.locator("h1", has_not_text=re.compile(f"^{re.escape(title)}$"))
    wanted = page.locator("main form.form, main article .button:not([aria-disabled])").first
    while True:
        await expect(others.or_(wanted).first).to_be_visible()
        if await others.count():
            return
        sent = await wanted.element_handle()
        await fill_in(page, words="5")
        await sent.wait_for_element_state("hidden")


async def answer(page: Page) -> None:
    """Send nothing, follow what is said of each question to its field, and answer them all."""
    await tab_to(page, "Continue")
    await page.keyboard.press("Enter")
    await expect(page.locator(".summary:focus")).to_be_visible()
    problems = await page.locator(".summary a").count()
    assert problems > 5
    for number in range(problems):
        await page.locator(".summary").focus()
        for _ in range(number + 1):
            await page.keyboard.press("Tab")
        name = await page.evaluate("document.activeElement.hash.slice(1)")
        await page.keyboard.press("Enter")
        assert await page.evaluate("document.activeElement.id") == name
        await focused(page)
    await page.locator(".summary").focus()
    await fill_in(page)


async def divide(page: Page) -> None:
    """Not all of the money, which is refused; then all of it."""
    await fill_in(page)
    await expect(page.locator(".summary:focus")).to_be_visible()
    last = page.get_by_label("Percent to c")
    while not await last.evaluate("one => one === document.activeElement"):
        await page.keyboard.press("Tab")
        await focused(page)
    await page.keyboard.type("34")
    await fill_in(page)


async def look_at_stocks(page: Page) -> None:
    """Open one after the other, and go on."""
    for name in ("Alpha Rail", "Beta Foods"):
        await tab_to(page, f"Look at {name}")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("button", name=f"Look at {name}")).to_have_count(0)
    await tab_to(page, "Continue")
    await page.keyboard.press("Enter")


async def say(page: Page) -> None:
    for _ in range(MOST_KEYS):
        await page.keyboard.press("Tab")
        found = await focused(page)
        if found is not None and found["tag"] == "TEXTAREA":
            break
    await page.keyboard.type("Hello to all")
    await page.keyboard.press("Enter")
    await expect(page.locator(".message.own:not(.pending)")).to_have_count(1)


async def ask_the_guide(page: Page) -> None:
    """Write, wait for the reply, and go on."""
    await say(page)
    await expect(page.locator("main .button:not([aria-disabled])", has_text="Continue")).to_be_visible()
    await tab_to(page, "Continue")
    await page.keyboard.press("Enter")
    await tab_to(page, "Yes, leave it")
    await page.keyboard.press("Enter")


async def talk(page: Page) -> None:
    """Say something, answer it, like it, and end."""
    await say(page)
    await page.keyboard.press("Shift+Tab")
    while (found := await focused(page)) is None or found["text"] != "Reply":
        await page.keyboard.press("Shift+Tab")
    await page.keyboard.press("Enter")
    found = await focused(page)
    assert found is not None
    assert found["tag"] == "TEXTAREA", "a reply is written at once"
    await page.keyboard.press("Shift+Tab")
    await page.keyboard.press("Enter")
    await expect(page.locator(".answered")).to_have_count(0)
    found = await focused(page)
    assert found is not None
    assert found["tag"] == "TEXTAREA", "without a reply one goes on writing"
    await tab_to(page, "I am ready to end")
    await page.keyboard.press("Enter")
    await tab_to(page, "Yes, leave it")
    await page.keyboard.press("Enter")


async def rank(page: Page) -> None:
    """The last one up to the top: a place by its button, a place by the keys."""
    await tab_to(page, "Move Quiet up")
    await page.keyboard.press("Enter")
    await expect(page.locator(".ranking .what")).to_have_text(["Safe", "Quiet", "Cheap"])
    found = await focused(page)
    assert found is not None
    assert found["text"] == "Move Quiet up", "the button keeps the focus"
    await page.keyboard.press("Shift+Tab")
    await page.keyboard.press("Alt+ArrowUp")
    await expect(page.locator(".ranking .what")).to_have_text(["Quiet", "Safe", "Cheap"])
    await fill_in(page)


async def understand(page: Page) -> None:
    """The right answers, and on from where the focus was left."""
    await fill_in(page)
    await expect(page.get_by_text(ENGLISH["all_right"])).to_be_visible()
    await fill_in(page)


async def play(page: Page) -> None:
    """Three rounds, each from where the focus was left by the one before."""
    for number in (1, 2, 3):
        await expect(page.locator(".round")).to_have_text(f"Round {number}")
        await expect(page.locator("form.form")).to_be_visible()
        await fill_in(page)
    await expect(page.locator(".round")).to_have_count(0)
    await fill_in(page)


WAYS: Final = {
    "check": understand,
    "about": answer,
    "three": divide,
    "talk": talk,
    "reasons": rank,
    "game": play,
    "beauty_contest": go_through,
    "group_interview": go_through,
    "private_chat": ask_the_guide,
    "stock_info": look_at_stocks,
}
