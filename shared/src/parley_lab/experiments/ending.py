"""Ending an experiment with the data that there are, and deleting one with all that was stored of it."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ForeignKey, MetaData, text

from parley_lab.answers.filling_in import fill_in
from parley_lab.base.errors import Conflict, HalfDone, NotFound, Unavailable
from parley_lab.contracts.lives import in_sql, sources
from parley_lab.experiments import files
from parley_lab.experiments.pausing import hold_still, lock
from parley_lab.members.standings import standing_of
from parley_lab.people.opening import open_no_more
from parley_lab.store.facts import Event
from parley_lab.store.failures import retry_deadlocks
from parley_lab.store.session import WHOLE_EXPERIMENT_SECONDS, Database, Session
from parley_lab.store.tables import metadata

EXPERIMENT_ENDED: Final = "experiment_ended"
"""Why a conversation is over, and a member is out, that the experiment was ended around."""
_TRIES: Final = 5
"""How often a deletion yields to a transaction that saves a last reply."""

_END_ASKS: Final = text(
    """
    UPDATE asks k SET state = 'cancelled', reason = :reason, closed_at = :now
    FROM cohorts c WHERE c.id = k.cohort_id AND c.experiment_id = :id AND k.state = 'open'
    """
)

# What is thought about belongs to a worker, who finds the end when it is back; an expired lease belongs to no worker.
_END_DRAFTS: Final = text(
    """
    WITH open AS (
        SELECT d.id FROM drafts d JOIN cohorts c ON c.id = d.cohort_id
        WHERE c.experiment_id = :id
            AND (d.state IN ('wanted', 'ready') OR d.state = 'thinking' AND d.lease_until <= :now)
        ORDER BY d.id FOR NO KEY UPDATE OF d
    )
    UPDATE drafts d SET state = CASE WHEN d.thread_id IS NULL THEN 'cancelled' ELSE 'ended' END,
        reason = :reason, lease_owner = NULL, lease_until = NULL, closed_at = :now
    FROM open WHERE d.id = open.id
    """
)

_END_TIMERS: Final = text(
    """
    UPDATE timers t SET state = 'cancelled'
    FROM cohorts c WHERE c.id = t.cohort_id AND c.experiment_id = :id AND t.state IN ('armed', 'held')
    """
)

_END_THREADS: Final = text(
    """
    UPDATE threads t SET ended_at = :now, end_reason = :reason, held = false
    FROM cohorts c WHERE c.id = t.cohort_id AND c.experiment_id = :id AND t.ended_at IS NULL
    RETURNING t.cohort_id, t.id, t.path, t.stage_id
    """
)

_END_CHECKS: Final = text(
    """
    UPDATE attention_checks k SET closed_at = :now, outcome = 'missed'
    FROM members m WHERE m.id = k.member_id AND m.experiment_id = :id AND k.closed_at IS NULL
    """
)

# Who takes part is out; a mediator has done its work, as when a cohort ends by itself.
_END_MEMBERS: Final = text(
    f"""
    UPDATE members SET status = CASE kind WHEN 'mediator' THEN 'completed' ELSE 'removed' END,
        status_reason = CASE kind WHEN 'mediator' THEN status_reason ELSE :reason END,
        ended_at = :now, paused_at = NULL, version = version + 1
    WHERE experiment_id = :id AND status IN {in_sql(sources("end"))}
    RETURNING cohort_id, id, path, kind
    """  # noqa: S608 - put together from constants
)

_END_COHORTS: Final = text(
    """
    UPDATE cohorts SET status = 'ended', ended_at = :now WHERE experiment_id = :id AND status = 'running'
    RETURNING id, path
    """
)

_END: Final = text(
    """
    UPDATE experiments SET status = 'ended', ended_at = :now, paused_at = NULL, pause_reason = NULL WHERE id = :id
    """
)


_BEGUN: Final = text(
    f"""
    SELECT DISTINCT m.id, m.path FROM partial_answers p JOIN members m ON m.id = p.member_id
    WHERE m.experiment_id = :id AND m.status IN {in_sql(sources("end"))} AND p.outcome IS NULL ORDER BY m.path
    """  # noqa: S608 - put together from constants
)


async def _fill_in(session: Session, experiment_id: UUID, now: datetime, *, cause: str) -> None:
    """Store what people have filled in and not sent, as far as it counts. The caller holds all locks."""
    for row in await session.all(_BEGUN, {"id": experiment_id}):
        await fill_in(session, await standing_of(session, row.id), now, mark="not_sent", cause=cause)


async def end(session: Session, experiment_id: UUID, now: datetime, *, cause: str = "request") -> bool:
    """End the experiment now; False when it had ended. What was stored stays.

    A call in flight is recorded when it comes back, and nothing else is made of it.

    Raises:
        NotFound: there is no such experiment.
        Conflict: it has not been started.
    """
    row = await lock(session, experiment_id)
    if row.status == "draft":
        raise Conflict("This experiment has not been started; delete it if it is not wanted.", reason="not_started")
    if row.status == "ended":
        return False
    # Else it would wait for people if members who failed were tried again.
    await open_no_more(session, experiment_id, now)
    await hold_still(session, experiment_id)
    params = {"id": experiment_id, "now": now, "reason": EXPERIMENT_ENDED}
    await _fill_in(session, experiment_id, now, cause=cause)
    for statement in (_END_ASKS, _END_DRAFTS, _END_TIMERS, _END_CHECKS):
        await session.run(statement, params)

    def tell(cohort_id: UUID, event_type: str, path: str, subject_id: UUID, payload: Mapping[str, Any]) -> None:
        _record(session, experiment_id, cohort_id, event_type, path, subject_id, payload, now, cause=cause)

    for thread in await session.all(_END_THREADS, params):
        said = {"thread_id": str(thread.id), "stage_id": thread.stage_id, "reason": EXPERIMENT_ENDED}
        tell(thread.cohort_id, "thread.ended", thread.path, thread.id, said)
    for member in await session.all(_END_MEMBERS, params):
        if member.kind == "participant":
            tell(member.cohort_id, "member.removed", member.path, member.id, {"member_id": str(member.id)})
    for cohort in await session.all(_END_COHORTS, params):
        tell(cohort.id, "cohort.ended", cohort.path, cohort.id, {})
        session.tell(cohort.id)
    await session.run(_END, params)
    return True


def _record(
    session: Session,
    experiment_id: UUID,
    cohort_id: UUID,
    event_type: str,
    path: str,
    subject_id: UUID,
    public: Mapping[str, Any],
    now: datetime,
    *,
    cause: str,
) -> None:
    session.record(
        Event(
            experiment_id=experiment_id,
            cohort_id=cohort_id,
            type=event_type,
            actor="lab",
            cause=cause,
            subject=path,
            subject_id=subject_id,
            payload={"reason": EXPERIMENT_ENDED, **public},
            public=public,
            at=now,
        )
    )


# From the drafts upwards: a worker that saves a reply holds its draft when it waits for the thread. What others refer
# to is locked before anything is deleted, so that nothing is added to it in between.
_LOCKS: Final = tuple(
    text(f"SELECT 1 AS one FROM {table} x {condition} ORDER BY x.id FOR UPDATE OF x")  # noqa: S608 - constants
    for table, condition in (
        ("drafts", "JOIN cohorts c ON c.id = x.cohort_id WHERE c.experiment_id = :id"),
        ("threads", "JOIN cohorts c ON c.id = x.cohort_id WHERE c.experiment_id = :id"),
        ("members", "WHERE x.experiment_id = :id"),
        ("cohorts", "WHERE x.experiment_id = :id"),
        ("experiments", "WHERE x.id = :id"),
    )
)


def rows_of_an_experiment(tables: MetaData) -> Mapping[str, str]:
    """The condition under which a row belongs to the experiment `:id`, by table; what refers to others comes first.

    Found from the foreign keys, so that a new table is deleted from, too. Of several keys the first by name counts: the
    cohort before the member, since more tables have an index of it.
    """
    conditions = {"experiments": "id = :id"}
    while True:
        found = {
            table.name: _belongs_to(key, conditions)
            for table in tables.sorted_tables
            if table.name not in conditions
            for key in sorted(table.foreign_keys, key=lambda key: key.parent.name, reverse=True)
            if _says_whose(key) and key.column.table.name in conditions
        }
        if not found:
            return {
                table.name: conditions[table.name]
                for table in reversed(tables.sorted_tables)
                if table.name in conditions
            }
        conditions |= found


def _says_whose(key: ForeignKey) -> bool:
    return not key.parent.nullable and key.constraint is not None and len(key.constraint.elements) == 1


def _belongs_to(key: ForeignKey, conditions: Mapping[str, str]) -> str:
    of = key.column.table.name
    if of == "experiments":
        return f"{key.parent.name} = :id"
    return f"{key.parent.name} IN (SELECT {key.column.name} FROM {of} WHERE {conditions[of]})"  # noqa: S608 - names of our tables


_DELETIONS: Final = tuple(
    text(f"DELETE FROM {table} WHERE {condition}")  # noqa: S608 - names of our tables
    for table, condition in rows_of_an_experiment(metadata).items()
)


async def delete(database: Database, experiment_id: UUID, now: datetime) -> None:
    """End the experiment, and remove every row of it. Work in flight finds nothing when it is back, and stops.

    Raises:
        NotFound: there is no such experiment.
        HalfDone, Unavailable: it has been ended by this call, and not deleted; the message says so.
    """
    has_ended_it = await retry_deadlocks(partial(_end_what_goes_on, database, experiment_id, now), tries=_TRIES)
    try:
        await retry_deadlocks(partial(_delete_rows, database, experiment_id, now), tries=_TRIES)
    except (Conflict, NotFound):
        raise
    except Exception as error:
        if not has_ended_it:
            raise
        again = "The experiment has been ended, and could not be deleted: its data are still there. Delete it again."
        raise (Unavailable if isinstance(error, Unavailable) else HalfDone)(again) from error


async def _end_what_goes_on(database: Database, experiment_id: UUID, now: datetime) -> bool:
    async with database.transaction(statement_seconds=WHOLE_EXPERIMENT_SECONDS) as session:
        row = await lock(session, experiment_id)
        return row.status != "draft" and await end(session, experiment_id, now)


async def _delete_rows(database: Database, experiment_id: UUID, now: datetime) -> None:
    async with database.transaction(statement_seconds=WHOLE_EXPERIMENT_SECONDS) as session:
        await _require_at_rest(session, experiment_id)
        for statement in _LOCKS:
            await session.run(statement, {"id": experiment_id})
        await files.delete_all(session, experiment_id, now)
        for statement in _DELETIONS:
            await session.run(statement, {"id": experiment_id})


async def _require_at_rest(session: Session, experiment_id: UUID) -> None:
    """Raises:
    Conflict: a draft was started while it was being deleted.
    """
    row = await lock(session, experiment_id)
    if row.status not in ("draft", "ended"):
        raise Conflict("This experiment has just been started; delete it again.", reason="started_meanwhile")
