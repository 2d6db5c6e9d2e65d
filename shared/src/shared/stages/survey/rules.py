"""The rules of a page of questions."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from pydantic import BaseModel

from shared.contracts.experiment import StageConfig
from shared.contracts.models import HINT_QUESTION, Hint
from shared.errors import Problem
from shared.rules import Comparison
from shared.stage import (
    PAGE,
    Answered,
    Ask,
    Block,
    Column,
    Json,
    Member,
    OwnView,
    Salvaged,
    StageKind,
    Unanswered,
    UnusableReply,
    heading,
)
from shared.stages.survey import answers, checks, display, entries, salvage
from shared.stages.survey.config import SurveyStage
from shared.stages.survey.numeric_questions import NumberQuestion, ScaleQuestion
from shared.stages.survey.questions import (
    BaseQuestion,
    CheckQuestion,
    ChoiceQuestion,
    ChoicesQuestion,
    Option,
    TextQuestion,
)

_HONESTLY = (
    "as the person you are, from what you know, feel and have seen in this study so far. Answer honestly for that "
    "person, not as an expert would."
)
_PAGE_TASK = f"Complete this page: answer every question {_HONESTLY}"
_QUESTION_TASK = f"Answer this question {_HONESTLY}"


SCORE: Final = Column("score", "How many answers are correct", "integer", derived=True)


class Survey(StageKind[SurveyStage]):
    config_model = SurveyStage

    def problems(self, stage: SurveyStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        return list(checks.problems(stage, earlier))

    def draw(
        self, stage: SurveyStage, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random
    ) -> dict[str, Json]:
        return dict(drawn)

    def public_view(self, stage: SurveyStage, view: OwnView) -> dict[str, Json]:
        """The questions that may come up for the reader; the page itself hides those whose rule is not true yet."""
        pages = answers.earlier_pages(view)
        own = view.own.get(PAGE)
        questions = [display.public(question, stage, pages) for question in answers.possible_questions(stage, pages)]
        return {**heading(stage), "questions": questions, "answers": own if isinstance(own, Mapping) else {}}

    def describe(self, stage: SurveyStage, view: OwnView, *, with_answers: bool, ask: Ask | None = None) -> list[Block]:
        question = None if ask is None else entries.question_of(stage, ask.key)
        if question is not None:
            return [Block(entries.in_words(stage, question, view))]
        return display.with_answers(stage, view) if with_answers else display.questions(stage, view)

    def to_read(self, stage: SurveyStage, view: OwnView, ask: Ask | None = None) -> str:
        """Asked one by one, the text above the questions is read with the first of them."""
        question = None if ask is None else entries.question_of(stage, ask.key)
        if question is None:
            return super().to_read(stage, view, ask)
        is_first = not entries.given(stage, view)
        asked = f"{question.title} {question.hint()}"
        return f"{stage.description}\n{asked}" if is_first else asked

    def to_write(self, stage: SurveyStage, ask: Ask, answer: Json) -> str:
        return "\n".join(
            str(line.value)
            for line in self.answered(stage, ask.key, answer)
            if line.value is not None and isinstance(entries.question_of(stage, line.asked_as), TextQuestion)
        )

    def task(self, stage: SurveyStage, ask: Ask, view: OwnView) -> str:
        return _PAGE_TASK if entries.question_of(stage, ask.key) is None else _QUESTION_TASK

    def most_replies(self, stage: SurveyStage) -> int:
        return 1 if stage.ask == "all_at_once" else len(stage.questions)

    def check_answer(self, stage: SurveyStage, ask: Ask, answer: Json, view: OwnView) -> Json:
        question = entries.question_of(stage, ask.key)
        if question is not None:
            return entries.check(question, answer)
        return answers.check(stage, answer, answers.earlier_pages(view))

    def blocked_by(self, stage: SurveyStage, view: OwnView) -> list[str]:
        if PAGE in view.own or not self._possible(stage, view):
            return []
        return ["Please answer the questions on this page."]

    def next_asks(self, stage: SurveyStage, view: OwnView) -> list[Ask]:
        """Of an agent that has not answered: one ask for the whole page, or one for each question that is due."""
        me = view.me
        if me.kind != "participant" or me.player != "agent" or not me.present or PAGE in view.own:
            return []
        if stage.ask == "all_at_once":
            return [Ask(me.id, PAGE, "page")] if self._possible(stage, view) else []
        return [Ask(me.id, entries.key_of(question), "question") for question in self._due(stage, view)]

    def _due(self, stage: SurveyStage, view: OwnView) -> list[BaseQuestion]:
        given = entries.given(stage, view)
        return entries.due(stage, answers.earlier_pages(view), given)

    def page_answer(self, stage: SurveyStage, view: OwnView) -> Json | None:
        """All that an agent was asked one by one, checked as a whole."""
        is_asked_by_question = stage.ask != "all_at_once" and view.me.player == "agent"
        if not is_asked_by_question or not self._possible(stage, view) or self._due(stage, view):
            return None
        given = entries.given(stage, view)
        missing = [question_id for question_id, value in given.items() if value is None]
        return answers.check(stage, given, answers.earlier_pages(view), missing)

    def reply_model(self, stage: SurveyStage, ask: Ask, view: OwnView) -> type[BaseModel] | None:
        question = entries.question_of(stage, ask.key)
        if question is not None:
            return entries.reply_model(question)
        return answers.reply_model(stage, answers.earlier_pages(view))

    def mock_hints(self, stage: SurveyStage, ask: Ask, view: OwnView) -> dict[str, Hint]:
        """All scales share a trait: who agrees with one tends to agree with the others."""
        return {
            f"{HINT_QUESTION}{question.id}": f"attitude/{question.id}"
            if isinstance(question, ScaleQuestion)
            else question.id
            for question in stage.questions
        }

    def answer_from_reply(self, stage: SurveyStage, ask: Ask, reply: BaseModel) -> Json:
        if not isinstance(reply, answers.PageReply):
            raise TypeError(f"a reply to a survey is a PageReply, not {type(reply).__name__}")
        question = entries.question_of(stage, ask.key)
        if question is not None:
            return reply.model_dump(by_alias=True)[question.id]
        return answers.without_hidden(stage, reply)

    def on_unanswered(self, stage: SurveyStage, ask: Ask, reason: str) -> Unanswered:
        """What fits stands, and what does not is missing; of whom no reply came leaves, with the reason."""
        return "salvage" if reason == "invalid" and stage.on_invalid == "missing" else "drop"

    def salvaged(self, stage: SurveyStage, ask: Ask, view: OwnView, replies: Sequence[UnusableReply]) -> Salvaged:
        question = entries.question_of(stage, ask.key)
        if question is not None:
            return salvage.of_question(question, replies)
        return salvage.of_page(stage, answers.earlier_pages(view), replies)

    def columns(self, stage: SurveyStage) -> list[Column]:
        columns = [column for question in stage.questions for column in question.columns()]
        return [*columns, SCORE] if stage.has_correct else columns

    def cells(self, stage: SurveyStage, answer: Json) -> dict[str, Json]:
        given = answer if isinstance(answer, Mapping) else {}
        answered = [(question, given[question.id]) for question in stage.questions if question.id in given]
        cells = {name: cell for question, answer in answered for name, cell in question.given_cells(answer).items()}
        right = [question.is_correct(answer) for question, answer in answered]
        return {**cells, SCORE.name: right.count(True)} if stage.has_correct and given else cells

    def answered(self, stage: SurveyStage, key: str, answer: Json) -> list[Answered]:
        """A line for each question, whether it was asked on the page or by itself."""
        alone = entries.question_of(stage, key)
        page = answer if isinstance(answer, Mapping) else {}
        given = page if alone is None else {alone.id: answer}
        return [entries.answered(question, given[question.id]) for question in stage.questions if question.id in given]

    def example(self) -> SurveyStage:
        yes_no = (Option(id="yes", text="Yes"), Option(id="no", text="No"))
        rides = Comparison(question="rides", value="yes")
        return SurveyStage(
            id="before",
            name="Before the conversation",
            questions=(
                ChoiceQuestion(id="rides", title="Do you ever take the night bus?", options=yes_no),
                NumberQuestion(
                    id="nights", title="How many nights a month?", minimum=0, maximum=31, integer=True, show_if=rides
                ),
                ScaleQuestion(
                    id="free",
                    title="Should the night bus be free?",
                    lower=1,
                    upper=7,
                    lower_text="not at all",
                    upper_text="absolutely",
                ),
                ChoicesQuestion(
                    id="goals",
                    title="What should a night bus do first of all?",
                    min_chosen=1,
                    max_chosen=2,
                    options=(
                        Option(id="safe", text="Bring people home safely"),
                        Option(id="cheap", text="Cost little"),
                        Option(id="often", text="Come often"),
                    ),
                ),
                ChoiceQuestion(id="city-pays", title="Who pays for a free bus?", options=yes_no, correct="yes"),
                TextQuestion(id="why", title="Why do you think so?", min_chars=10, max_chars=500),
                CheckQuestion(id="agree", title="I will speak for myself.", required=True),
            ),
        )

    def _possible(self, stage: SurveyStage, view: OwnView) -> bool:
        return bool(answers.possible_questions(stage, answers.earlier_pages(view)))


KIND = Survey()
