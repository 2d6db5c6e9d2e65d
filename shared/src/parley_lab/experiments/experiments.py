"""Experiments: finds them, and counts their progress."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.errors import NotFound
from parley_lab.store import tables
from parley_lab.store.session import ReadSession
from parley_lab.store.statements import Row

ALL: Final = tables.all_of(tables.experiments, "e")
"""The columns of an experiment `e`."""

_FIND = text(f"SELECT {ALL} FROM experiments e WHERE e.id = :id")  # noqa: S608 - put together from constants


async def find(session: ReadSession, experiment_id: UUID) -> Row:
    """The experiment's row.

    Raises:
        NotFound: there is none.
    """
    row = await session.first(_FIND, {"id": experiment_id})
    if row is None:
        raise NotFound("There is no such experiment.")
    return row


_OF_COHORT = text(
    f"SELECT {ALL} FROM cohorts c JOIN experiments e ON e.id = c.experiment_id WHERE c.id = :cohort_id"  # noqa: S608 - put together from constants
)


async def of_cohort(session: ReadSession, cohort_id: UUID) -> Row:
    """The row of the cohort's experiment; the cohort must be there."""
    return await session.one(_OF_COHORT, {"cohort_id": cohort_id})


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an experiment."""

    status: str
    members_by_status: Mapping[str, int]
    messages: int
    model_calls: int
    cohorts_running: int
    cohorts: int


_PROGRESS = text(
    """
    SELECT e.status,
        (SELECT jsonb_object_agg(s.status, s.n) FROM (
            SELECT status, count(*) AS n FROM members
            WHERE experiment_id = e.id AND kind = 'participant' GROUP BY status
        ) s) AS members,
        (SELECT coalesce(sum(t.last_seq), 0) FROM threads t JOIN cohorts c ON c.id = t.cohort_id
            WHERE c.experiment_id = e.id) AS messages,
        (SELECT count(*) FROM model_calls k JOIN drafts d ON d.id = k.draft_id JOIN cohorts c ON c.id = d.cohort_id
            WHERE c.experiment_id = e.id) AS calls,
        (SELECT count(*) FROM cohorts WHERE experiment_id = e.id) AS cohorts,
        (SELECT count(*) FROM cohorts WHERE experiment_id = e.id AND status = 'running') AS running
    FROM experiments e WHERE e.id = :id
    """
)


async def progress(session: ReadSession, experiment_id: UUID) -> Progress:
    """The counts of the experiment's progress.

    Raises:
        NotFound: there is no such experiment.
    """
    row = await session.first(_PROGRESS, {"id": experiment_id})
    if row is None:
        raise NotFound("There is no such experiment.")
    return Progress(row.status, row.members or {}, int(row.messages), row.calls, row.running, row.cohorts)
