"""What an experiment file says about questions on each of the others."""

from typing import ClassVar, Literal

from parley_lab.contracts.experiment import Together
from parley_lab.kinds.questions.sheet import QuestionPage


class SurveyPerParticipantStage(QuestionPage):
    """The same questions about each participant who is there when the stage opens."""

    has_one_answer_each: ClassVar[bool] = False
    kind: Literal["survey_per_participant"] = "survey_per_participant"
    progress: Together = Together()
    include_self: bool = False
    """Whether participants answer the questions about themselves, too."""
    ask: Literal["all_at_once", "sequential", "independent"] = "all_at_once"
    """How agents are asked; people always see the whole page. `all_at_once`: one call about everybody. `sequential`: a
    call about each, one after another; the agent sees its earlier answers. `independent`: a call about each, all at the
    same time.
    """
