"""Every experiment file in the documentation is valid, and excerpts equal the source."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from parley_lab.contracts.personas_from import PersonasFrom
from parley_lab.design import load, read_personas, validate
from parley_lab.design.own_words import with_words
from parley_lab.design.persona_table import csv_table, with_table
from parley_lab.design.row_tables import with_row_tables
from parley_lab.design.tables import Table
from parley_lab.design.typing_speeds import too_fast

ROOT = Path(__file__).parents[2]
FOLDERS = ("", "experiments", "guides")
PAGES = [ROOT / "README.md", *(page for folder in FOLDERS for page in sorted((ROOT / "docs" / folder).glob("*.md")))]

CHOICE = {"kind": "choice", "title": "?", "options": [{"id": "yes", "text": "Yes"}, {"id": "no", "text": "No"}]}
AROUND: Mapping[str, Any] = {
    "parley": 1,
    "name": "Around an example",
    "variables": {"town": "Altmere"},
    "stages": [
        {"id": "before", "kind": "survey", "questions": [{"id": "rides", **CHOICE}, {"id": "drives", **CHOICE}]},
        {"id": "talk", "kind": "group_chat"},
        {"id": "after", "kind": "survey", "questions": [{"id": "again", **CHOICE}]},
    ],
    "cohorts": [{"seats": [{"open": True}]}],
}
"""What an example that shows a part of a file leaves out."""
TABLE = b"id,name,age\nann,Ann,41\nbea,Bea,\n"
OF_A_SURVEY = b"ResponseId,(067) How old were you?,condition,What do you think of trams?\nR_1aB,41,,Fine\n"


OF_ROWS = b"id,topic,what,low,high\n" + b"".join(b"r%d,%d,Item %d,1,9\n" % (one, one % 2, one) for one in range(12))


def _table(source: PersonasFrom) -> Table:
    if source.file == "items.csv":
        return csv_table(source, OF_ROWS)
    return csv_table(source, OF_A_SURVEY if source.columns else TABLE)


def _examples(language: str, pages: Sequence[Path]) -> list[Any]:
    found = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for start in re.finditer(rf"^```{language}\n", text, re.MULTILINE):
            example = text[start.end() :].partition("\n```")[0]
            line = text.count("\n", 0, start.start()) + 1
            found.append(pytest.param(example, id=f"{page.name}:{line}"))
    return found


EXPERIMENTS = _examples("yaml", PAGES)
EXCERPTS = _examples("python", [ROOT / "docs" / "writing-kinds.md"])
STAGES = ROOT / "shared" / "src" / "parley_lab" / "kinds" / "stages"


def test_the_examples_are_found() -> None:
    assert len(EXPERIMENTS) >= 9
    assert len(EXCERPTS) >= 5


@pytest.mark.parametrize("excerpt", EXCERPTS)
def test_an_excerpt_is_in_the_source_that_it_names(excerpt: str) -> None:
    """Its first line names a file of the stage kinds; three dots mark what is left out."""
    named, _, shown = excerpt.partition("\n")
    source = (STAGES / named.removeprefix("# ")).read_text(encoding="utf-8")

    for piece in shown.split("\n...\n"):
        _, is_there, source = source.partition(f"{piece}\n")
        assert is_there, f"not in {named}, or not in this order:\n{piece}"


@pytest.mark.parametrize("example", EXPERIMENTS)
def test_an_example_of_the_documentation_is_valid(example: str) -> None:
    value = yaml.safe_load(example)

    if value is None:
        assert example.startswith("# yaml-language-server: $schema=../docs/schema/experiment-1.json")
    elif "parley" not in value:
        with_personas, problems = with_table(_completed(value), _table)
        with_rows, of_rows = with_row_tables(with_personas, _table)
        whole, of_words = with_words(with_rows, lambda _: b'{"send": "Spedisci"}')
        assert not [*problems, *of_rows, *of_words]
        validate(whole)
    elif "stages" in value:
        assert not [*too_fast(load(example))]
    else:
        read_personas(example, "personas.yaml")


def _completed(part: dict[str, Any]) -> dict[str, Any]:
    if "show_if" in part:
        before, *others = AROUND["stages"]
        asked = {**before, "questions": [*before["questions"], {"id": "shown", **CHOICE, **part}]}
        return {**AROUND, "stages": [asked, *others]}
    if "pairings" in part:
        around = {key: value for key, value in AROUND.items() if key != "cohorts"}
        named = set(re.findall(r"[a-z]+", str([part["pairings"].get("round_robin"), _seats(part["pairings"])])))
        personas = [{"id": name, "role": name} for name in sorted(named)]
        return {**around, "stages": [{"id": "game", "kind": "matrix_game"}], "personas": personas, **part}
    return {**AROUND, **part}


def _seats(pairings: Mapping[str, Any]) -> list[str]:
    seats = [seat for pair in pairings.get("pairs", ()) for seat in pair["seats"]]
    return [seat for seat in seats if isinstance(seat, str)]
