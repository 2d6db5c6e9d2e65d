"""What an agent reads and what a person's page shows say the same after each event: an answer, a member who leaves,
comes back, comes late, gives none in time, or is paused. Of a member who moves, the others see that they have left."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from parley_lab.kind_checks.play import Play
from parley_lab.kinds import Ask, OwnView
from parley_lab.kinds.stages import kinds

FOLDER: Final = Path(__file__).parents[2] / "src" / "parley_lab" / "kinds" / "stages"
SEEDS: Final = range(8)
MOST_ACTS: Final = 30
SHOWN_AT_ONCE: Final = {"stock_info": {"is_viewed"}}
"""Fields for a person who opens one after the other what an agent reads at once."""
CODES: Final = {
    "answers",  # ids of options, whose texts the prompt has
    "code",
    "key",
    "name",  # of the reader, who is "you" in prompts
    "options",
    "status",  # ENDED_EARLY
    "task",
    "type",
    "wants",
}
"""Fields of pages from which their script makes words."""
ENDED_EARLY: Final = {
    ("beauty_contest", "abandoned"): ("too few players were left", "contest_abandoned"),
    ("matrix_game", "abandoned"): ("a player left", "game_abandoned"),
}
"""The words for a status in prompts and on pages, and the name of those of the page."""


@dataclass(frozen=True)
class Seen:
    """What one member reads at one moment; `asked`: the key of what is asked, of which the form of a prompt depends."""

    page: Mapping[str, Any]
    prompt: str
    asked: str | None


def looks(play: Play) -> dict[str, Seen]:
    asks: dict[Any, Ask] = {}
    for one in play.asks():
        asks.setdefault(one.member_id, one)
    views = [view for view in play.views() if view.me.kind == "participant" and view.me.present]
    return {view.me.path: _look(play, view, asks.get(view.me.id)) for view in views}


def _look(play: Play, view: OwnView, ask: Ask | None) -> Seen:
    page = json.loads(play.kind.page(play.stage, view).model_dump_json())
    texts = [block.text for block in play.kind.prompt(play.stage, view, ask)]
    question = None if ask is None else play.question(ask)
    texts += [] if question is None else [question.task()]
    return Seen(dict(_leaves(page)), "\n".join(texts), None if ask is None else ask.key)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _leaves(part, f"{path}.{name}")
    elif isinstance(value, list):
        yield f"{path}#", len(value)
        for index, part in enumerate(value):
            yield from _leaves(part, f"{path}[{index}]")
    else:
        yield path, value


def changes(name: str) -> Iterator[tuple[str, Seen, Seen]]:
    """Each event of plays of a kind's example with accidents, and what a member read before and after it."""
    kind = kinds()[name]
    for seed in SEEDS:
        play = Play(kind, kind.example(), seed=seed)
        play.settle()
        found: list[tuple[str, Seen, Seen]] = []
        before = looks(play)

        def watch(now: Play, found: list[tuple[str, Seen, Seen]] = found) -> None:
            nonlocal before
            after = looks(now)
            event = now.log[-1] if now.log else "the beginning"
            found += [(event, before[path], seen) for path, seen in after.items() if path in before]
            before = after

        rng = Random(seed)
        play.run(rng, accidents=0.3, watch=watch, most=rng.randrange(12))
        paused = [row.id for row in play.participants if play.is_here(row.id)][:1]
        for status in ("paused", "in_progress"):
            for member_id in paused:
                play.move(member_id, f"m1 is {status}", status=status)
            play.run(rng, accidents=0.3, watch=watch, most=MOST_ACTS)
        yield from found


@pytest.mark.parametrize("name", sorted(kinds()))
def test_a_page_changes_exactly_when_the_prompt_does(name: str) -> None:
    apart = SHOWN_AT_ONCE.get(name, set())
    for event, before, after in changes(name):
        if after.asked is None or after.asked != before.asked:
            continue
        changed = {path for path in {*before.page, *after.page} if before.page.get(path) != after.page.get(path)}
        on_page = {path for path in changed if path.rpartition(".")[2] not in apart}

        assert bool(on_page) == (before.prompt != after.prompt), (event, on_page)


@pytest.mark.parametrize("name", sorted(kinds()))
def test_each_text_and_number_that_is_new_on_a_page_is_in_the_prompt(name: str) -> None:
    words = FOLDER / name / "words" / "en.json"
    page_words = json.loads(words.read_text()) if words.exists() else {}
    for event, before, after in changes(name):
        for path, value in after.page.items():
            fields = re.findall(r"\w+", path)
            if value == before.page.get(path) or isinstance(value, bool) or value in (None, "") or path.endswith("#"):
                continue
            if (said := ENDED_EARLY.get((name, value))) is not None:
                assert said[0] in after.prompt, event
                assert said[0] in page_words[said[1]]
            elif CODES.isdisjoint(fields):
                assert _is_said(value, after.prompt), (event, path, value)


def _is_said(value: Any, prompt: str) -> bool:
    """Whether a text or number of a page is in the prompt, line by line and however it is rounded."""
    if isinstance(value, str):
        return all(line.strip() in prompt for line in value.split("\n"))
    return any(f"{value:{form}}" in prompt for form in ("", "g", ".1f", ".2f"))
