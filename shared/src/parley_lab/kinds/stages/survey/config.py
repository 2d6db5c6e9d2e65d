"""The configuration of a page of questions."""

from typing import Literal

from parley_lab.kinds.questions.sheet import QuestionPage


class SurveyStage(QuestionPage):
    """A page of questions."""

    kind: Literal["survey"] = "survey"
    ask: Literal["all_at_once", "sequential", "independent"] = "all_at_once"
    """How agents are asked; people always see the whole page. `all_at_once`: one call for all questions. `sequential`:
    a call for each question, in their order; the agent sees its earlier answers. `independent`: a call for each
    question, all at the same time; the agent sees nothing but that question.
    """
    show_correct: bool = False
    """Whether the page shows which answers were right, once it is answered."""
    shuffle_questions: bool = False
    """Whether each participant has the questions in a different order, of each row those of the row; a question comes
    after those that its rule reads.
    """
    shuffle_options: bool = False
    """Whether each participant has the options of each question in a different order."""

    @property
    def is_drawn(self) -> bool:
        """Whether members have other rows, or questions or options in another order."""
        return self.shuffle_questions or self.shuffle_options or self.is_drawn_of_rows
