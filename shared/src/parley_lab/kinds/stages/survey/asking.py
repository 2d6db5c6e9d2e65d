"""The asks of a survey: the whole page or, for agents where the stage says so, one question after another."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Final

from pydantic import BaseModel

from parley_lab.base.errors import Problem
from parley_lab.contracts.models import HINT_QUESTION, Hint
from parley_lab.kinds import (
    PAGE,
    Ask,
    Field,
    Form,
    Json,
    OwnView,
    Question,
    Questions,
    Substitute,
    UnusableReply,
)
from parley_lab.kinds.parts import FilledIn, NotTaken, WithoutAnswer
from parley_lab.kinds.questions import answers, one, salvage
from parley_lab.kinds.questions.drawn_rows import asked_of
from parley_lab.kinds.questions.numeric_questions import ScaleQuestion
from parley_lab.kinds.questions.own_order import without_order
from parley_lab.kinds.questions.questions import BaseQuestion, TextQuestion
from parley_lab.kinds.questions.scripted_rows import fixed_of, problems_of
from parley_lab.kinds.questions.shown import rule_on_page
from parley_lab.kinds.scripted import PageScripts, suggested
from parley_lab.kinds.stages.survey import entries
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.kinds.stages.survey.order import ordered, with_order
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
            return [Ask(me.id, PAGE, "page")] if answers.possible_questions(asked_of(stage, view), pages) else []
        if stage.ask == "by_row":
            return [Ask(me.id, key, "row") for key in islice(entries.due_rows(ordered(stage, view), view), 1)]
        due = entries.due(ordered(stage, view), pages, entries.given(stage, view))
        return [Ask(me.id, entries.key_of(question), "question") for question in due]

    def question(self, view: OwnView, ask: Ask) -> Question:
        asked = asked_of(self._stage, view)
        if entries.of_row(asked, ask.key) is not None:
            return OneRow(self._stage, view, answers.earlier_pages(view), ask.key)
        question = entries.question_of(asked, ask.key)
        if question is None:
            return WholePage(self._stage, view, answers.earlier_pages(view))
        mine = entries.question_of(ordered(self._stage, view), ask.key) or question
        given = entries.given(asked, view)
        pages = answers.earlier_pages(view)
        in_file, as_had = (answers.bounded(one, given, pages) for one in (question, mine))
        return _OneQuestion(asked, in_file, as_had, is_first=not given)

    def shown(self, answer: Json) -> Json:
        """Without the order, which the page has."""
        return without_order(answer)

    def most_replies(self) -> int:
        if self._stage.ask == "all_at_once":
            return 1
        rows, asked = self._stage.rows, self._stage.questions
        if rows is None:
            return len(asked)
        count = rows.take or len(rows.listed)
        return count if self._stage.ask == "by_row" else count * len(asked) // len(rows.listed)


class WholePage(Question):
    """All questions at once, in the member's order; answers are checked against the file's."""

    def __init__(self, stage: SurveyStage, view: OwnView, pages: answers.Pages) -> None:
        self._stage = stage
        self._view = view
        self._pages = pages

    @cached_property
    def _asked(self) -> SurveyStage:
        return asked_of(self._stage, self._view)

    @cached_property
    def _ordered(self) -> SurveyStage:
        return ordered(self._stage, self._view)

    def form(self) -> Form:
        asked = answers.possible_questions(self._ordered, self._pages)
        totals = answers.form_totals(self._asked, [question.id for question in asked])
        return Form(tuple(self._field(question) for question in asked), totals=totals)

    def _field(self, question: BaseQuestion) -> Field:
        rule = rule_on_page(question, self._stage, self._pages)
        show_if = None if rule is None else rule.model_dump(mode="json")
        return Field(question.id, question.form_field(), is_required=question.required, show_if=show_if)

    def task(self) -> str:
        return _PAGE_TASK

    def reply_model(self) -> type[BaseModel]:
        return answers.reply_model(self._ordered, self._pages)

    def answer_from_reply(self, reply: BaseModel) -> Json:
        return answers.without_hidden(self._asked, _page_reply(reply))

    def check(self, answer: Json) -> Json:
        given = without_order(answer)
        if self._runs_out_of_time() and isinstance(given, Mapping):
            asked = {question.id for question in self._asked.questions}
            unknown = {name: value for name, value in given.items() if name not in asked}
            given = {**unknown, **answers.keep_usable(self._asked, given, self._pages)}
            missing = [name for name, value in given.items() if value is None]
            stored = answers.check(self._asked, given, self._pages, missing)
        else:
            stored = answers.check(self._asked, given, self._pages)
        return with_order(self._stage, self._view, stored)

    def not_taken(self, answer: Json, stored: Json) -> NotTaken | None:
        given, kept = without_order(answer), without_order(stored)
        if not self._runs_out_of_time() or not isinstance(given, Mapping):
            return None
        rest = {name: one for name, one in given.items() if one not in (None, "", [], {}) and kept.get(name) is None}
        asked = {one.id: one for one in self._asked.questions}
        nulls = (name for name, one in kept.items() if one is None)
        missing = {one: answers.NOT_FILLED_IN for one in nulls if one in rest or not asked[one].may_be_empty}
        return NotTaken(rest, missing) if rest or missing else None

    def _runs_out_of_time(self) -> bool:
        """Whether the page of a row goes away after some time, from a person who may have entered something by half."""
        pages = self._stage.pages
        return pages is not None and pages.seconds is not None and self._view.me.player == "person"

    def without_answer(self, replies: Sequence[UnusableReply]) -> WithoutAnswer:
        """Valid answers are kept, others are missing; an agent without any reply leaves, with the reason."""
        is_kept = replies and self._stage.on_invalid == "missing"
        if not is_kept:
            return "drop"
        found = salvage.of_page(self._asked, self._pages, replies)
        return Substitute(with_order(self._stage, self._view, found.value), found.missing)

    def filled_in(self, begun: Json, default: Mapping[str, Json]) -> FilledIn | None:
        filled = begun if isinstance(begun, Mapping) else {}
        given = entries.given(self._asked, self._view)
        found = answers.filled_in(self._asked, self._pages, given=given, begun=filled, default=default)
        return replace(found, value=with_order(self._stage, self._view, found.value)) if found.holds_any else None

    def written(self, answer: Json) -> str:
        return _typed(self._stage, PAGE, answer)

    def hints(self) -> Mapping[str, Hint]:
        fixed = suggested(fixed_of(self._stage, self._view.me))
        return {**_hints(self._stage.questions), **answers.fitting(self._asked, self.form()), **fixed}


class OneRow(WholePage):
    """The questions of one row, after those of the rows before it; the page is made of all rows."""

    def __init__(self, stage: SurveyStage, view: OwnView, pages: answers.Pages, key: str) -> None:
        super().__init__(stage, view, pages)
        self._key = key

    @cached_property
    def _asked(self) -> SurveyStage:
        found = entries.row_in_turn(asked_of(self._stage, self._view), self._key, self._view)
        assert found is not None
        return found

    @cached_property
    def _ordered(self) -> SurveyStage:
        found = entries.row_in_turn(ordered(self._stage, self._view), self._key, self._view)
        assert found is not None
        return found

    def check(self, answer: Json) -> Json:
        return answers.check(self._asked, answer, self._pages)

    def without_answer(self, replies: Sequence[UnusableReply]) -> WithoutAnswer:
        is_kept = replies and self._stage.on_invalid == "missing"
        return salvage.of_page(self._asked, self._pages, replies) if is_kept else "drop"

    def news(self) -> str:
        """The text above the questions is read with the first of them."""
        asked = "\n".join(f"{one.told} {one.asked()}" for one in self._ordered.questions)
        is_first = not entries.given(self._stage, self._view)
        return f"{self._stage.description}\n{asked}" if is_first else asked

    def written(self, answer: Json) -> str:
        return _typed(self._stage, self._key, answer)


@dataclass(frozen=True, slots=True)
class _OneQuestion(Question):
    """One question as the member has it; `in_file` has its options in the order of the file."""

    stage: SurveyStage
    in_file: BaseQuestion
    question: BaseQuestion
    is_first: bool

    def form(self) -> Form:
        return Form((Field(self.question.id, self.question.form_field()),), is_bare=True)

    def task(self) -> str:
        return _QUESTION_TASK

    def reply_model(self) -> type[BaseModel]:
        return one.reply_model(self.question)

    def answer_from_reply(self, reply: BaseModel) -> Json:
        return _page_reply(reply).model_dump(by_alias=True)[self.question.id]

    def check(self, answer: Json) -> Json:
        """Several chosen options are stored in the order of the file."""
        return one.check(self.in_file, answer)

    def without_answer(self, replies: Sequence[UnusableReply]) -> WithoutAnswer:
        is_kept = replies and self.stage.on_invalid == "missing"
        return salvage.of_question(self.question, replies) if is_kept else "drop"

    def news(self) -> str:
        """The text above the questions is read with the first of them."""
        asked = f"{self.question.told} {self.question.asked()}"
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
    written = {question.id for question in stage.questions if isinstance(question, TextQuestion)}
    lines = (line for line in SurveyData(stage).answered(key, answer) if line.field in written)
    return "\n".join(str(line.value) for line in lines if line.value is not None)


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

    def fixed(self, view: OwnView) -> Mapping[str, Json]:
        return fixed_of(self._survey, view.me)

    def problems_of(self, name: str, answer: Json) -> Iterator[Problem]:
        return problems_of(self._survey, name, answer)
