"""Images, sound and films on pages: loaded under the policy of the pages, and described in words."""

import struct
import zlib

import httpx2
import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, expect

from parley_lab.testing.network import WITHOUT_TLS
from tests.pages.conftest import RunningLab
from tests.pages.taking_part import join

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]


def an_image() -> bytes:
    """A grey image of 40 times 30 pixels."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", 40, 30, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\x00" + b"\x80" * 40) * 30)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def a_sound() -> bytes:
    """A tenth of a second of silence."""
    samples = bytes(800)
    described = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)
    content = described + b"data" + struct.pack("<I", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", len(content)) + content


def uploaded(lab: RunningLab, content: bytes) -> str:
    headers = {"Authorization": f"Bearer {lab.key}"}
    answer = httpx2.post(f"{lab.url}/v1/files", content=content, headers=headers, verify=WITHOUT_TLS)
    assert answer.status_code == 201, answer.text
    name: str = answer.json()["file"]
    return name


async def test_images_sounds_and_links_are_on_the_page(page: Page, lab: RunningLab) -> None:
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text) if message.type == "error" else None)
    image, sound = uploaded(lab, an_image()), uploaded(lab, a_sound())
    options = [
        {"id": "bus", "text": "Bus", "image": {"file": image, "alt": "A bus"}},
        {"id": "tram", "text": "Tram", "image": {"file": image, "alt": "A tram"}},
    ]
    media = [
        {"file": image, "alt": "A grey field", "caption": "Figure 1"},
        {"file": sound, "alt": "Silence"},
        {"link": "https://example.org/more", "alt": "More about it"},
    ]
    stages = [
        {"id": "look", "kind": "info", "name": "Look", "lines": ["Look at this."], "media": media},
        {
            "id": "ask",
            "kind": "survey",
            "name": "Asked",
            "one_page_each": True,
            "rows": [{"field": image, "name": "A field"}],
            "questions": [
                {
                    "id": "which",
                    "kind": "choice",
                    "title": "Which?",
                    "options": options,
                    "media": [{"file": "{{row.field}}", "alt": "{{row.name}}", "caption": "Figure 2"}],
                }
            ],
        },
    ]
    await join(page, lab.started({"language": "en", "stages": stages, "cohorts": [{"seats": [{"open": True}]}]}))

    shown = page.get_by_role("img", name="A grey field")
    await expect(shown).to_be_visible()
    assert await shown.evaluate("one => one.decode().then(() => one.naturalWidth)") == 40
    await expect(page.get_by_text("Figure 1")).to_be_visible()
    assert await page.locator("audio").evaluate(
        "one => new Promise(done => { one.onloadedmetadata = () => done(one.duration); one.load(); })"
    ) == pytest.approx(0.1)
    link = page.get_by_role("link", name="More about it")
    assert await link.get_attribute("target") == "_blank"
    assert await link.get_attribute("rel") == "noopener noreferrer"
    assert (await Axe().run(page)).response["violations"] == []

    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("img", name="A tram")).to_be_visible()
    above = page.get_by_role("img", name="A field")
    assert await above.evaluate("one => one.decode().then(() => one.naturalWidth)") == 40
    assert await above.evaluate("one => one.compareDocumentPosition(document.querySelector('legend')) & 4")
    await expect(page.get_by_text("Figure 2")).to_be_visible()
    assert (await Axe().run(page)).response["violations"] == []
    await page.get_by_role("radio", name="A tram Tram").check()
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("heading", level=1)).not_to_have_text("Asked")
    assert refused == []
