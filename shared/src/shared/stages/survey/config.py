"""What an experiment file says about a page of questions."""

from typing import Literal

from pydantic import Field

from shared.contracts.experiment import StageConfig
from shared.stages.survey.questions import Question


class SurveyStage(StageConfig):
    """A page of questions."""

    kind: Literal["survey"] = "survey"
    questions: tuple[Question, ...] = Field(min_length=1)
    """The questions in their order."""
