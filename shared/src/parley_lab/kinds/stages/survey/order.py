"""A participant's order of questions and options, where it is drawn: the same for page, prompt and data."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

from parley_lab.base import rules, seeds
from parley_lab.kinds import Column, Draws, Json, Member, OwnView
from parley_lab.kinds.questions.choices import OptionsQuestion
from parley_lab.kinds.questions.questions import BaseQuestion
from parley_lab.kinds.stages.survey.config import SurveyStage

CHANCE: Final = "chance"
"""A draw for the cohort; every participant's order follows from it and the seat."""
ORDER: Final = "_order"
"""The field of a stored page with its order; no question may have this id."""


class OrderDraws(Draws):
    def draw(self, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        return {CHANCE: drawn.get(CHANCE) or f"{rng.getrandbits(63)}"}


def ordered(stage: SurveyStage, view: OwnView) -> SurveyStage:
    """The stage in the reader's order. Answers are checked against the file's own order."""
    if not stage.is_shuffled or CHANCE not in view.draws:
        return stage
    seed, seat = int(view.draws[CHANCE]), view.me.path.rpartition("/")[2]
    questions: Sequence[BaseQuestion] = stage.questions
    if stage.shuffle_options:
        questions = [_with_shuffled_options(one, seeds.rng(seed, f"{seat}/options/{one.id}")) for one in questions]
    if stage.shuffle_questions:
        questions = _shuffled(questions, stage.id, seeds.rng(seed, f"{seat}/questions"))
    return stage.model_copy(update={"questions": tuple(questions)})


def _with_shuffled_options(question: BaseQuestion, rng: Random) -> BaseQuestion:
    if not isinstance(question, OptionsQuestion):
        return question
    return question.model_copy(update={"options": tuple(rng.sample(question.options, len(question.options)))})


def _shuffled(questions: Sequence[BaseQuestion], here: str, rng: Random) -> list[BaseQuestion]:
    """Drawn one by one among the questions whose rules read no remaining one."""
    left, placed = list(questions), list[BaseQuestion]()
    while left:
        waiting = {one.id for one in left}
        free = [one for one in left if waiting.isdisjoint(_looked_at(one, here))]
        chosen = rng.choice(free)
        left.remove(chosen)
        placed.append(chosen)
    return placed


def _looked_at(question: BaseQuestion, here: str) -> set[str]:
    """The questions of this page that the question's rule reads."""
    found = () if question.show_if is None else rules.comparisons(question.show_if)
    return {comparison.question for _, comparison in found if comparison.stage in (None, here)}


def with_order(stage: SurveyStage, view: OwnView, page: Mapping[str, Json]) -> dict[str, Json]:
    """The page with the order in which it was answered."""
    if not stage.is_shuffled or CHANCE not in view.draws:
        return dict(page)
    had = ordered(stage, view)
    order: dict[str, Any] = {}
    if stage.shuffle_questions:
        order["questions"] = [one.id for one in had.questions]
    if stage.shuffle_options:
        order["options"] = {one.id: list(one.option_ids) for one in had.questions if isinstance(one, OptionsQuestion)}
    return {**page, ORDER: order}


def without_order(page: Json) -> Json:
    return {name: value for name, value in page.items() if name != ORDER} if isinstance(page, Mapping) else page


def columns(stage: SurveyStage) -> list[Column]:
    of_page = [Column("order", "The questions in their order", "text", derived=True)] if stage.shuffle_questions else []
    shuffled = [one for one in stage.questions if stage.shuffle_options and isinstance(one, OptionsQuestion)]
    of_options = (
        Column(f"{one.id}.order", f"{one.label} (order of options)", "text", derived=True) for one in shuffled
    )
    return [*of_page, *of_options]


def cells(page: Mapping[str, Json]) -> dict[str, Json]:
    order = page.get(ORDER, {})
    of_page = {"order": " ".join(order["questions"])} if "questions" in order else {}
    return {**of_page, **{f"{name}.order": " ".join(ids) for name, ids in order.get("options", {}).items()}}
