"""The progress of several experiments that run at the same time, as one line with their sessions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from parley_lab.cli.screen import Screen
from parley_lab.experiments.experiments import Progress
from parley_lab.experiments.following import CohortProgress

_MOST_SHOWN: Final = 8
"""How many running sessions are shown one by one."""


class Overview:
    """Adds up the progress of all experiments, and shows the sum."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._expected: dict[UUID, tuple[Mapping[str, int], str]] = {}
        self._told: dict[UUID, tuple[Progress, Sequence[CohortProgress]]] = {}

    def expect(self, experiment_id: UUID, replies: Mapping[str, int], label: str) -> None:
        """replies: the expected replies of each cohort, by path; empty when unknown."""
        self._expected[experiment_id] = (replies, label)

    def show(self, experiment_id: UUID, progress: Progress, cohorts: Sequence[CohortProgress]) -> None:
        self._told[experiment_id] = (progress, cohorts)
        running = [one for each in self._told for one in self._running(each)]
        more = [f"and {len(running) - _MOST_SHOWN} more"] if len(running) > _MOST_SHOWN else []
        total = _sum([progress for progress, _ in self._told.values()])
        self._screen.progress(total, [*running[:_MOST_SHOWN], *more])

    def _running(self, experiment_id: UUID) -> Iterator[str]:
        """`study_1 c2 12/37` for each running session of known length."""
        replies, label = self._expected[experiment_id]
        for cohort in self._told[experiment_id][1]:
            if cohort.status == "running" and cohort.path in replies:
                yield f"{label} {cohort.path} {cohort.replies}/{replies[cohort.path]}".strip()


def _sum(progresses: Sequence[Progress]) -> Progress:
    members: dict[str, int] = {}
    for progress in progresses:
        for status, number in progress.members_by_status.items():
            members[status] = members.get(status, 0) + number
    return Progress(
        status="running",
        members_by_status=members,
        messages=sum(one.messages for one in progresses),
        model_calls=sum(one.model_calls for one in progresses),
        cohorts_running=sum(one.cohorts_running for one in progresses),
        cohorts=sum(one.cohorts for one in progresses),
    )
