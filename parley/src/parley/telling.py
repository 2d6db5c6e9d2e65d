"""What is told of stages that tell themselves what happens: each line once, however often one looks."""

from uuid import UUID

from shared.db.following import OpenedStage
from shared.stages import kind_of


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
