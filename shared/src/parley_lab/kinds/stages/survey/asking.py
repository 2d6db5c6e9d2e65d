"""The asks of a survey: the whole page or, for agents where the stage says so, one question after another."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic import BaseModel

from parley_lab.base.errors import Problem
from parley_lab.contracts.models import HINT_QUESTION, Hint
from parley_lab.kinds import (
    PAGE,
    Ask,
    Field,
    FilledIn,
    Form,
    Json,
    OwnView,
    PageScripts,
    Question,
    Questions,
    Substitute,
    UnusableReply,
    WithoutAnswer,
    fixed_answers,
    suggested,
)
from parley_lab.kinds.questions import answers, one, salvage
from parley_lab.kinds.questions.numeric_questions import ScaleQuestion
from parley_lab.kinds.questions.questions import BaseQuestion, TextQuestion, Unfit
from parley_lab.kinds.questions.shown import rule_on_page
from parley_lab.kinds.stages.survey import entries
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.kinds.stages.survey.order import ordered, with_order, without_order
from parley_lab.kinds.stages.survey.reporting import SurveyData

_HONESTLY: Final = (
    "as the person you are, from what you know, feel and have seen in this study so far. Answer honestly for that "
    "person, not as an expert would."
)
_PAGE_TASK: Final = f"Complete this page: answer every question {_HONESTLY}"
_QUESTION_TASK: Final = f"Answer this question {_HONESTLY}"


class SurveyQuestions(Questions):
    """The whole page at once or, for agents where the stage says so, one question after another."""

    def __init__(self, stage: SurveyStage) -> None:
        self._stage = stage

    def due(self, view: OwnView) -> list[Ask]:
        """For an agent without an answer: one ask for the whole page, or one for each due question."""
        me, stage = view.me, self._stage
        if me.kind != "participant" or me.player != "agent" or not me.present or PAGE in view.own:
            return []
        pages = answers.earlier_pages(view)
        if stage.ask == "all_at_once":
            return [Ask(me.id, PAGE, "page")] if answers.possible_questions(stage, pages) else []
        due = entries.due(ordered(stage, view), pages, entries.given(stage, view))
        return [Ask(me.id, entries.key_of(question), "question") for question in due]

    def question(self, view: OwnView, ask: Ask) -> Question:
        question = entries.question_of(self._stage, ask.key)
        pages = answers.earlier_pages(view)
        if question is None:
            return WholePage(self._stage, view, pages)
        mine = entries.question_of(ordered(self._stage, view), ask.key) or question
        return _OneQuestion(self._stage, mine, is_first=not entries.given(self._stage, view))

    def shown(self, answer: Json) -> Json:
        """Without the order, which the page has."""
        return without_order(answer)

    def most_replies(self) -> int:
        return 1 if self._stage.ask == "all_at_once" else len(self._stage.questions)


@dataclass(frozen=True, slots=True)
class WholePage(Question):
    """All questions at once, in the member's order; answers are checked against the file's."""

    stage: SurveyStage
    view: OwnView
    pages: answers.Pages

    def form(self) -> Form:
        asked = answers.possible_questions(ordered(self.stage, self.view), self.pages)
        return Form(tuple(self._field(question) for question in asked))

    def _field(self, question: BaseQuestion) -> Field:
        rule = rule_on_page(question, self.stage, self.pages)
        show_if = None if rule is None else rule.model_dump(mode="json")
        return Field(question.id, question.field_schema(), is_required=question.required, show_if=show_if)

    def task(self) -> str:
        return _PAGE_TASK

    def reply_model(self) -> type[BaseModel]:
        return answers.reply_model(ordered(self.stage, self.view), self.pages)

    def answer_from_reply(self, reply: BaseModel) -> Json:
        return answers.without_hidden(self.stage, _page_reply(reply))

    def check(self, answer: Json) -> Json:
        stored = answers.check(self.stage, without_order(answer), self.pages)
        return with_order(self.stage, self.view, stored)

    def without_answer(self, replies: Sequence[UnusableReply]) -> WithoutAnswer:
        """Valid answers are kept, others are missing; an agent without any reply leaves, with the reason."""
        is_kept = replies and self.stage.on_invalid == "missing"
        if not is_kept:
            return "drop"
        found = salvage.of_page(self.stage, self.pages, replies)
        return Substitute(with_order(self.stage, self.view, found.value), found.missing)

    def filled_in(self, begun: Json, default: Mapping[str, Json]) -> FilledIn | None:
        filled = begun if isinstance(begun, Mapping) else {}
        given = entries.given(self.stage, self.view)
        found = answers.filled_in(self.stage, self.pages, given=given, begun=filled, default=default)
        return replace(found, value=with_order(self.stage, self.view, found.value)) if found.holds_any else None

    def written(self, answer: Json) -> str:
        return _typed(self.stage, PAGE, answer)

    def hints(self) -> Mapping[str, Hint]:
        return {**_hints(self.stage.questions), **suggested(fixed_answers(self.stage, self.view.me))}


@dataclass(frozen=True, slots=True)
class _OneQuestion(Question):
    stage: SurveyStage
    question: BaseQuestion
    is_first: bool

    def form(self) -> Form:
        return Form((Field(self.question.id, self.question.field_schema()),), is_bare=True)

    def task(self) -> str:
        return _QUESTION_TASK

    def reply_model(self) -> type[BaseModel]:
        return one.reply_model(self.question)

    def answer_from_reply(self, reply: BaseModel) -> Json:
        return _page_reply(reply).model_dump(by_alias=True)[self.question.id]

    def check(self, answer: Json) -> Json:
        """Several chosen options are stored in the order of the file."""
        return one.check(entries.question_of(self.stage, entries.key_of(self.question)) or self.question, answer)

    def without_answer(self, replies: Sequence[UnusableReply]) -> WithoutAnswer:
        is_kept = replies and self.stage.on_invalid == "missing"
        return salvage.of_question(self.question, replies) if is_kept else "drop"

    def news(self) -> str:
        """The text above the questions is read with the first of them."""
        asked = f"{self.question.title} {self.question.asked()}"
        return f"{self.stage.description}\n{asked}" if self.is_first else asked

    def written(self, answer: Json) -> str:
        return _typed(self.stage, entries.key_of(self.question), answer)

    def hints(self) -> Mapping[str, Hint]:
        return _hints(self.stage.questions)


def _page_reply(reply: BaseModel) -> answers.PageReply:
    if not isinstance(reply, answers.PageReply):
        raise TypeError(f"a reply to a survey is a PageReply, not {type(reply).__name__}")
    return reply


def _typed(stage: SurveyStage, key: str, answer: Json) -> str:
    """The typed words of an answer; everything else is chosen."""
    return "\n".join(
        str(line.value)
        for line in SurveyData(stage).answered(key, answer)
        if line.value is not None and isinstance(entries.question_of(stage, line.asked_as), TextQuestion)
    )


def _hints(questions: Sequence[BaseQuestion]) -> dict[str, Hint]:
    """All scales share a trait: a persona that agrees with one tends to agree with the others."""
    return {
        f"{HINT_QUESTION}{question.id}": f"attitude/{question.id}"
        if isinstance(question, ScaleQuestion)
        else question.id
        for question in questions
    }


class SurveyScripts(PageScripts):
    def __init__(self, stage: SurveyStage) -> None:
        super().__init__(stage)
        self._survey = stage

    def question(self, view: OwnView) -> Question:
        return WholePage(self._survey, view, answers.earlier_pages(view))

    def problems_of(self, name: str, answer: Json) -> Iterator[Problem]:
        asked = next((question for question in self._survey.questions if question.id == name), None)
        if asked is None:
            yield Problem("", "an answer", "the id of a question of this survey")
            return
        try:
            asked.answered(answer)
        except Unfit as unfit:
            yield Problem("", answers.found_in_words(answer), unfit.expected)
