"""How the questions are put: about everybody on one page or, to agents where the stage says so, about each alone."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal

from pydantic import BaseModel, create_model

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.contracts.models import Hint
from parley_lab.kinds import (
    PAGE,
    Ask,
    Field,
    Form,
    Json,
    Label,
    OwnView,
    Question,
    Questions,
    Substitute,
    UnusableReply,
    form,
)
from parley_lab.kinds.parts import FilledIn, WithoutAnswer
from parley_lab.kinds.questions import answers, salvage
from parley_lab.kinds.questions.drawn_rows import asked_of
from parley_lab.kinds.questions.own_order import without_order
from parley_lab.kinds.questions.questions import BaseQuestion, TextQuestion
from parley_lab.kinds.questions.rows_in_data import with_drawn
from parley_lab.kinds.questions.scripted_rows import fixed_of, problems_of
from parley_lab.kinds.questions.shown import rule_on_page
from parley_lab.kinds.scripted import PageScripts, suggested
from parley_lab.kinds.stages.survey_per_participant import people
from parley_lab.kinds.stages.survey_per_participant.config import SurveyPerParticipantStage
from parley_lab.kinds.stages.survey_per_participant.people import Subject, field_of, key_of, subjects

_HONESTLY: Final = "as the person you are, from what you have seen of them in this study so far."


class PeopleQuestions(Questions):
    def __init__(self, stage: SurveyPerParticipantStage) -> None:
        self._stage = stage

    def due(self, view: OwnView) -> list[Ask]:
        me, stage = view.me, self._stage
        if me.kind != "participant" or me.player != "agent" or not me.present or PAGE in view.own:
            return []
        if not is_asked(stage, view):
            return []
        if stage.ask == "all_at_once":
            return [Ask(me.id, PAGE, "page")]
        left = [Ask(me.id, key_of(one), "person") for one in subjects(stage, view) if key_of(one) not in view.own]
        return left[:1] if stage.ask == "sequential" else left

    def question(self, view: OwnView, ask: Ask) -> Question | None:
        if not is_asked(self._stage, view):
            return None
        if ask.key == PAGE:
            return AboutAll(self._stage, view)
        found = next((one for one in subjects(self._stage, view) if key_of(one) == ask.key), None)
        return None if found is None else AboutOne(self._stage, view, found)

    def shown(self, answer: Json) -> Json:
        """Without the rows that were drawn, which the page has."""
        return without_order(answer)

    def most_replies(self) -> int | None:
        return 1 if self._stage.ask == "all_at_once" else None


def is_asked(stage: SurveyPerParticipantStage, view: OwnView) -> bool:
    """Whether there is a question, and a member whom it is about."""
    pages = answers.earlier_pages(view)
    return bool(subjects(stage, view)) and bool(answers.possible_questions(asked_of(stage, view), pages))


def check_page(
    stage: SurveyPerParticipantStage, view: OwnView, answer: Json, missing: Collection[str] = ()
) -> dict[str, Json]:
    """The answers about everybody as they are stored.

    missing: the fields of which no usable reply came.

    Raises:
        InvalidInput: with all problems.
    """
    if not isinstance(answer, Mapping):
        found = Problem("", type(answer).__name__, "an object with one entry per person and question")
        raise InvalidInput("These answers cannot be used.", [found])
    answer, mine = without_order(answer), asked_of(stage, view)
    pages, asked = answers.earlier_pages(view), subjects(stage, view)
    stored: dict[str, Json] = {}
    problems: list[Problem] = []
    for one in asked:
        given, gone = people.about(one.tag, answer), [*people.about(one.tag, dict.fromkeys(missing))]
        try:
            stored |= people.of_page(one.tag, answers.check(mine, given, pages, gone))
        except InvalidInput as refused:
            problems += [replace(each, where=field_of(one.tag, each.where)) for each in refused.problems]
    known = {name for one in asked for name in people.of_page(one.tag, people.about(one.tag, answer))}
    problems += [Problem(str(name), "an answer", "no such question here") for name in answer if name not in known]
    if problems:
        raise InvalidInput("Some answers cannot be used.", problems)
    return with_drawn(stage, view, stored)


class _About(Question):
    """What both ways have in common."""

    def __init__(self, stage: SurveyPerParticipantStage, view: OwnView) -> None:
        self._of_all = stage
        self._stage = asked_of(stage, view)
        self._view = view
        self._pages = answers.earlier_pages(view)

    def _asked(self) -> list[BaseQuestion]:
        return answers.possible_questions(self._stage, self._pages)

    def _typed(self, given: Mapping[str, Json]) -> list[str]:
        """The words among the answers about one."""
        return [
            str(given[one.id]) for one in self._stage.questions if isinstance(one, TextQuestion) and given.get(one.id)
        ]


class AboutAll(_About):
    def form(self) -> Form:
        """A field for each person and question, one person after another."""
        asked, about = self._asked(), subjects(self._stage, self._view)
        ids = [one.id for one in asked]
        return Form(
            tuple(self._field(one, question) for one in about for question in asked),
            totals=tuple(
                total for one in about for total in answers.form_totals(self._stage, ids, partial(field_of, one.tag))
            ),
        )

    def _field(self, one: Subject, question: BaseQuestion) -> Field:
        rule = rule_on_page(question, self._stage, self._pages)
        show_if = None if rule is None else _renamed(rule.model_dump(mode="json"), one.tag)
        title = f"{one.name}: {question.title}"
        if one.is_me:
            title = Label(title, "about_yourself", question=question.title)
        schema = {**_bounds_renamed(question.form_field(), one.tag), **form.titled(title)}
        return Field(field_of(one.tag, question.id), schema, is_required=question.required, show_if=show_if)

    def task(self) -> str:
        return f"Complete this page: answer every question about each person {_HONESTLY}"

    def reply_model(self) -> type[BaseModel]:
        asked = [(one, question) for one in subjects(self._stage, self._view) for question in self._asked()]
        fields: dict[str, Any] = {
            f"answer_{index}": answers.reply_field(
                question, self._stage, self._pages, name=field_of(one.tag, question.id), about=one.name
            )
            for index, (one, question) in enumerate(asked)
        }
        return create_model("PeopleReply", __base__=answers.PageReply, **fields)

    def answer_from_reply(self, reply: BaseModel) -> Json:
        given = reply.model_dump(by_alias=True)
        kept: dict[str, Json] = {}
        for one in subjects(self._stage, self._view):
            shown = answers.shown_of(self._stage, people.about(one.tag, given), self._pages)
            kept |= people.of_page(one.tag, shown)
        return kept

    def check(self, answer: Json) -> Json:
        return check_page(self._of_all, self._view, answer)

    def _with_drawn(self, page: Mapping[str, Json]) -> dict[str, Json]:
        return with_drawn(self._of_all, self._view, page)

    def without_answer(self, replies: Sequence[UnusableReply]) -> WithoutAnswer:
        """Keeps the answers that fit; the others are missing. An agent that gave no reply leaves, with the reason."""
        if not replies or self._stage.on_invalid == "fail":
            return "drop"
        value: dict[str, Json] = {}
        missing: dict[str, str] = {}
        for one in subjects(self._stage, self._view):
            of_one = [
                replace(reply, parsed=None if reply.parsed is None else people.about(one.tag, reply.parsed))
                for reply in replies
            ]
            found = salvage.of_page(self._stage, self._pages, of_one)
            value |= people.of_page(one.tag, found.value)
            missing |= people.of_page(one.tag, found.missing or {})
        return Substitute(self._with_drawn(value), missing)

    def filled_in(self, begun: Json, default: Mapping[str, Json]) -> FilledIn | None:
        value: dict[str, Json] = {}
        marks: dict[str, Literal["begun", "default"]] = {}
        missing: dict[str, str] = {}
        filled = begun if isinstance(begun, Mapping) else {}
        for one in subjects(self._stage, self._view):
            found = answers.filled_in(
                self._stage,
                self._pages,
                given=self._view.own.get(key_of(one)) or {},
                begun=people.about(one.tag, filled),
                default=people.about(one.tag, default),
            )
            value |= people.of_page(one.tag, found.value)
            marks |= people.of_page(one.tag, found.marks)
            missing |= people.of_page(one.tag, found.missing)
        whole = FilledIn(value, marks, missing)
        return replace(whole, value=self._with_drawn(value)) if whole.holds_any else None

    def written(self, answer: Json) -> str:
        of_each = (people.about(one.tag, answer) for one in subjects(self._stage, self._view))
        return "\n".join(line for given in of_each for line in self._typed(given))

    def hints(self) -> Mapping[str, Hint]:
        return {**answers.fitting(self._stage, self.form()), **suggested(_fixed(self._stage, self._view))}


class AboutOne(_About):
    def __init__(self, stage: SurveyPerParticipantStage, view: OwnView, subject: Subject) -> None:
        super().__init__(stage, view)
        self._subject = subject

    def form(self) -> Form:
        asked = self._asked()
        totals = answers.form_totals(self._stage, [one.id for one in asked])
        return Form(tuple(self._field(one) for one in asked), totals=totals)

    def _field(self, question: BaseQuestion) -> Field:
        rule = rule_on_page(question, self._stage, self._pages)
        show_if = None if rule is None else rule.model_dump(mode="json")
        return Field(question.id, question.form_field(), is_required=question.required, show_if=show_if)

    def task(self) -> str:
        return f"Answer every question about {self._subject.name} {_HONESTLY}"

    def reply_model(self) -> type[BaseModel]:
        return answers.reply_model(self._stage, self._pages)

    def answer_from_reply(self, reply: BaseModel) -> Json:
        return answers.shown_of(self._stage, reply.model_dump(by_alias=True), self._pages)

    def check(self, answer: Json) -> Json:
        return answers.check(self._stage, answer, self._pages)

    def without_answer(self, replies: Sequence[UnusableReply]) -> WithoutAnswer:
        is_kept = replies and self._stage.on_invalid == "missing"
        return salvage.of_page(self._stage, self._pages, replies) if is_kept else "drop"

    def news(self) -> str:
        asked = "\n".join(f"{one.told} {one.asked()}" for one in self._asked())
        return f"About {self._subject.name}:\n{asked}"

    def written(self, answer: Json) -> str:
        return "\n".join(self._typed(answer))

    def hints(self) -> Mapping[str, Hint]:
        fixed = suggested(fixed_of(self._stage, self._view.me))
        return {**answers.fitting(self._stage, self.form()), **fixed}


def _bounds_renamed(schema: Mapping[str, Json], tag: str) -> dict[str, Json]:
    """The field of a question, whose bounds are answers about the same person."""
    return {name: field_of(tag, value) if name in form.BOUNDS else value for name, value in schema.items()}


def _renamed(rule: Json, tag: str) -> Json:
    """The rule of a question, which looks at answers about the same person, as the form of all knows them."""
    if "question" in rule:
        return {**rule, "question": field_of(tag, rule["question"])}
    return {name: [_renamed(part, tag) for part in parts] for name, parts in rule.items()}


def _fixed(stage: SurveyPerParticipantStage, view: OwnView) -> dict[str, Json]:
    """The answers of the persona's script, the same about each."""
    fixed = fixed_of(stage, view.me)
    return {name: value for one in subjects(stage, view) for name, value in people.of_page(one.tag, fixed).items()}


class PeopleScripts(PageScripts):
    """The same answers about everybody."""

    def __init__(self, stage: SurveyPerParticipantStage) -> None:
        super().__init__(stage)
        self._survey = stage

    def question(self, view: OwnView) -> Question | None:
        return AboutAll(self._survey, view) if is_asked(self._survey, view) else None

    def fixed(self, view: OwnView) -> Mapping[str, Json]:
        return _fixed(self._survey, view)

    def problems_of(self, name: str, answer: Json) -> Iterator[Problem]:
        return problems_of(self._survey, name, answer)
