"""The page of a survey."""

from typing import Literal

from pydantic import JsonValue

from parley_lab.kinds import PAGE, Json, OwnView, PageContent, heading
from parley_lab.kinds.questions.answers import earlier_pages
from parley_lab.kinds.questions.shown import ShownQuestion, shown_questions
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.kinds.stages.survey.order import asked_of, ordered, without_order


class SurveyPage(PageContent):
    kind: Literal["survey"] = "survey"
    questions: list[ShownQuestion]
    """The questions that may be shown; the page hides those whose rule is not true yet."""
    answers: dict[str, JsonValue]
    """The reader's answers, by question; empty before the page is answered."""
    is_right: dict[str, bool]
    """Whether an answer was right, by question, once the page is answered; empty where the survey does not show it."""


def page_of(stage: SurveyStage, view: OwnView) -> SurveyPage:
    own = without_order(view.own.get(PAGE))
    answers = own if isinstance(own, dict) else {}
    asked = asked_of(stage, view)
    shown = shown_questions(ordered(stage, view), earlier_pages(view))
    return SurveyPage.model_validate(
        {**heading(stage), "questions": shown, "answers": answers, "is_right": marks(asked, answers)}
    )


def marks(stage: SurveyStage, answers: dict[str, Json]) -> dict[str, bool]:
    """Which answers were right, as far as the survey shows it."""
    if not stage.show_correct:
        return {}
    found = {one.id: one.is_correct(answers[one.id]) for one in stage.questions if one.id in answers}
    return {name: is_right for name, is_right in found.items() if is_right is not None}
