"""The rules of a page of questions."""

from collections.abc import Mapping, Sequence
from random import Random

from pydantic import BaseModel

from shared.contracts.experiment import StageConfig
from shared.errors import Problem
from shared.rules import Comparison
from shared.stage import PAGE, AskRequest, Block, Column, Json, Member, StageKind, StageView, Unanswered, heading
from shared.stages.survey import answers, checks, display
from shared.stages.survey.config import SurveyStage
from shared.stages.survey.questions import (
    CheckQuestion,
    ChoiceQuestion,
    ChoicesQuestion,
    NumberQuestion,
    Option,
    ScaleQuestion,
    TextQuestion,
)


class Survey(StageKind[SurveyStage]):
    config_model = SurveyStage

    def problems(self, stage: SurveyStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        return list(checks.problems(stage, earlier))

    def draw(
        self, stage: SurveyStage, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random
    ) -> dict[str, Json]:
        return dict(drawn)

    def public_view(self, stage: SurveyStage, view: StageView) -> dict[str, Json]:
        """The questions that may come up for the reader; the page itself hides those whose rule is not true yet."""
        pages = answers.earlier_pages(view, view.reader)
        own = view.answers.get((view.reader, PAGE)) if view.reader is not None else None
        questions = [display.public(question, stage, pages) for question in answers.possible_questions(stage, pages)]
        return {**heading(stage), "questions": questions, "answers": own if isinstance(own, Mapping) else {}}

    def describe(self, stage: SurveyStage, view: StageView, *, with_answers: bool) -> list[Block]:
        return display.with_answers(stage, view) if with_answers else display.questions(stage, view)

    def task(self, stage: SurveyStage, purpose: str) -> str:
        return (
            "Complete this page: answer every question as the person you are, from what you know, feel and have seen "
            "in this study so far. Answer honestly for that person, not as an expert would."
        )

    def check_answer(self, stage: SurveyStage, answer: Json, view: StageView) -> Json:
        return answers.check(stage, answer, answers.earlier_pages(view, view.reader))

    def blocked_by(self, stage: SurveyStage, member: Member, view: StageView) -> list[str]:
        if (member.id, PAGE) in view.answers or not self._possible(stage, member, view):
            return []
        return ["Please answer the questions on this page."]

    def next_asks(self, stage: SurveyStage, view: StageView) -> list[AskRequest]:
        """One ask for the whole page, for every agent that has not answered it."""
        return [
            AskRequest(member.id, PAGE, "page")
            for member in view.members
            if member.kind == "participant"
            and member.player == "agent"
            and member.present
            and (member.id, PAGE) not in view.answers
            and self._possible(stage, member, view)
        ]

    def reply_model(self, stage: SurveyStage, purpose: str, view: StageView) -> type[BaseModel] | None:
        return answers.reply_model(stage, answers.earlier_pages(view, view.reader))

    def answer_from_reply(self, stage: SurveyStage, reply: BaseModel) -> Json:
        if not isinstance(reply, answers.PageReply):
            raise TypeError(f"a reply to a survey is a PageReply, not {type(reply).__name__}")
        return answers.without_hidden(stage, reply)

    def on_unanswered(self, stage: SurveyStage, purpose: str, reason: str) -> Unanswered:
        """A page without answers is never passed over in silence: the member leaves, with the reason."""
        return "drop"

    def columns(self, stage: SurveyStage) -> list[Column]:
        return [column for question in stage.questions for column in question.columns()]

    def cells(self, stage: SurveyStage, answer: Json) -> dict[str, Json]:
        given = answer if isinstance(answer, Mapping) else {}
        return {
            name: cell
            for question in stage.questions
            if question.id in given
            for name, cell in question.cells(given[question.id]).items()
        }

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

    def _possible(self, stage: SurveyStage, member: Member, view: StageView) -> bool:
        return bool(answers.possible_questions(stage, answers.earlier_pages(view, member.id)))


KIND = Survey()
