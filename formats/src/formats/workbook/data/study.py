"""What is the same for all sessions of a workbook's experiment."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from pydantic import ValidationError

from formats.exported import Exported
from formats.workbook.compiling import STAGE
from formats.workbook.facts import WorkbookFacts
from shared.errors import InvalidInput, NotFound
from shared.experiment import Resolved
from shared.stages.group_interview.config import GroupInterviewStage, InterviewTask

Json = Any

CALLED: Final = ("endpoint", "model")
"""What every file says of the models behind it."""


@dataclass(frozen=True)
class Study:
    """`arms` are the experiment's treatments as they were run, by id; `experiment` is the first line of data.json."""

    experiment: Mapping[str, Json]
    facts: WorkbookFacts
    arms: Mapping[str | None, Resolved]

    @property
    def name(self) -> str:
        """What the files are called."""
        return str(self.experiment["name"])

    @property
    def experiment_id(self) -> str:
        """What the workbook is called, whatever the permutation."""
        return str(self.experiment["study"] or self.name)

    @property
    def seed(self) -> int:
        return int(self.experiment["seed"])

    @property
    def called(self) -> dict[str, str]:
        """The hosts that were called and the models that answered there, of the whole run."""
        return called_in(self.experiment.get("models_called") or [])

    @property
    def constants(self) -> dict[str, Json]:
        return {constant.name: constant.value for constant in self.facts.constants}

    def stage(self, treatment: str | None) -> GroupInterviewStage:
        """The interview under a treatment."""
        return _interview(self.arms[treatment])

    def treatment_label(self, treatment: str | None) -> str:
        return str(self.arms[treatment].variables.get("treatment_label", treatment or ""))

    @cached_property
    def tasks(self) -> Sequence[InterviewTask]:
        """The tasks in the order of the first session."""
        stage = self.stage(next(iter(self.arms)))
        by_id = {task.id: task for task in stage.tasks}
        return [by_id[task_id] for task_id in (stage.sessions[0].order if stage.sessions else by_id)]

    def task_id(self, task: InterviewTask) -> str:
        """What the workbook calls the task."""
        facts = self.facts.task(task.id)
        return facts.task_id if facts is not None else task.id


def called_in(calls: Iterable[Mapping[str, Json]]) -> dict[str, str]:
    """Where these calls went, and which models answered."""
    called = [call for call in calls if call.get("endpoint") or call.get("model")]
    return {name: "; ".join(dict.fromkeys(call[name] for call in called if call[name])) for name in CALLED}


def read_study(exported: Exported) -> Study:
    """What the file says of the experiment as a whole.

    Raises:
        InvalidInput: it was not made from a workbook, or was changed since so that it is no interview any more.
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
    """Raises:
    InvalidInput: there is none.
    """
    try:
        stage = arm.stage(STAGE)
    except NotFound as error:
        raise InvalidInput(f"The experiment has no stage {STAGE!r}.") from error
    if not isinstance(stage, GroupInterviewStage):
        raise InvalidInput(f"The stage {STAGE!r} of the experiment is no interview of a group.")
    return stage
