"""Replies as models write them, each judged by a reader: the lab reads it as that answer, or refuses it.

The table is in `judged/`. Each file has forms of replies with pairs: what a model wrote, and what it means. Null means
that it is refused, because it has no reading or two.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from parley_lab.agent_worker.answering import read_answer
from parley_lab.agent_worker.attempts import Attempt, Invalid, read_reply
from parley_lab.agent_worker.models.completions import read_completion
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.models import (
    HINT_OTHER_NAMES,
    HINT_OWN_NAMES,
    ChatMessage,
    ModelReply,
    ModelRequest,
    ModelSettings,
)
from parley_lab.kind_checks import Trial
from parley_lab.kinds import Question
from parley_lab.kinds.stages import kinds, parts_of
from parley_lab.kinds.view import SPEAK, TALK

TABLES: Final = Path(__file__).parent / "judged"
TRAMS: Final = {"id": "trams", "kind": "scale", "title": "How many trams, in dollars?", "lower": 0, "upper": 10}
VOTE: Final = {
    "id": "vote",
    "kind": "choice",
    "title": "Do you agree?",
    "options": [{"id": "y", "text": "I agree"}, {"id": "n", "text": "I do not agree"}, {"id": "m", "text": "Perhaps"}],
}
WAYS: Final = {
    "id": "ways",
    "kind": "choices",
    "title": "How do you get home?",
    "options": [
        {"id": "tram", "text": "By tram"},
        {"id": "bike", "text": "By bicycle"},
        {"id": "foot", "text": "On foot"},
    ],
}
WHY: Final = {"id": "why", "kind": "text", "title": "Why?"}
FRUIT: Final = [{"id": one, "text": one.capitalize()} for one in ("apples", "pears", "plums")]
FORMS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "move": ("matrix_game", {"framing": "neutral", "horizon": {"type": "fixed", "rounds": 1}}),
    "move in words": ("matrix_game", {"framing": "named", "horizon": {"type": "fixed", "rounds": 1}}),
    "ranking": ("ranking", {"rank": "items", "items": FRUIT}),
    "number": ("survey", {"questions": [TRAMS]}),
    "choice": ("survey", {"questions": [VOTE]}),
    "choices": ("survey", {"questions": [WAYS]}),
    "text": ("survey", {"questions": [WHY]}),
    "page": ("survey", {"questions": [TRAMS, VOTE, WHY]}),
    "short page": ("survey", {"questions": [TRAMS, {**TRAMS, "id": "buses", "title": "How many buses?"}]}),
    "turn": ("group_chat", {}),
    "talk": ("group_chat", {}),
}
OWN, OTHERS = "Ana", "Ben\nCleo"


@dataclass(frozen=True)
class Judged:
    name: str
    form: str
    written: str
    meaning: Any


def read_tables() -> Iterator[Judged]:
    for table in sorted(TABLES.glob("*.yaml")):
        for form, pairs in yaml.load(table.read_text(), yaml.CSafeLoader).items():
            for number, (written, meaning) in enumerate(pairs, 1):
                yield Judged(f"{table.stem}, {form} {number}: {written[:60]!r}", form, written, meaning)


@cache
def stage_of(form: str) -> StageConfig:
    kind, fields = FORMS[form]
    example = kinds()[kind].example()
    stage: StageConfig = type(example).model_validate({"kind": kind, "id": "stage", "name": "Night trams", **fields})
    return stage


@cache
def question_of(form: str) -> Question:
    stage = stage_of(form)
    return Trial(kinds()[stage.kind], stage, 1).straight().asked[0].question


def attempt_at(schema: dict[str, Any], written: str) -> Attempt:
    request = ModelRequest(
        path="c1/m1/stage/call:1",
        seed=1,
        settings=ModelSettings(model="some-model"),
        messages=(ChatMessage(role="user", content="Hello"),),
        reply_schema=schema,
        hints={HINT_OWN_NAMES: OWN, HINT_OTHER_NAMES: OTHERS},
    )
    body = {"choices": [{"message": {"content": written}, "finish_reason": "stop"}]}
    reply = read_completion(json.dumps(body).encode(), request)
    assert isinstance(reply, ModelReply)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Attempt(1, request.path, request, reply, now, now)


def find_answer(form: str, written: str) -> Any:
    question = question_of(form)
    attempt = attempt_at(question.reply_model().model_json_schema(), written)
    return read_answer(question, attempt, stage_of(form))[1]


def find_words(form: str, written: str) -> Any:
    """The words that are said, or False for silence."""
    talk = parts_of(stage_of(form)).talk
    assert talk is not None
    purpose = SPEAK if form == "turn" else TALK
    attempt = attempt_at(talk.reply_model(purpose).model_json_schema(), written)
    if attempt.reply.status != "ok":
        raise Invalid(attempt.reply.error or "")
    _, reply = read_reply(talk.reply_model(purpose), attempt, stage_of(form))
    return talk.utterance(purpose, reply.model_dump(mode="json", by_alias=True)).text or False


READERS: Final[dict[str, Callable[[str, str], Any]]] = {
    "move": lambda form, written: find_answer(form, written)["action"],
    "move in words": lambda form, written: find_answer(form, written)["action"],
    "ranking": lambda form, written: find_answer(form, written)["ranking"],
    "number": lambda form, written: find_answer(form, written)["trams"],
    "choice": lambda form, written: find_answer(form, written)["vote"],
    "choices": lambda form, written: find_answer(form, written)["ways"],
    "text": lambda form, written: find_answer(form, written)["why"],
    "page": find_answer,
    "short page": find_answer,
    "turn": find_words,
    "talk": find_words,
}


def find_reading(one: Judged) -> Any:
    try:
        return READERS[one.form](one.form, one.written)
    except Invalid:
        return None


@pytest.mark.parametrize("form", sorted(READERS))
def test_judged_replies_are_read_as_what_they_mean(form: str) -> None:
    """One test for each form: a test for each reply would take a minute."""
    found = {one.name: (find_reading(one), one.meaning) for one in read_tables() if one.form == form}

    assert found
    assert {name: pair for name, pair in found.items() if pair[0] != pair[1]} == {}


def test_the_table_has_replies_of_every_form_that_are_read_and_that_are_refused() -> None:
    for form in {one.form for one in read_tables()}:
        meanings = [one.meaning for one in read_tables() if one.form == form]
        assert None in meanings, form
        assert any(meaning is not None for meaning in meanings), form
