"""The day of a study, as its experimenter plays it from the board: by the mouse or by keys alone."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from playwright.async_api import Locator, Page, expect

from tests.pages.conftest import RunningLab

MOST_KEYS: Final = 200
STUDY: Final[dict[str, Any]] = {
    "name": "The day",
    "pace": "live",
    "personas": [{"id": "ann", "profile": {"name": "Ann"}, "text": "You take the bus."}],
    "stages": [
        {"id": "welcome", "kind": "info", "name": "Welcome", "lines": ["Hello."]},
        {"id": "talk", "kind": "group_chat", "name": "The talk"},
        {"id": "bye", "kind": "info", "name": "Goodbye", "lines": ["Thank you."]},
    ],
    "cohorts": [{"count": 2, "seats": [{"open": True, "count": 2}, {"persona": "ann"}]}],
}
Press = Callable[[Locator], Awaitable[None]]


async def click(button: Locator) -> None:
    await button.click()


async def by_keys(button: Locator) -> None:
    """Reach it with Tab, from where the focus is, and press it."""
    await expect(button).to_be_visible()
    for _ in range(MOST_KEYS):
        if await button.evaluate("one => one === document.activeElement"):
            await button.page.keyboard.press("Enter")
            return
        await button.page.keyboard.press("Tab")
    raise AssertionError(f"{button} is not reached by Tab")


class Person:
    """Someone who takes part, by the requests that their page makes."""

    def __init__(self, lab: RunningLab, experiment_id: str, name: str) -> None:
        joined = lab.ask("POST", f"/v1/experiments/{experiment_id}/join", {"profile": {"name": name}})
        self._own = RunningLab(lab.url, joined["token"])
        self.name = name

    @property
    def me(self) -> dict[str, Any]:
        found: dict[str, Any] = self._own.ask("GET", "/v1/me")
        return found

    def go_on(self) -> None:
        self._own.ask("POST", "/v1/me/stages/welcome/advance", {"answer": None})

    def ask_for_help(self, text: str) -> None:
        self._own.ask("POST", "/v1/me/help", {"text": text})

    def take_offer(self) -> None:
        self._own.ask("POST", "/v1/me/transfer", {"accept": True})

    @property
    def said(self) -> list[str]:
        """The words of the lab to them."""
        return [one["text"] for one in self.me["notices"]]


class Desk:
    """The board of the experimenter, whose buttons are pressed in one way."""

    def __init__(self, page: Page, press: Press) -> None:
        self.page = page
        self._press = press
        self.board = page.get_by_role("table", name="Groups by stages")
        self.panel = page.get_by_role("complementary")

    async def press(self, name: str, *, within: Locator | Page | None = None) -> None:
        await self._press((within or self.page).get_by_role("button", name=name, exact=True).first)

    async def open_group(self, name: str) -> None:
        await self._press(self.board.get_by_role("link", name=name, exact=True))
        await expect(self.panel.get_by_role("heading", level=2)).to_have_text(name)

    async def open_member(self, group: str, name: str) -> None:
        await self.open_group(group)
        await self._press(self.panel.get_by_role("listitem").get_by_role("button", name=name).first)
        await expect(self.panel.get_by_role("heading", level=2)).to_contain_text(name)

    async def answer(self, button: str, **values: str) -> None:
        """Fill in the question that is open, and press its button."""
        dialog = self.page.get_by_role("dialog")
        for label, value in values.items():
            await dialog.get_by_label(label.replace("_", " ")).fill(value)
        await self.press(button, within=dialog)
        await expect(dialog).to_have_count(0)

    async def add_new_agent(self, name: str, text: str) -> None:
        """Add an agent with a new text to the group that is open."""
        await self.press("Add an agent", within=self.panel)
        await self.page.get_by_role("dialog").get_by_label("Persona").select_option(label="a new one")
        await self.answer("Add", Name=name, Who_the_agent_is=text)
        await expect(self.panel.get_by_role("listitem").filter(has_text=name)).to_have_count(1)


async def play(desk: Desk, lab: RunningLab, experiment_id: str, people: list[Person]) -> None:
    """Each act of the day, with what it does to those who take part."""
    ada, bo, cy, di = people
    for person in people[:3]:
        person.go_on()
    # Group one meets in full; in group two Di has not come to the stage, and the others wait for her.
    await expect(desk.board.locator(".c-dot.c-person.c-waits")).to_have_count(1)
    await help_and_look(desk, ada)
    await check_pause_and_continue(desk, bo, ada)
    await move_and_remove(desk, di)
    await speak(desk, ada)
    await add_and_lock(desk)
    await pause_and_end(desk, lab, experiment_id)
    assert cy.me["status"] == "removed"


async def help_and_look(desk: Desk, ada: Person) -> None:
    ada.ask_for_help("Where do I write?")
    needs = desk.page.get_by_role("region", name="Needs you")
    await expect(needs).to_contain_text("Where do I write?")
    await desk.press("Answer", within=needs)
    await desk.answer("Send", Your_words="In the field below.")
    await expect(needs).to_have_count(0)
    assert ada.said == ["In the field below."]
    await desk.open_member("c1", "Ada")
    await desk.press("Look through")
    seen = desk.page.get_by_role("dialog", name="What Ada sees")
    await expect(seen.get_by_role("heading", name="The talk")).to_be_visible()
    await desk.press("Close", within=seen)


async def check_pause_and_continue(desk: Desk, bo: Person, ada: Person) -> None:
    await desk.open_member("c1", "Bo")
    await desk.press("Check", within=desk.panel)
    await expect(desk.page.get_by_text("Bo is asked whether they are there.")).to_be_visible()
    assert bo.me["check"] is not None
    await desk.open_member("c1", "Ada")
    await desk.press("Pause", within=desk.panel)
    await expect(desk.board.locator(".c-dot.c-person.c-paused")).to_have_count(1)
    await desk.press("Resume", within=desk.panel)
    await expect(desk.board.locator(".c-dot.c-person.c-paused")).to_have_count(0)
    await desk.press("Continue", within=desk.panel)
    await desk.answer("Continue", Reason="the page hangs")
    await expect(desk.panel.locator(".c-now")).to_contain_text("Goodbye")
    assert ada.me["stage_id"] == "bye"


async def move_and_remove(desk: Desk, di: Person) -> None:
    await desk.open_member("c2", "Di")
    await desk.press("Move", within=desk.panel)
    await desk.press("Offer the place", within=desk.page.get_by_role("dialog"))
    await expect(desk.page.get_by_role("dialog")).to_have_count(0)
    di.take_offer()
    await expect(desk.panel.get_by_role("link", name="c1", exact=True)).to_be_visible()
    await desk.open_member("c2", "Ann")
    await desk.press("Remove", within=desk.panel)
    await desk.answer("Remove", Reason="it repeats itself")
    await expect(desk.board.locator(".c-dot.c-agent.c-out")).to_have_count(1)


async def speak(desk: Desk, ada: Person) -> None:
    await desk.open_group("c1")
    await desk.press("Speak as the lab", within=desk.panel)
    await desk.answer("Say it", Your_words="Five more minutes.")
    await desk.press("Message to all")
    await desk.answer("Send", Your_words="We end at noon.")
    await expect(desk.page.get_by_text("Done with 4 members.")).to_be_visible()
    assert "We end at noon." in ada.said


async def add_and_lock(desk: Desk) -> None:
    await desk.open_group("c2")
    await desk.add_new_agent("Kim", "You ride a bicycle.")
    await desk.press("Add seats", within=desk.panel)
    await desk.answer("Add", How_many="2")
    await expect(desk.panel.locator(".c-dot.c-open")).to_have_count(2)
    await desk.press("Lock", within=desk.panel)
    await expect(desk.panel.get_by_role("button", name="Unlock")).to_be_visible()
    await desk.press("Add groups")
    await desk.answer("Add", How_many="5")
    await expect(desk.board.get_by_role("link")).to_have_count(7)


async def pause_and_end(desk: Desk, lab: RunningLab, experiment_id: str) -> None:
    state = desk.page.locator(".c-head .c-state")
    members = lab.ask("GET", f"/v1/experiments/{experiment_id}/members")["members"]
    assert [one["agent"]["text"] for one in members if one["profile"]["name"] == "Kim"] == ["You ride a bicycle."]
    await desk.press("Pause")
    await expect(state).to_have_text("paused")
    await desk.press("Resume")
    await expect(state).to_have_text("running")
    await desk.press("End")
    await desk.answer("End it", Reason="the day is over")
    await expect(state).to_have_text("ended")
    found = lab.ask("GET", f"/v1/experiments/{experiment_id}")
    assert found["status"] == "ended"
