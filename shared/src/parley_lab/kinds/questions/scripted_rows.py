"""How a script names questions: by their ids, and those of rows by the ids in the file, too, which mean each row."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.kinds import Json, Member
from parley_lab.kinds.questions import one
from parley_lab.kinds.questions.asked_of_rows import AskedOfRows
from parley_lab.kinds.questions.questions import BaseQuestion
from parley_lab.kinds.scripted import fixed_answers


def fixed_of(stage: AskedOfRows, me: Member) -> dict[str, Json]:
    """The answers of the persona's script, by question; an answer to a question of the file is given in each row."""
    fixed = fixed_answers(stage, me)
    asked = ((each.id, each.row.asks) for each in _questions(stage) if each.row is not None)
    return {**{name: fixed[asks] for name, asks in asked if asks in fixed}, **fixed}


def problems_of(stage: AskedOfRows, name: str, answer: Json) -> Iterator[Problem]:
    """The problems of an answer of a script to the question of this name; `where` is empty."""
    asked = next((each for each in _questions(stage) if name in _names(each)), None)
    if asked is None:
        yield Problem("", "an answer", "the id of a question of this stage")
        return
    try:
        one.check(asked, answer)
    except InvalidInput as refused:
        yield from (replace(each, where="") for each in refused.problems)


def _questions(stage: AskedOfRows) -> tuple[Any, ...]:
    found: tuple[Any, ...] = getattr(stage, stage.asked)
    return found


def _names(question: BaseQuestion) -> tuple[str, ...]:
    return (question.id,) if question.row is None else (question.id, question.row.asks)
