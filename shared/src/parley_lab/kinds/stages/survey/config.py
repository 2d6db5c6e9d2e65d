"""The configuration of a page of questions."""

from typing import Literal

from pydantic import Field

from parley_lab.base.rules import is_empty
from parley_lab.contracts.experiment import Document
from parley_lab.kinds.questions.rows import Order, is_usual_order
from parley_lab.kinds.questions.sheet import QuestionPage


class OnePageEach(Document):
    """How people go through pages with the questions of a row each. Their page keeps these times."""

    seconds: float | None = Field(default=None, gt=0)
    """How long people have for each page; then the next one is shown, and what is not answered is null. Left out: as
    long as they like."""
    pause_seconds: float = Field(default=0, ge=0)
    """How long the page stays empty before each row."""


class SurveyStage(QuestionPage):
    """A page of questions."""

    kind: Literal["survey"] = "survey"
    ask: Literal["all_at_once", "by_row", "sequential", "independent"] = "all_at_once"
    """How agents are asked; people always see the whole page. `all_at_once`: one call for all questions. `by_row`: a
    call for each row, in their order; the agent sees its earlier answers. `sequential`: the same for each question.
    `independent`: a call for each question, all at the same time; the agent sees nothing but that question.
    """
    one_page_each: bool | OnePageEach = False
    """Whether people see one row at a time, with its questions, in place of all; an object says for how long."""
    show_correct: bool = False
    """Whether the page shows which answers were right, once it is answered."""
    shuffle_questions: bool = False
    """Whether each participant has the questions in a different order, of each row those of the row; a question comes
    after those that its rule reads, and the questions of a group stay together.
    """
    shuffle_options: bool = False
    """Whether each participant has the options of each question in a different order."""
    shuffle_grids: bool = Field(default=False, exclude_if=is_empty)
    """Whether each participant has the rows of each grid in a different order."""
    order: Order = Field(default="drawn", exclude_if=is_usual_order)
    """How the orders of questions, options and rows of grids come about. `drawn`: by chance. `latin`: seat after seat
    has the next order of a balanced Latin square."""

    @property
    def pages(self) -> OnePageEach | None:
        """How people go through a page for each row; None: they see all rows on one."""
        if isinstance(self.one_page_each, OnePageEach):
            return self.one_page_each
        return OnePageEach() if self.one_page_each else None

    @property
    def is_drawn(self) -> bool:
        """Whether members have other rows, or questions or options in another order."""
        return self.is_shuffled or self.is_drawn_of_rows

    @property
    def is_shuffled(self) -> bool:
        """Whether members have questions, options or rows of grids in another order."""
        return self.shuffle_questions or self.shuffle_options or self.shuffle_grids
