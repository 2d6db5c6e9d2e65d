"""The data of a survey."""

from collections.abc import Mapping
from typing import Final

from parley_lab.kinds import Answered, Column, Data, Json, Label
from parley_lab.kinds.questions import one
from parley_lab.kinds.stages.survey import entries, order
from parley_lab.kinds.stages.survey.config import SurveyStage

SCORE: Final = Column("score", Label("How many answers are correct", "correct_answers"), "integer", derived=True)


class SurveyData(Data):
    """A column or more for each question, and a line for each, asked on the page or alone."""

    def __init__(self, stage: SurveyStage) -> None:
        self._stage = stage

    def columns(self) -> list[Column]:
        columns = [column for question in self._stage.questions for column in question.columns()]
        score = [SCORE] if self._stage.has_correct else []
        return [*columns, *score, *order.columns(self._stage)]

    def cells(self, page: Json) -> dict[str, Json]:
        given = page if isinstance(page, Mapping) else {}
        answered = [(question, given[question.id]) for question in self._stage.questions if question.id in given]
        cells = {name: cell for question, answer in answered for name, cell in question.given_cells(answer).items()}
        right = [question.is_correct(answer) for question, answer in answered]
        score = {SCORE.name: right.count(True)} if self._stage.has_correct and given else {}
        return {**cells, **score, **order.cells(given)}

    def scored(self) -> list[str]:
        return [question.id for question in self._stage.questions if question.has_correct]

    def answered(self, key: str, answer: Json) -> list[Answered]:
        questions = self._stage.questions
        alone = entries.question_of(self._stage, key)
        page = answer if isinstance(answer, Mapping) else {}
        given = page if alone is None else {alone.id: answer}
        return [
            one.answered(question, given[question.id], asked_as=entries.key_of(question))
            for question in questions
            if question.id in given
        ]
