"""A page of questions as the page itself and as a prompt show it."""

from collections.abc import Mapping

from shared import rules
from shared.stage import PAGE, Block, Json, OwnView
from shared.stages.survey.answers import Pages, earlier_pages, possible_questions
from shared.stages.survey.config import SurveyStage
from shared.stages.survey.questions import BaseQuestion


def public(question: BaseQuestion, stage: SurveyStage, pages: Pages) -> dict[str, Json]:
    """The question with the rule by which the page shows it, or null when it is shown whatever is answered here."""
    rule = question.show_if
    is_open = rule is not None and any(
        (comparison.stage or stage.id) == stage.id for _, comparison in rules.comparisons(rule)
    )
    return {**question.public(), "show_if": rule.model_dump(mode="json") if rule is not None and is_open else None}


def questions(stage: SurveyStage, view: OwnView) -> list[Block]:
    """The questions with how to answer them."""
    pages = earlier_pages(view)
    lines = [
        f"- {question.title} [{question.hint()}]{_only_if(question)}" for question in possible_questions(stage, pages)
    ]
    return [Block("\n".join(["Questions:", *lines]))]


def with_answers(stage: SurveyStage, view: OwnView) -> list[Block]:
    """One block per participant whose answers the reader may see, the reader first even without any."""
    own = [_answers("Your answers:", view.own.get(PAGE), stage)] if view.me.kind == "participant" else []
    others = [
        _answers(f"Answers of {member.name}:", view.shown[member.id], stage)
        for member in view.members
        if member.kind == "participant" and member.id in view.shown
    ]
    return [*own, *others] or questions(stage, view)


def _answers(title: str, answer: Json, stage: SurveyStage) -> Block:
    if not isinstance(answer, Mapping):
        return Block(f"{title} none.")
    lines = [
        f"- {question.title} {question.given_in_words(answer[question.id])}"
        for question in stage.questions
        if question.id in answer
    ]
    return Block("\n".join([title, *lines]))


def _only_if(question: BaseQuestion) -> str:
    return f" (counts only if {rules.in_words(question.show_if)})" if question.show_if is not None else ""
