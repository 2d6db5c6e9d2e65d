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
    ask: Literal["all_at_once", "sequential", "independent"] = "all_at_once"
    """How agents are asked; people always see the whole page. `all_at_once`: one call for all questions. `sequential`:
    a call for each question, in their order; the agent sees its earlier answers. `independent`: a call for each
    question, all at the same time; the agent sees nothing but that question.
    """
