"""What is told once, however often one looks: lines of stages that tell what happens, and what befalls many alike."""

from collections import Counter
from typing import Final
from uuid import UUID

from shared.db.following import OpenedStage
from shared.stages import kind_of

AND_OTHERS: Final = "and others for the same reason; the end of the run counts them"


class Repeated:
    """What befalls many for one reason, such as a model that does not exist: told of the first of them."""

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()

    def new_lines(self, reason: str, line: str) -> list[str]:
        """The line, a word about others when the reason is met for the second time, and nothing more after that."""
        self._times[reason] += 1
        return {1: [line], 2: [AND_OTHERS]}.get(self._times[reason], [])

    def has_told(self, text: str) -> bool:
        """Whether this ends with a reason that was told."""
        return any(reason and text.endswith(reason) for reason in self._times)


class Teller:
    """Remembers what was told, by cohort and stage."""

    def __init__(self, *, step_by_step: bool) -> None:
        """step_by_step: every step is told, not only what the steps came to."""
        self._step_by_step = step_by_step
        self._steps_told: dict[tuple[UUID, str], int] = {}
        self._ended: dict[UUID, set[str]] = {}

    def tells(self, cohort_id: UUID, stage_id: str) -> bool:
        """Whether this stage tells what happens, so that nobody needs to be told who has answered there."""
        return (cohort_id, stage_id) in self._steps_told

    def tells_outcome(self, cohort_id: UUID) -> bool:
        """Whether it was told what a stage of this cohort came to."""
        return bool(self._ended.get(cohort_id))

    def new_lines(self, opened: OpenedStage) -> list[str]:
        """What is new on a stage since this was last asked; nothing where its events have to tell it."""
        kind = kind_of(opened.stage)
        if not kind.tells_itself:
            return []
        where = (opened.cohort_id, opened.stage.id)
        told = self._steps_told.setdefault(where, 0)
        lines = list(kind.steps(opened.stage, opened.view)[told:]) if self._step_by_step else []
        self._steps_told[where] = told + len(lines)
        ended = self._ended.setdefault(opened.cohort_id, set())
        if opened.stage.id not in ended and (outcome := kind.outcome(opened.stage, opened.view)) is not None:
            ended.add(opened.stage.id)
            lines.append(outcome)
        return lines
