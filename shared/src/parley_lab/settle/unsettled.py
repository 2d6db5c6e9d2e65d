"""Cohorts that are to be settled, agents to take a step, experiments to end: what a watchdog finds."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, Hint
from parley_lab.contracts.lives import TAKING_PART, in_sql
from parley_lab.people.rooms import IS_OPEN
from parley_lab.store.session import ReadSession

_IS_UNSETTLED = text("SELECT settled < unsettled AS is_unsettled FROM streams WHERE cohort_id = :cohort_id")

_UNSETTLED = text(
    """
    SELECT s.cohort_id FROM streams s JOIN cohorts c ON c.id = s.cohort_id JOIN experiments e ON e.id = c.experiment_id
    WHERE s.settled < s.unsettled AND e.status <> 'paused' LIMIT :most
    """
)

_UNSTEPPED = text(
    f"""
    SELECT m.id FROM members m JOIN experiments e ON e.id = m.experiment_id
    WHERE m.player <> 'person' AND m.status IN {in_sql(TAKING_PART)} AND m.stepped_version < m.version
        AND (m.kind = 'participant' OR m.status = 'attention_check') AND e.status <> 'paused'
    LIMIT :most
    """  # noqa: S608 - put together from constants
)


async def is_unsettled(session: ReadSession, cohort_id: UUID) -> bool:
    """Whether the cohort has events since it was last settled."""
    row = await session.first(_IS_UNSETTLED, {"cohort_id": cohort_id})
    return row is not None and bool(row.is_unsettled)


async def unsettled(session: ReadSession, *, most: int = 20_000) -> list[Hint]:
    """Hints for cohorts with events since they were last settled."""
    return [
        Hint(ORCHESTRATOR, "cohort.unsettled", str(row.cohort_id))
        for row in await session.all(_UNSETTLED, {"most": most})
    ]


async def unstepped(session: ReadSession, *, most: int = 20_000) -> list[Hint]:
    """Hints for agents whose profile was updated and who have not taken their step."""
    return [Hint(AGENT_STEPS, "member.changed", str(row.id)) for row in await session.all(_UNSTEPPED, {"most": most})]


_RUNNING = text(
    f"""
    SELECT e.id FROM experiments e WHERE e.status = 'running'
        AND NOT EXISTS (SELECT FROM cohorts c WHERE c.experiment_id = e.id AND c.status = 'running')
        AND NOT EXISTS (SELECT FROM planned_cohorts p WHERE p.experiment_id = e.id)
        AND NOT {IS_OPEN.format(experiment="e.id")}
    """  # noqa: S608 - put together from constants
)


async def finished_experiments(session: ReadSession) -> Sequence[UUID]:
    """Running experiments all of whose cohorts have ended, and to which no more are added by people who come."""
    return [row.id for row in await session.all(_RUNNING)]
