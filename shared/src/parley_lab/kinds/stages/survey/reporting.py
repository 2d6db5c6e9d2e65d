"""The data of a survey."""

from collections.abc import Iterator, Mapping
from typing import Final

from parley_lab.kinds import PAGE, Column, Data, Json, Label, LabView, Table
from parley_lab.kinds.data import Answered
from parley_lab.kinds.questions import one, rows_in_data
from parley_lab.kinds.questions.choices import ChoiceQuestion
from parley_lab.kinds.questions.own_order import ORDER
from parley_lab.kinds.questions.profiles import COLUMNS_OF_PROFILES
from parley_lab.kinds.questions.questions import BaseQuestion
from parley_lab.kinds.questions.rows import PROFILES, named
from parley_lab.kinds.stages.survey import entries, order
from parley_lab.kinds.stages.survey.config import SurveyStage

SCORE: Final = Column("score", Label("How many answers are correct", "correct_answers"), "integer", derived=True)


class SurveyData(Data):
    """A column or more for each question, and a line for each, asked on the page or alone."""

    def __init__(self, stage: SurveyStage) -> None:
        self._stage = stage
        rows = stage.rows
        if rows is not None and rows.attributes:
            columns = (*COLUMNS_OF_PROFILES, *rows.attributes)
            self.table = Table(f"profiles_{stage.id}", columns, lambda view: [*profile_rows(stage, view)])

    def columns(self) -> list[Column]:
        columns = [column for question in self._stage.questions for column in question.columns()]
        score = [SCORE] if self._stage.has_correct else []
        return [*columns, *score, *order.columns(self._stage)]

    def cells(self, page: Json) -> dict[str, Json]:
        given = page if isinstance(page, Mapping) else {}
        asked = rows_in_data.as_answered(self._stage, page).questions
        answered = [(question, given[question.id]) for question in asked if question.id in given]
        cells = {name: cell for question, answer in answered for name, cell in question.given_cells(answer).items()}
        right = [question.is_correct(answer) for question, answer in answered]
        score = {SCORE.name: right.count(True)} if self._stage.has_correct and given else {}
        return {**cells, **score, **order.cells(given)}

    def scored(self) -> list[str]:
        return [question.id for question in self._stage.questions if question.has_correct]

    def answered(self, key: str, answer: Json) -> list[Answered]:
        alone, given = entries.question_of(self._stage, key), answer if isinstance(answer, Mapping) else {}
        if alone is not None:
            return [self._of_entry(alone, answer, key)]
        if (row := entries.of_row(self._stage, key)) is not None:
            return [self._of_entry(asked, given[asked.id], key) for asked in row.questions if asked.id in given]
        places = rows_in_data.places_of(answer)
        return [
            rows_in_data.with_place(one.answered(question, given[question.id], asked_as=self._key_of(question)), places)
            for question in rows_in_data.as_answered(self._stage, answer).questions
            if question.id in given
        ]

    def _key_of(self, question: BaseQuestion) -> str:
        """The key under which an agent is asked the question, where it is not asked with all."""
        is_of_row = self._stage.ask == "by_row" and question.row is not None
        return entries.key_of_row(question.row.id) if is_of_row and question.row else entries.key_of(question)

    def _of_entry(self, question: BaseQuestion, answer: Json, key: str) -> Answered:
        return rows_in_data.without_draws(self._stage, one.answered(question, answer, asked_as=key))


def profile_rows(stage: SurveyStage, view: LabView) -> Iterator[dict[str, Json]]:
    """A line for each profile that a participant saw. `chosen`: whether the first question with the profiles among its
    options was answered so; empty without an answer."""
    written = [one for one in stage.questions if isinstance(one, ChoiceQuestion) and one.row is not None]
    had = set(PROFILES[: stage.rows.draw] if stage.rows else PROFILES)
    asked = next((one.row.asks for one in written if one.row and had <= set(one.option_ids)), "")
    for member in view.members:
        page = view.answer(member.id, PAGE) or {}
        drawn = page.get(ORDER, {})
        for task, profiles in enumerate(drawn.get("profiles", ()), start=1):
            answer = page.get(named(str(task), asked))
            for letter, profile in zip(PROFILES, profiles, strict=False):
                chosen = None if answer is None else answer == letter
                shown = {"attribute_order": " ".join(drawn["attributes"]), **profile}
                yield {"participant": member.path, "task": task, "profile": letter, "chosen": chosen, **shown}
