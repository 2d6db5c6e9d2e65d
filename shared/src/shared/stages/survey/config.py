"""What an experiment file says about a page of questions."""

from typing import Annotated, Literal

from pydantic import Field

from shared.contracts.experiment import StageConfig
from shared.stages.survey.numeric_questions import NumberQuestion, ScaleQuestion
from shared.stages.survey.questions import CheckQuestion, ChoiceQuestion, ChoicesQuestion, TextQuestion

Question = Annotated[
    TextQuestion | CheckQuestion | ChoiceQuestion | ChoicesQuestion | NumberQuestion | ScaleQuestion,
    Field(discriminator="kind"),
]


class SurveyStage(StageConfig):
    """A page of questions."""

    kind: Literal["survey"] = "survey"
    questions: tuple[Question, ...] = Field(min_length=1)
    """The questions in their order."""
    on_invalid: Literal["missing", "fail"] = "missing"
    """What happens when no reply of a model answers a question as it should, after all attempts. `missing`: the answer
    is null with its reason, the page's other answers stand, and the agent goes on. `fail`: it leaves the experiment.
    """
    ask: Literal["all_at_once", "sequential", "independent"] = "all_at_once"
    """How agents are asked; people always see the whole page. `all_at_once`: one call for all questions. `sequential`:
    a call for each question, in their order; the agent sees its earlier answers. `independent`: a call for each
    question, all at the same time; the agent sees nothing but that question.
    """

    @property
    def has_correct(self) -> bool:
        """Whether some answers are right and others wrong."""
        return any(question.has_correct for question in self.questions)
