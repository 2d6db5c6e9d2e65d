"""What all sessions of a workbook's experiment have in common."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from pydantic import ValidationError

from parley_lab.base.errors import InvalidInput, NotFound
from parley_lab.design import Resolved
from parley_lab.formats.exported import Exported
from parley_lab.formats.workbook.compiling import STAGE
from parley_lab.formats.workbook.facts import WorkbookFacts
from parley_lab.kinds.stages.group_interview.config import GroupInterviewStage, InterviewTask

Json = Any

CALLED: Final = ("endpoint", "model")
"""Columns about the models in every file."""


@dataclass(frozen=True)
class Study:
    """`arms`: the treatments that were run, by id; `experiment`: the first line of data.json."""

    experiment: Mapping[str, Json]
    facts: WorkbookFacts
    arms: Mapping[str | None, Resolved]

    @property
    def name(self) -> str:
        """The name of the files."""
        return str(self.experiment["name"])

    @property
    def experiment_id(self) -> str:
        """The name of the workbook, the same for all permutations."""
        return str(self.experiment["study"] or self.name)

    @property
    def seed(self) -> int:
        return int(self.experiment["seed"])

    @property
    def called(self) -> dict[str, str]:
        """The hosts and models of all calls of the run."""
        return called_in(self.experiment.get("models_called") or [])

    @property
    def constants(self) -> dict[str, Json]:
        return {constant.name: constant.value for constant in self.facts.constants}

    def stage(self, treatment: str | None) -> GroupInterviewStage:
        """The interview in the arm of a treatment."""
        return _interview(self.arms[treatment])

    def treatment_label(self, treatment: str | None) -> str:
        return str(self.arms[treatment].variables.get("treatment_label", treatment or ""))

    @cached_property
    def tasks(self) -> Sequence[InterviewTask]:
        """The tasks in the order of the first session."""
        stage = self.stage(next(iter(self.arms)))
        by_id = {task.id: task for task in stage.tasks}
        cohorts = self.experiment["document"]["cohorts"]
        return [by_id[task_id] for task_id in self.settled(cohorts[0]["id"]).get("tasks", by_id)]

    def settled(self, cohort_id: str | None) -> Mapping[str, Json]:
        """The roles and the order of tasks that the file settles for this cohort."""
        cohorts = self.experiment["document"]["cohorts"]
        found = (one.get("draws", {}).get(STAGE, {}) for one in cohorts if one["id"] == cohort_id)
        return next(found, {})

    def task_id(self, task: InterviewTask) -> str:
        """The id of the task in the workbook."""
        facts = self.facts.task(task.id)
        return facts.task_id if facts is not None else task.id


def called_in(calls: Iterable[Mapping[str, Json]]) -> dict[str, str]:
    """The hosts and models of these calls."""
    called = [call for call in calls if call.get("endpoint") or call.get("model")]
    return {name: "; ".join(dict.fromkeys(call[name] for call in called if call[name])) for name in CALLED}


def read_study(exported: Exported) -> Study:
    """Read what the file says of the experiment as a whole.

    Raises:
        InvalidInput: it was not made from a workbook, or was changed and is no interview any more.
    """
    source = exported.experiment["document"].get("source") or {}
    try:
        facts = WorkbookFacts.model_validate(source.get("facts"))
        arms = {row["treatment"]: Resolved.model_validate(row["resolved"]) for row in exported.section("treatments")}
    except ValidationError as error:
        raise InvalidInput("The experiment does not say what a workbook says.") from error
    if not arms:
        raise InvalidInput("The experiment has no treatments.")
    for arm in arms.values():
        _interview(arm)
    return Study(exported.experiment, facts, arms)


def _interview(arm: Resolved) -> GroupInterviewStage:
    """The interview of the arm.

    Raises:
        InvalidInput: the arm has none.
    """
    try:
        stage = arm.stage(STAGE)
    except NotFound as error:
        raise InvalidInput(f"The experiment has no stage {STAGE!r}.") from error
    if not isinstance(stage, GroupInterviewStage):
        raise InvalidInput(f"The stage {STAGE!r} of the experiment is no interview of a group.")
    return stage
