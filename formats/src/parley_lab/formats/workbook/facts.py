"""Facts of a workbook that a run does not need, but its data files do."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from parley_lab.formats.workbook.assignment import Assignment, WorkbookSession
from parley_lab.formats.workbook.design import FACILITATOR, ID, Design, WorkbookTask
from parley_lab.formats.workbook.draws import Draws

Json = Any

FORMAT: Final = "workbook"


class _Facts(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class ConstantFacts(_Facts):
    """One constant with its value in this permutation."""

    name: str
    value: str | int | float


class ColumnFacts(_Facts):
    """A column of agent_profiles with an answer of the profile."""

    name: str
    question: str

    @property
    def is_id(self) -> bool:
        return ID in (self.name, self.question)


class TaskFacts(_Facts):
    """A row of interview_prompts; `id` is the task's id in the experiment, or empty for the context."""

    id: str
    task_id: str
    order: int
    var_name: str
    var_type: str | None
    is_adapted: bool
    human_text: str
    as_json: bool


class DrawFacts(_Facts):
    """How something was assigned in a session; `seed` is empty when it was assigned by hand."""

    session: str
    what: str
    strategy: str
    seed: str


class WorkbookFacts(_Facts):
    """All facts. Lists keep the order of the sheets, which JSON objects lose in the database."""

    permutation: int
    constants: tuple[ConstantFacts, ...]
    draws: Draws
    model_info: str
    api_endpoint: str | None
    temperature: float
    facilitator: str
    """The facilitator's role text, which the interview does not use."""
    columns: tuple[ColumnFacts, ...]
    tasks: tuple[TaskFacts, ...]
    assignments: tuple[DrawFacts, ...]
    sessions: Mapping[str, str] = {}
    """What the workbook calls the session that a cohort is, by the id of the cohort."""

    def task(self, task_id: str) -> TaskFacts | None:
        """The task with this id in the experiment."""
        return next((task for task in self.tasks if task.id == task_id), None)


def facts_of(
    design: Design, assignment: Assignment, ids: Mapping[str, str], cohorts: Mapping[str, WorkbookSession]
) -> Json:
    """ids: the experiment's id of each task. cohorts: the sessions that are run, by id of their cohort."""
    chosen = {session.id for session in cohorts.values()}
    left_out = design.settings.assignment_columns
    facts = WorkbookFacts(
        permutation=design.permutation,
        constants=tuple(ConstantFacts(name=name, value=value) for name, value in design.constants.items()),
        draws=assignment.draws,
        model_info=design.settings.model_info,
        api_endpoint=design.settings.api_endpoint,
        temperature=design.settings.temperature,
        facilitator=design.role(FACILITATOR).description,
        columns=tuple(
            ColumnFacts(name=column.name, question=column.question)
            for column in design.columns
            if column.number not in left_out
        ),
        tasks=tuple(_task(task, ids.get(task.task_id, "")) for task in (design.context, *design.tasks)),
        assignments=tuple(
            DrawFacts.model_validate(asdict(record)) for record in assignment.records if record.session in chosen
        ),
        sessions={cohort_id: session.id for cohort_id, session in cohorts.items()},
    )
    return facts.model_dump(mode="json")


def _task(task: WorkbookTask, task_id: str) -> TaskFacts:
    return TaskFacts(
        id=task_id,
        task_id=task.task_id,
        order=task.order,
        var_name=task.var_name,
        var_type=task.var_type,
        is_adapted=task.is_adapted,
        human_text=task.human_text,
        as_json=task.as_json,
    )
