"""Questions that are asked one by one: the due ones, their answers, and the page made of all.

An entry is the answer to one question, stored under a key of its own. After every answer the rules decide anew which
questions are shown: a hidden one is never asked.
"""

from collections.abc import Iterator, Mapping
from itertools import groupby, takewhile
from typing import Final

from parley_lab.base import rules
from parley_lab.kinds import Json, OwnView
from parley_lab.kinds.questions.answers import Pages, bounded, earlier_pages, is_shown, possible_questions
from parley_lab.kinds.questions.drawn_rows import row_id_of
from parley_lab.kinds.questions.questions import BaseQuestion
from parley_lab.kinds.stages.survey.config import SurveyStage

_PREFIX: Final = "question:"
_OF_ROW: Final = "row:"
_ROWS_BEFORE: Final = " "
"""The stage of answers about earlier rows, while a rule is decided by them; no stage of a file has this id."""


def key_of(question: BaseQuestion) -> str:
    """The key of this question's answer."""
    return f"{_PREFIX}{question.id}"


def question_of(stage: SurveyStage, key: str) -> BaseQuestion | None:
    """The question of an ask with this key; None for the whole page."""
    return next((question for question in stage.questions if key_of(question) == key), None)


def key_of_row(row_id: str) -> str:
    """The key of the answers to the questions of this row."""
    return f"{_OF_ROW}{row_id}"


def of_row(stage: SurveyStage, key: str) -> SurveyStage | None:
    """The stage with the questions of the row of an ask with this key alone; None: it is no ask about a row."""
    if not key.startswith(_OF_ROW):
        return None
    row_id = key.removeprefix(_OF_ROW)
    asked = tuple(question for question in stage.questions if question.row is not None and question.row.id == row_id)
    return stage.model_copy(update={"questions": asked}) if asked else None


def given(stage: SurveyStage, view: OwnView) -> dict[str, Json]:
    """The reader's answers so far, by question."""
    rows = [value for key, value in view.own.items() if key.startswith(_OF_ROW) and isinstance(value, Mapping)]
    of_rows = {question_id: answer for row in rows for question_id, answer in row.items()}
    keys = {question.id: key_of(question) for question in stage.questions}
    return {**of_rows, **{question_id: view.own[key] for question_id, key in keys.items() if key in view.own}}


def row_in_turn(stage: SurveyStage, key: str, view: OwnView) -> SurveyStage | None:
    """The same as it is asked when its turn has come: what was answered about earlier rows is known."""
    found = of_row(stage, key)
    if found is None:
        return None
    first, answered = found.questions[0].id, given(stage, view)
    earlier = takewhile(lambda one: one.id != first, stage.questions)
    before = {one.id: answered[one.id] for one in earlier if one.id in answered}
    return _knowing(found, before, earlier_pages(view))


def _knowing(row: SurveyStage, before: Mapping[str, Json], pages: Pages) -> SurveyStage:
    """The questions of a row that may come up after these answers about earlier rows, with what is left of rules."""
    asked: list[BaseQuestion] = []
    mine = {one.id for one in row.questions}

    def place(one: rules.Comparison) -> rules.Comparison:
        is_of_row = one.stage not in (None, row.id) or one.question is None or one.question in mine
        return one if is_of_row else one.model_copy(update={"stage": _ROWS_BEFORE})

    for question in row.questions:
        rule = None if question.show_if is None else rules.with_each(question.show_if, place)
        if rule is not None and any(one.stage == _ROWS_BEFORE for _, one in rules.comparisons(rule)):
            known = {**pages, _ROWS_BEFORE: before}
            if rules.is_out_of_reach(rule, known, row.id):
                continue
            question = question.model_copy(update={"show_if": rules.remaining(rule, known, row.id)})
        asked.append(bounded(question, before, {}))
    return row.model_copy(update={"questions": tuple(asked)})


def due_rows(stage: SurveyStage, view: OwnView) -> Iterator[str]:
    """The keys of the rows that are still to be asked, in their order; none whose questions are all out of reach."""
    answered, pages, before = given(stage, view), earlier_pages(view), dict[str, Json]()
    for row_id, questions in groupby(stage.questions, row_id_of):
        asked, key = tuple(questions), key_of_row(row_id)
        if key not in view.own:
            row = stage.model_copy(update={"questions": asked})
            if possible_questions(_knowing(row, before, pages), pages):
                yield key
        before |= {one.id: answered[one.id] for one in asked if one.id in answered}


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
    asked = f"Question:\n- {question.told} [{question.asked()}]"
    return after_answers(stage, view, asked) if stage.ask == "sequential" else asked


def after_answers(stage: SurveyStage, view: OwnView, asked: str) -> str:
    """What is asked, after the reader's answers so far."""
    entries = given(stage, view)
    lines = [f"- {one.title} {one.given_in_words(entries[one.id])}" for one in stage.questions if one.id in entries]
    return "\n".join(["Your answers so far:", *lines, "", asked]) if lines else asked
