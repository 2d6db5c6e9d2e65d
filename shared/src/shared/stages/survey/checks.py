"""What is wrong with a survey as it is written: ids, bounds, and show-if rules that lead nowhere."""

from collections.abc import Iterator, Mapping, Sequence

from shared import rules
from shared.contracts.experiment import StageConfig
from shared.errors import Problem
from shared.stages.survey.config import SurveyStage
from shared.stages.survey.questions import BaseQuestion


def problems(stage: SurveyStage, earlier: Sequence[StageConfig]) -> Iterator[Problem]:
    """`where` is relative to the stage."""
    surveys = {one.id: {question.id for question in one.questions} for one in earlier if isinstance(one, SurveyStage)}
    before: set[str] = set()
    for index, question in enumerate(stage.questions):
        where = f"questions[{index}]"
        if question.id in before:
            yield Problem(f"{where}.id", f"{question.id!r} again", "an id of its own for every question")
        for problem in question.problems():
            yield Problem(f"{where}.{problem.where}", problem.found, problem.expected)
        yield from _misled_rules(question, where, {**surveys, stage.id: before}, stage.id)
        if stage.has_correct and question.id == "score":
            expected = "another id: the column `score` says how many answers are correct"
            yield Problem(f"{where}.id", "'score'", expected)
        before.add(question.id)


def _misled_rules(question: BaseQuestion, where: str, known: Mapping[str, set[str]], here: str) -> Iterator[Problem]:
    if question.show_if is None:
        return
    for place, comparison in rules.comparisons(question.show_if, f"{where}.show_if"):
        target = comparison.stage or here
        if target not in known:
            yield Problem(f"{place}.stage", repr(comparison.stage), "the id of a survey that comes before this one")
        elif comparison.question not in known[target]:
            expected = "a question above this one" if target == here else f"a question of the survey {target!r}"
            yield Problem(f"{place}.question", repr(comparison.question), expected)
