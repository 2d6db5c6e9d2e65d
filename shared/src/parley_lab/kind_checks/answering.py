"""Answers to the questions of a kind, made of a form or of the shape of a reply, with no knowledge of its rules."""

from collections.abc import Mapping
from random import Random
from typing import Final

from parley_lab.base.errors import InvalidInput
from parley_lab.base.schema_filler import fill
from parley_lab.contracts.models import HINT_SUGGESTED
from parley_lab.kind_checks.promises import Unkept
from parley_lab.kinds import Json, Question
from parley_lab.kinds.scripted import filled

_NOTHING: Final[Mapping[str, Json]] = {}


def made_answer(question: Question, rng: Random, *, key: str, is_person: bool) -> Json:
    """An answer as it is stored. What a form takes only together, as shares of a whole, is what `hints` suggest.

    Raises:
        Unkept: what fits the form, or the shape of a reply, is refused.
    """
    given = filled(question.form(), rng) if is_person else _reply(question, rng, _NOTHING)
    try:
        return question.check(given)
    except InvalidInput as refused:
        fault = refused
    source = "the form" if is_person else "the shape of a reply"
    expected = f"{given!r}, which fits {source} of {key or 'the page'!r}, to be taken"
    if len(question.form().fields) == 1:
        raise Unkept(expected, str(fault))
    suggested = _suggested(question)
    if not suggested:
        raise Unkept(f"{expected}, or `hints` to suggest values of its fields that go together", str(fault))
    together = _reply(question, rng, suggested)
    try:
        return question.check(together)
    except InvalidInput as refused:
        raise Unkept(f"{together!r}, which `hints` suggest, to be taken", str(refused)) from None


def _reply(question: Question, rng: Random, suggested: Mapping[str, Json]) -> Json:
    """The answer in a reply with the suggested values of its fields."""
    model = question.reply_model()
    return question.answer_from_reply(model.model_validate({**fill(model.model_json_schema(), rng), **suggested}))


def _suggested(question: Question) -> dict[str, Json]:
    hints = question.hints()
    return {name.removeprefix(HINT_SUGGESTED): hint for name, hint in hints.items() if name.startswith(HINT_SUGGESTED)}
