"""Questions that are asked one by one: the due ones, their answers, and the page made of all.

An entry is the answer to one question, stored under a key of its own. After every answer the rules decide anew which
questions are shown: a hidden one is never asked.
"""

from collections.abc import Mapping
from typing import Final

from parley_lab.base import rules
from parley_lab.kinds import Json, OwnView
from parley_lab.kinds.questions.answers import Pages, is_shown
from parley_lab.kinds.questions.questions import BaseQuestion
from parley_lab.kinds.stages.survey.config import SurveyStage

_PREFIX: Final = "question:"


def key_of(question: BaseQuestion) -> str:
    """The key of this question's answer."""
    return f"{_PREFIX}{question.id}"


def question_of(stage: SurveyStage, key: str) -> BaseQuestion | None:
    """The question of an ask with this key; None for the whole page."""
    return next((question for question in stage.questions if key_of(question) == key), None)


def given(stage: SurveyStage, view: OwnView) -> dict[str, Json]:
    """The reader's answers so far, by question."""
    keys = {question.id: key_of(question) for question in stage.questions}
    return {question_id: view.own[key] for question_id, key in keys.items() if key in view.own}


def due(stage: SurveyStage, pages: Pages, entries: Mapping[str, Json]) -> list[BaseQuestion]:
    """The questions to ask now: the next one, or all whose rule can be decided; empty when none is left."""
    wanted: list[BaseQuestion] = []
    undecided: set[str] = set()
    for question in stage.questions:
        if question.id in entries:
            continue
        if _waits_for(question, stage, undecided):
            undecided.add(question.id)
        elif is_shown(question, entries, stage, pages):
            wanted.append(question)
            undecided.add(question.id)
            if stage.ask == "sequential":
                return wanted
    return wanted


def _waits_for(question: BaseQuestion, stage: SurveyStage, undecided: set[str]) -> bool:
    if question.show_if is None:
        return False
    return any(
        (comparison.stage or stage.id) == stage.id and comparison.question in undecided
        for _, comparison in rules.comparisons(question.show_if)
    )


def in_words(stage: SurveyStage, question: BaseQuestion, view: OwnView) -> str:
    """The question in a prompt: in a sequence preceded by earlier answers."""
    asked = f"Question:\n- {question.title} [{question.asked()}]"
    entries = given(stage, view) if stage.ask == "sequential" else {}
    lines = [f"- {one.title} {one.given_in_words(entries[one.id])}" for one in stage.questions if one.id in entries]
    return "\n".join(["Your answers so far:", *lines, "", asked]) if lines else asked
