"""What is wrong with a page for those who do not see it, or see little of it."""

from typing import Any, Final

from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Page

_PARTS: Final = """
    () => {
      const partOf = (one) => [one.tagName, one.className, one.role, one.disabled, one.ariaDisabled].join(" ");
      return [...new Set([...document.querySelectorAll("#page *")].map(partOf))].sort().join();
    }
"""
"""Of what a page is made, whatever it says and however often."""
_ALL_RULES: Final = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
"""The size of targets is the one rule of WCAG 2.2 AA that axe knows beyond 2.1. It leaves it out unless it is told."""


async def faults(page: Page) -> list[Any]:
    """What axe finds, and whether the page is wider than the screen."""
    if not await page.evaluate("'axe' in window"):
        # Half a megabyte, which a page keeps until it is left.
        await page.evaluate(AXE_SCRIPT)
    found: list[Any] = await page.evaluate("async (options) => (await axe.run(options)).violations", _ALL_RULES)
    is_wide = await page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return [*found, "wider than the screen"] if is_wide else found


class Looks:
    """Looks at a page each time that it is made of something else than before."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.seen: set[str] = set()

    async def look(self) -> None:
        parts = await self._page.evaluate(_PARTS)
        if parts not in self.seen:
            self.seen.add(parts)
            assert await faults(self._page) == [], await self._page.locator("body").aria_snapshot()
