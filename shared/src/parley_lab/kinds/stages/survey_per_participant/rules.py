"""The rules of questions about each of the others."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from parley_lab.base.errors import Problem
from parley_lab.base.rules import Comparison
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import (
    PAGE,
    Ask,
    Block,
    Blocked,
    Completion,
    Done,
    Json,
    OwnView,
    PageContent,
    Parts,
    Reason,
    StageKind,
    heading,
)
from parley_lab.kinds.questions import answers, sheet
from parley_lab.kinds.questions.drawn_rows import asked_of
from parley_lab.kinds.questions.numeric_questions import ScaleQuestion
from parley_lab.kinds.questions.own_order import without_order
from parley_lab.kinds.questions.questions import CheckQuestion, TextQuestion
from parley_lab.kinds.questions.rows_in_data import as_answered
from parley_lab.kinds.questions.shown import ShownQuestion, shown_questions
from parley_lab.kinds.stages.survey_per_participant import people
from parley_lab.kinds.stages.survey_per_participant.asking import PeopleQuestions, PeopleScripts, check_page, is_asked
from parley_lab.kinds.stages.survey_per_participant.config import SurveyPerParticipantStage
from parley_lab.kinds.stages.survey_per_participant.people import PeopleDraws, key_of, subjects
from parley_lab.kinds.stages.survey_per_participant.reporting import PeopleData


class ShownPerson(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    tag: str
    """Begins the names of the answers about this person: `p2_trust`."""
    name: str
    avatar: str
    is_you: bool


class SurveyPerParticipantPage(PageContent):
    kind: Literal["survey_per_participant"] = "survey_per_participant"
    people: list[ShownPerson]
    """Whom the questions are about."""
    questions: list[ShownQuestion]
    """What is asked about each; a rule looks at the answers about the same person."""
    answers: dict[str, JsonValue]
    """What the reader has answered, by person and question; empty before the page is answered."""


class SurveyPerParticipant(StageKind[SurveyPerParticipantStage]):
    config_model = SurveyPerParticipantStage

    def problems(self, stage: SurveyPerParticipantStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        found = list(sheet.problems(stage, earlier, has_profiles=False))
        if not stage.progress.wait_for_all and stage.progress.min_participants < 2:
            expected = "wait_for_all, or min_participants of 2 or more: who is there at the opening is asked about"
            found.append(Problem("progress", "a stage that waits for nobody", expected))
        return found

    def page(self, stage: SurveyPerParticipantStage, view: OwnView) -> SurveyPerParticipantPage:
        own = without_order(view.own.get(PAGE))
        shown = [
            {"tag": one.tag, "name": view.me.name if one.is_me else one.name, "avatar": one.avatar, "is_you": one.is_me}
            for one in subjects(stage, view)
        ]
        questions = shown_questions(asked_of(stage, view), answers.earlier_pages(view))
        given = own if isinstance(own, dict) else {}
        return SurveyPerParticipantPage.model_validate(
            {**heading(stage), "people": shown, "questions": questions, "answers": given}
        )

    def prompt(self, stage: SurveyPerParticipantStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        if view.me.kind == "mediator":
            told = [Block("The participants answered questions about each other here, each for themselves.")]
            return [*told, *self._of_others(stage, view)]
        if ask is None:
            return [*self._own(stage, view), *self._of_others(stage, view)]
        asked = [one for one in subjects(stage, view) if ask.key in (PAGE, key_of(one))]
        mine = asked_of(stage, view)
        questions = answers.possible_questions(mine, answers.earlier_pages(view))
        lines = [f"- {one.told} [{one.asked()}]" for one in questions]
        lines += answers.together(mine, [one.id for one in questions])
        whom = "\n".join(f"- {one.tag}: {one.name}" for one in asked) if ask.key == PAGE else asked[0].name
        heads = f"The people whom the questions are about:\n{whom}" if ask.key == PAGE else f"About {whom}:"
        before = [] if stage.ask == "independent" else list(self._entries(stage, view))
        return [*before, Block("\n".join([heads, "Questions about each of them:" if ask.key == PAGE else "", *lines]))]

    def completion(self, stage: SurveyPerParticipantStage, view: OwnView) -> Completion:
        """The page is answered as a whole, or made of what an agent was asked about each."""
        if PAGE in view.own:
            return Done()
        if not is_asked(stage, view):
            return Done({})
        given = {one.tag: view.own.get(key_of(one)) for one in subjects(stage, view)}
        if stage.ask == "all_at_once" or view.me.player != "agent" or None in given.values():
            return Blocked((Reason("Please answer the questions about each of the others.", "answer_first"),))
        page = {
            name: value for tag, of_one in given.items() for name, value in people.of_page(tag, of_one or {}).items()
        }
        missing = [name for name, value in page.items() if value is None]
        return Done(check_page(stage, view, page, missing))

    def parts(self, stage: SurveyPerParticipantStage) -> Parts:
        return Parts(
            questions=PeopleQuestions(stage),
            draws=PeopleDraws(stage),
            data=PeopleData(stage),
            scripts=PeopleScripts(stage),
            names_others=True,
        )

    def example(self) -> SurveyPerParticipantStage:
        return SurveyPerParticipantStage(
            id="each-other",
            name="The others",
            include_self=True,
            questions=(
                ScaleQuestion(id="trust", title="How much do you trust this person?", lower=0, upper=10),
                CheckQuestion(id="again", title="I would talk with this person again."),
                TextQuestion(
                    id="why",
                    title="Why so little?",
                    show_if=Comparison(question="trust", operator="less_than", value=3),
                    required=False,
                ),
            ),
        )

    def _own(self, stage: SurveyPerParticipantStage, view: OwnView) -> Iterator[Block]:
        page = view.own.get(PAGE)
        if not isinstance(page, Mapping) or not page:
            yield Block("Your answers about the others: none.")
            return
        asked = as_answered(stage, page)
        for one in subjects(stage, view):
            yield _answers(f"Your answers about {one.name}:", asked, people.about(one.tag, page))

    def _entries(self, stage: SurveyPerParticipantStage, view: OwnView) -> Iterator[Block]:
        mine = asked_of(stage, view)
        for one in subjects(stage, view):
            if (given := view.own.get(key_of(one))) is not None:
                yield _answers(f"Your answers about {one.name}:", mine, given)

    def _of_others(self, stage: SurveyPerParticipantStage, view: OwnView) -> Iterator[Block]:
        """What the audience of the stage lets the reader see."""
        names = people.names(view)
        for member in (one for one in view.members if one.id in view.shown and one.id != view.me.id):
            page = view.shown[member.id]
            asked = as_answered(stage, page)
            for tag, name in names.items():
                if given := people.about(tag, page):
                    yield _answers(f"Answers of {member.name} about {name}:", asked, given)


def _answers(title: str, stage: SurveyPerParticipantStage, given: Mapping[str, Json]) -> Block:
    asked = (one for one in stage.questions if one.id in given)
    return Block("\n".join([title, *(f"- {one.title} {one.given_in_words(given[one.id])}" for one in asked)]))


KIND = SurveyPerParticipant()
