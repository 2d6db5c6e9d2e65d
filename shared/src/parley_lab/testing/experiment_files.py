"""A small experiment file to change, and what is said about one that cannot be."""

import copy
from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.design import validate

INFO = {"id": "welcome", "kind": "info", "lines": ["Hello"]}
CHOICE = {"id": "q", "kind": "choice", "title": "Well?", "options": [{"id": "a", "text": "A"}]}
SURVEY = {"id": "ask", "kind": "survey", "questions": [CHOICE]}


def file(**changes: Any) -> dict[str, Any]:
    base = {
        "parley": 1,
        "name": "Test",
        "stages": [INFO, SURVEY],
        "personas": [{"id": "ana"}],
        "cohorts": [{"seats": [{"persona": "ana"}]}],
    }
    return copy.deepcopy({**base, **changes})


def complaints(value: Any) -> dict[str, tuple[str, str]]:
    with pytest.raises(InvalidInput) as refused:
        validate(value)
    return {problem.where: (problem.found, problem.expected) for problem in refused.value.problems}


TALK = {"id": "talk", "kind": "group_chat"}
