"""The page of a survey."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from parley_lab.kinds import PAGE, Json, OwnView, PageContent, heading
from parley_lab.kinds.questions.answers import earlier_pages, possible_questions
from parley_lab.kinds.questions.drawn_rows import asked_of
from parley_lab.kinds.questions.own_order import without_order
from parley_lab.kinds.questions.shown import ShownQuestion, shown_questions
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.kinds.stages.survey.order import by_row, ordered


class Turns(BaseModel):
    """How a person goes through the questions row by row."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    questions: list[list[str]]
    """The ids of the questions of each row, in the order of the rows."""
    seconds: float | None
    """How long each row is shown; null: as long as one likes."""
    pause_seconds: float
    """How long nothing is shown before each row."""


class SurveyPage(PageContent):
    kind: Literal["survey"] = "survey"
    questions: list[ShownQuestion]
    """The questions that may be shown; the page hides those whose rule is not true yet."""
    answers: dict[str, JsonValue]
    """The reader's answers, by question; empty before the page is answered."""
    is_right: dict[str, bool]
    """Whether an answer was right, by question, once the page is answered; empty where the survey does not show it."""
    turns: Turns | None
    """How the rows are shown, one at a time; null: all questions are shown together."""


def page_of(stage: SurveyStage, view: OwnView) -> SurveyPage:
    own = without_order(view.own.get(PAGE))
    answers = own if isinstance(own, dict) else {}
    asked = asked_of(stage, view)
    shown = shown_questions(ordered(stage, view), earlier_pages(view))
    own_fields = {"questions": shown, "answers": answers, "is_right": marks(asked, answers)}
    return SurveyPage.model_validate({**heading(stage), **own_fields, "turns": _turns(stage, view)})


def _turns(stage: SurveyStage, view: OwnView) -> dict[str, Json] | None:
    if stage.pages is None:
        return None
    had = possible_questions(ordered(stage, view), earlier_pages(view))
    rows = [[one.id for one in row] for row in by_row(had)]
    return {"questions": rows, **stage.pages.model_dump()}


def marks(stage: SurveyStage, answers: dict[str, Json]) -> dict[str, bool]:
    """Which answers were right, as far as the survey shows it."""
    if not stage.show_correct:
        return {}
    found = {one.id: one.is_correct(answers[one.id]) for one in stage.questions if one.id in answers}
    return {name: is_right for name, is_right in found.items() if is_right is not None}
