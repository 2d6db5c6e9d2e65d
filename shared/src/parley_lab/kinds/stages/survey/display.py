"""A page of questions in a prompt."""

from collections.abc import Mapping

from parley_lab.base import rules
from parley_lab.kinds import PAGE, Block, Json, OwnView
from parley_lab.kinds.questions.answers import earlier_pages, possible_questions, together, told_rule
from parley_lab.kinds.questions.rows_in_data import as_answered
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.kinds.stages.survey.order import ordered
from parley_lab.kinds.stages.survey.page import marks


def questions(stage: SurveyStage, view: OwnView) -> list[Block]:
    """The questions with how to answer them."""
    return asked_in(ordered(stage, view), view)


def asked_in(stage: SurveyStage, view: OwnView) -> list[Block]:
    """The questions of this stage as it is given, in its order."""
    pages = earlier_pages(view)
    asked = possible_questions(stage, pages)
    lines = [f"- {one.told} [{one.asked()}]{_only_if(told_rule(one, stage, pages))}" for one in asked]
    return [Block("\n".join(["Questions:", *lines, *together(stage, [one.id for one in asked])]))]


def with_answers(stage: SurveyStage, view: OwnView) -> list[Block]:
    """One block per participant whose answers the reader may see, the reader first even without any."""
    had = ordered(stage, view)
    own = [_answers("Your answers:", view.own.get(PAGE), had, is_own=True)] if view.me.kind == "participant" else []
    others = [
        _answers(f"Answers of {member.name}:", view.shown[member.id], as_answered(stage, view.shown[member.id]))
        for member in view.members
        if member.kind == "participant" and member.id in view.shown
    ]
    return [*own, *others] or questions(stage, view)


def _answers(title: str, answer: Json, stage: SurveyStage, *, is_own: bool = False) -> Block:
    if not isinstance(answer, Mapping):
        return Block(f"{title} none.")
    marked = marks(stage, dict(answer)) if is_own else {}
    words = {True: " (right)", False: " (wrong)"}
    lines = [
        f"- {one.title} {one.given_in_words(answer[one.id])}{words[marked[one.id]] if one.id in marked else ''}"
        for one in stage.questions
        if one.id in answer
    ]
    return Block("\n".join([title, *lines]))


def _only_if(rule: rules.Rule | None) -> str:
    return "" if rule is None else f" (counts only if {rules.in_words(rule)})"
