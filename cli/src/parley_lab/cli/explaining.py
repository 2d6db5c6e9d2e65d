"""`parley validate --explain`: the questions or tasks of a stage as people see them, three rows of each arm."""

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Final
from uuid import UUID

from parley_lab.base import seeds
from parley_lab.base.errors import NotFound
from parley_lab.base.meant_names import what_is_known
from parley_lab.contracts.experiment import StageConfig
from parley_lab.design import Experiment, resolve
from parley_lab.design.assigning import of_cohort, values_of
from parley_lab.kinds import Questions
from parley_lab.kinds.attendees import Attendee
from parley_lab.kinds.questions.answers import together
from parley_lab.kinds.questions.asked_of_rows import AskedOfRows
from parley_lab.kinds.questions.drawn_rows import asked_of, row_id_of
from parley_lab.kinds.questions.questions import BaseQuestion
from parley_lab.kinds.questions.sheet import QuestionPage
from parley_lab.kinds.stages import kind_of, parts_of
from parley_lab.views.builder import Facts, People, own_view
from parley_lab.views.playing import drawn

_ROWS_SHOWN: Final = 3
_COHORT: Final = "c1"
_PATH: Final = f"{_COHORT}/m1"
"""The path of the first seat of the first cohort."""


def explained(experiment: Experiment, stage_id: str) -> list[str]:
    """Lines for a terminal; arms with the same stage come together.

    Raises:
        NotFound: no such stage, or one without questions.
    """
    arms: Sequence[str | None] = [treatment.id for treatment in experiment.treatments] or [None]
    found: list[tuple[StageConfig, list[str]]] = []
    seed = experiment.seed if experiment.seed is not None else seeds.fresh()
    of_first = values_of(of_cohort(experiment.assigned, seed, _COHORT, experiment.cohorts[0].id))
    for arm in arms:
        stage = resolve(experiment, arm).for_cohort(of_first).by_id.get(stage_id)
        if stage is None:
            continue
        same = next((names for known, names in found if known == stage), None)
        if same is None:
            found.append((stage, [arm] if arm else []))
        elif arm:
            same.append(arm)
    if not found:
        known = what_is_known(stage_id, [stage.id for stage in experiment.stages], "stage")
        raise NotFound(f"There is no stage {stage_id!r}. {known}")
    return [line for stage, names in found for line in _of_arm(stage, names, seed)]


def _of_arm(stage: StageConfig, arms: Sequence[str], seed: int) -> Iterator[str]:
    questions = parts_of(stage).questions
    if questions is not None and questions.outline({}):
        return _of_tasks(stage, arms, seed, questions)
    return _of_questions(stage, arms, seed)


def _of_questions(stage: StageConfig, arms: Sequence[str], seed: int) -> Iterator[str]:
    asked = _asked_of_person(stage, seed)
    rows = [[*questions] for _, questions in groupby(asked, row_id_of)] if asked[0].row else [[one] for one in asked]
    yield f"{_title(stage, arms)}: {_of_rows(stage, 'person', len(rows))}questions: {len(asked)}"
    for place, questions in enumerate(islice(rows, _ROWS_SHOWN), start=1):
        if (row := questions[0].row) is not None:
            levels = "".join(f", {name}: {level}" for name, level in row.levels.items())
            yield f"  row {row.id} ({place} of {len(rows)}{levels})"
        for one in questions:
            yield f"    {one.id}  {one.told}  [{one.asked()}]"
        if isinstance(stage, QuestionPage) and row is not None:
            yield from (f"    {line}" for line in together(stage, [one.id for one in questions]))
    if len(rows) > _ROWS_SHOWN:
        yield f"  ... and {len(rows) - _ROWS_SHOWN} more"


def _title(stage: StageConfig, arms: Sequence[str]) -> str:
    return f"{stage.id} ({', '.join(arms)})" if arms else stage.id


def _of_rows(stage: StageConfig, who: str, asked: int) -> str:
    if not isinstance(stage, AskedOfRows) or stage.rows is None:
        return ""
    return f"rows: {len(stage.rows.listed)}, of which each {who} is asked {asked}, "


def _of_tasks(stage: StageConfig, arms: Sequence[str], seed: int, questions: Questions) -> Iterator[str]:
    draws = drawn(stage, seed=seed, cohort_name=_COHORT, arrived=())
    (_, before), *tasks = questions.outline(draws)
    by_row = [(row, [*same]) for row, same in groupby(tasks, itemgetter(0))]
    has_rows = isinstance(stage, AskedOfRows) and stage.rows is not None
    rows, shown = len(by_row), by_row[:_ROWS_SHOWN] if has_rows else by_row
    yield f"{_title(stage, arms)}: {_of_rows(stage, 'group', rows)}tasks: {len(tasks)}"
    yield from (f"  {line}" for line in before)
    for place, (row, same) in enumerate(shown, start=1):
        if row:
            yield f"  row {row} ({place} of {rows})"
        margin = "    " if row else "  "
        yield from (f"{margin}{line}" for _, lines in same for line in lines)
    if rows > len(shown):
        yield f"  ... and {rows - len(shown)} more"


def _asked_of_person(stage: StageConfig, seed: int) -> list[BaseQuestion]:
    """The questions of the person in the order of their page, with what is drawn for them by this seed."""
    if not isinstance(stage, AskedOfRows) or stage.asked != "questions":
        raise NotFound(f"The stage {stage.id!r} has no questions to show: it is a {stage.kind}.")
    person = Attendee(UUID(int=0), _PATH, "participant", "person", "in_progress", (stage.id,), 0, {})
    people = People((person,))
    draws = drawn(stage, seed=seed, cohort_name=_COHORT, arrived=people.on(stage.id))
    view = own_view(Facts(people=people, draws={stage.id: draws}), stage, person.id)
    questions: Sequence[BaseQuestion] = asked_of(stage, view).questions  # type: ignore[attr-defined]  # as each kind has them
    by_id = {question.id: question for question in questions}
    shown = kind_of(stage).page(stage, view).model_dump()["questions"]
    return [by_id[one["id"]] for one in shown]
