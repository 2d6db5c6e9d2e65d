"""Questions as a page shows them: those that may come up for the reader, without what is right."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from parley_lab.base import rules
from parley_lab.contracts.media import ShownMedium
from parley_lab.kinds import Json
from parley_lab.kinds.questions.answers import Pages, possible_questions
from parley_lab.kinds.questions.choices import Option
from parley_lab.kinds.questions.numeric_questions import GridRow, NumberQuestion
from parley_lab.kinds.questions.questions import BaseQuestion, Number
from parley_lab.kinds.questions.sheet import QuestionPage


class _Shown(BaseModel):
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True, from_attributes=True)

    id: str
    title: str
    show_if: rules.Rule | None
    """The rule by which the page shows it; null when it is shown whatever is answered here."""
    required: bool
    """Whether it must be answered; a box, whether it must be ticked."""
    media: list[ShownMedium] = Field(default=[], exclude_if=rules.is_empty)
    """The images, sound, films and links above it."""


class ShownText(_Shown):
    kind: Literal["text"]
    min_chars: int
    max_chars: int | None


class ShownCheck(_Shown):
    kind: Literal["check"]


class ShownChoice(_Shown):
    kind: Literal["choice"]
    options: list[Option]
    widget: Literal["radio", "dropdown"]


class ShownChoices(_Shown):
    kind: Literal["choices"]
    options: list[Option]
    min_chosen: int
    max_chosen: int | None


class ShownNumber(_Shown):
    kind: Literal["number"]
    minimum: Number | None
    maximum: Number | None
    integer: bool


class _ShownScale(_Shown):
    lower: Number
    upper: Number
    step: Number
    lower_text: str
    middle_text: str
    upper_text: str


class ShownScale(_ShownScale):
    kind: Literal["scale"]
    widget: Literal["buttons", "slider"]


class ShownGrid(_ShownScale):
    kind: Literal["grid"]
    rows: list[GridRow]


ShownQuestion = Annotated[
    ShownText | ShownCheck | ShownChoice | ShownChoices | ShownNumber | ShownScale | ShownGrid,
    Field(discriminator="kind"),
]


def shown_questions(stage: QuestionPage, pages: Pages) -> list[dict[str, Json]]:
    """What a page is made of, for a model with `ShownQuestion`s."""
    return [
        {**question.model_dump(), **_as_read(question), "show_if": rule_on_page(question, stage, pages)}
        for question in possible_questions(stage, pages)
    ]


def _as_read(question: BaseQuestion) -> dict[str, Json]:
    """The fields that are written in another way than readers read them: a title may be in parts."""
    bounds = {"minimum": question.least, "maximum": question.most} if isinstance(question, NumberQuestion) else {}
    return {"title": question.title, "media": [one.shown for one in question.media], **bounds}


def rule_on_page(question: BaseQuestion, stage: QuestionPage, pages: Pages) -> rules.Rule | None:
    """What answers of this page decide of the question's rule; None: it is shown whatever is answered here."""
    return None if question.show_if is None else rules.remaining(question.show_if, pages, stage.id)
