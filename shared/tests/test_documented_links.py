"""Every link between the pages of the documentation leads to a file that is there, and to a heading of it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("*/*.md")),
    ROOT / "clients" / "typescript" / "README.md",
]
CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)|\bsrc=\"([^\"]+)\"")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
ANCHOR = re.compile(r"<a id=\"([^\"]+)\"")


def _links(page: Path) -> list[str]:
    written = CODE.sub("", page.read_text(encoding="utf-8"))
    found = [link or source for link, source in LINK.findall(written)]
    return [one for one in found if not re.match(r"[a-z]+:", one)]


def _targets(page: Path) -> set[str]:
    """What a link to the page may name behind the `#`: its headings, as GitHub writes them, and its anchors."""
    text = page.read_text(encoding="utf-8")
    headings = HEADING.findall(re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE))
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", one).lower() for one in headings)
    return {re.sub(r"[^\w\- ]", "", one).replace(" ", "-") for one in plain} | set(ANCHOR.findall(text))


def _is_dead(page: Path, link: str) -> bool:
    path, _, heading = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return not target.exists() or bool(heading and heading not in _targets(target))


def test_the_links_are_found() -> None:
    assert sum(len(_links(page)) for page in PAGES) > 300


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    assert [link for link in _links(page) if _is_dead(page, link)] == []


def test_each_decision_is_listed_once_in_the_order_of_its_number() -> None:
    folder = ROOT / "docs" / "decisions"
    table, _, rules = (folder / "README.md").read_text(encoding="utf-8").partition("## Rules")
    pages = re.findall(r"^- \[\d{4}\]\(([^)]+)\) \S", table, re.MULTILINE)
    numbers = re.findall(r"^- <a id=\"(\d{4})\"></a>\1 \S", rules, re.MULTILINE)

    assert pages == sorted(page.name for page in folder.glob("[0-9]*.md"))
    assert numbers == sorted(set(numbers) - {page[:4] for page in pages})
    assert len(numbers) == rules.count("<a id=")


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md")), ids=lambda page: page.name)
def test_a_decision_has_at_most_250_words(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").split()) <= 250
