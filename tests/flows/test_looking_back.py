"""What every member is shown of every stage, while it is open and looked back at: in prompts, pages and previews.

The table `ROWS` (`looking_back/table.py`) says for each kind of stage who is listed, who said what, that it is over,
and whose words are there. The story goes through all kinds twice, the second time in reverse order, so that each is
looked back at from each, itself included; in every run it goes there and then to the first once more. A kind without a
row fails. Every word is unique to its author and place, so that any output can be searched for the words of others;
what no member may see (reasons, persona texts) has words of its own.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Final

import pytest

from parley_lab.kinds.stages import kinds
from parley_lab.store.databases import connect
from parley_lab.testing.fresh_databases import FreshDatabases
from tests.flows.looking_back.cast import Cast, Reader, secret, words_in
from tests.flows.looking_back.evidence import Evidence
from tests.flows.looking_back.story import told
from tests.flows.looking_back.table import ROWS
from tests.flows.looking_back.way import CASTS, LONG, way
from tests.flows.made_once import made_once

pytestmark = pytest.mark.postgres

OVER: Final = "# Earlier stages\n\nThese are over."


@pytest.fixture(scope="module")
def all_evidence(fresh_databases: FreshDatabases, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Evidence]:
    """What was shown to each cast."""

    async def play(url: str, cast: Cast) -> Evidence:
        database = connect(url)
        try:
            return await told(database, cast)
        finally:
            await database.close()

    def tell(name: str) -> Evidence:
        with fresh_databases.one() as url:
            return asyncio.run(play(url, CASTS[name]))

    class Told(dict[str, Evidence]):
        """A cast plays when it is first asked for: each story takes a good part of what a test may take."""

        def __missing__(self, name: str) -> Evidence:
            self[name] = made_once(tmp_path_factory, f"looking-back-{name}", lambda: tell(name))
            return self[name]

    return Told()


PLAYED: Final = [(cast, kind) for cast in CASTS for kind in dict.fromkeys(stage.kind for stage in way(CASTS[cast]))]
"""Each kind that a cast plays. It is looked back at from each of them, itself included."""


def marked(*values: str) -> Any:
    """Parameters of a test, of which the first is a cast."""
    return pytest.param(*values, marks=[pytest.mark.long] if values[0] in LONG else [])


of_each_kind = pytest.mark.parametrize(("cast", "kind"), [marked(*one) for one in sorted(PLAYED)])


def test_every_kind_has_a_row() -> None:
    assert set(ROWS) == set(kinds()), "say in ROWS what each kind shows to whom"


@of_each_kind
def test_what_is_looked_back_at_in_prompts(all_evidence: Mapping[str, Evidence], cast: str, kind: str) -> None:
    evidence, row = all_evidence[cast], ROWS[kind]
    looks = [(shown, stage) for shown in evidence.shown for stage in evidence.earlier(shown.at) if stage.kind == kind]

    assert looks
    for shown, stage in looks:
        section = shown.section(stage)
        assert shown.text.index(OVER) < shown.text.index(f"[Stage: {stage.id}]") < shown.text.index("# Current stage")
        for sentence in (*row.listed(shown.reader, stage.id, is_over=True), *row.said(shown.reader, stage.id)):
            assert sentence in section, f"{shown} does not say of {stage.id}: {sentence}\n\n{section}"
        known = row.known(shown.reader, stage.id)
        assert words_in(section, stage.id) == known, f"{shown}, of {stage.id}"
        assert words_in(shown.text, stage.id) == known, f"{shown}, of {stage.id}, elsewhere"
        assert not [words for words in row.not_over if words in section], f"{shown}, of {stage.id}\n\n{section}"
    agents = [name for name in evidence.cast.names if name != "ana"]
    after = {one.kind for number, one in enumerate(evidence.way) if kind in {at.kind for at in evidence.way[:number]}}
    for other in after:
        asked = {name for name in agents if ROWS[other].is_asked(Reader(name, evidence.cast))}
        assert {shown.reader.name for shown, _ in looks if shown.at.kind == other} == asked, f"from {other}"


@of_each_kind
def test_what_a_preview_looks_back_at_before_anything_has_happened(
    all_evidence: Mapping[str, Evidence], cast: str, kind: str
) -> None:
    evidence, row = all_evidence[cast], ROWS[kind]
    looks = [(shown, stage) for shown in evidence.before for stage in evidence.earlier(shown.at) if stage.kind == kind]

    assert looks
    for shown, stage in looks:
        section = shown.section(stage)
        for sentence in row.before(shown.reader):
            assert sentence in section, f"{shown} does not say of {stage.id}: {sentence}\n\n{section}"
        assert not [words for words in row.not_over if words in section], f"{shown}, of {stage.id}\n\n{section}"
        assert not words_in(shown.text, stage.id)


@of_each_kind
def test_what_is_looked_back_at_on_pages(all_evidence: Mapping[str, Evidence], cast: str, kind: str) -> None:
    evidence, row = all_evidence[cast], ROWS[kind]
    ana = Reader("ana", evidence.cast)
    looks = [(at, stage) for at in evidence.way for stage in evidence.earlier(at) if stage.kind == kind]

    assert looks
    for at, stage in looks:
        page, everything = evidence.pages[at.id, stage.id]
        assert (page["state"], page["blocked_by"], page["asks"]) == ("done", [], [])
        row.check_page(page["view"], evidence.cast, stage.id, is_over=True)
        assert words_in(everything, stage.id) == row.known(ana, stage.id)


@of_each_kind
def test_what_is_shown_while_it_is_on(all_evidence: Mapping[str, Evidence], cast: str, kind: str) -> None:
    evidence, row = all_evidence[cast], ROWS[kind]
    stages = [stage for stage in evidence.way if stage.kind == kind]

    for stage in stages:
        shown_here = [shown for shown in (*evidence.before, *evidence.shown) if shown.at == stage]
        for shown in shown_here:
            section = shown.section(stage)
            assert shown.text.index("# Current stage\n\nYou are here now.") < shown.text.index(f"[Stage: {stage.id}]")
            if shown.how != "preview before the start":
                for sentence in row.listed(shown.reader, stage.id, is_over=False):
                    assert sentence in section, f"{shown} does not say: {sentence}\n\n{section}"
            assert words_in(shown.text, stage.id) <= row.known(shown.reader, stage.id), str(shown)
        page, everything = evidence.pages[stage.id, stage.id]
        assert page["state"] == "current"
        row.check_page(page["view"], evidence.cast, stage.id, is_over=False)
        assert words_in(everything, stage.id) <= row.known(Reader("ana", evidence.cast), stage.id)


@of_each_kind
def test_a_preview_before_the_start_asks_what_is_asked_first(
    all_evidence: Mapping[str, Evidence], cast: str, kind: str
) -> None:
    evidence = all_evidence[cast]
    previews = [shown for shown in evidence.before if shown.at.kind == kind]

    for preview in previews:
        sent = (one for one in evidence.shown if (one.at, one.reader) == (preview.at, preview.reader) and one.was_sent)
        first, asks_about_members = next(sent), ROWS[kind].asks_about_members
        known = [one.task.partition("\n- ")[0] if asks_about_members else one.task for one in (first, preview)]
        assert known[0] == known[1], str(preview)
    assert bool(previews) == any(ROWS[kind].is_asked(Reader(name, evidence.cast)) for name in evidence.cast.names)


@pytest.mark.parametrize("cast", [*map(marked, CASTS)])
def test_no_one_is_shown_a_secret_of_another_or_who_took_no_part(
    all_evidence: Mapping[str, Evidence], cast: str
) -> None:
    evidence = all_evidence[cast]

    for shown in (*evidence.before, *evidence.shown):
        assert secret(shown.reader.name) in shown.text
        assert not [name for name in evidence.cast.others(shown.reader.name) if secret(name) in shown.text], str(shown)
        assert not re.search(r"\bEve\b", shown.text), str(shown)
    for at, (_, everything) in evidence.pages.items():
        assert not [name for name in evidence.cast.others("ana") if secret(name) in everything], at
        assert not re.search(r"\bEve\b", everything), at
