"""The experiments of an owner with how far they are, in pages; and what has changed since the last look at them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.lives import OUT, STILL_IN, TAKING_PART, in_sql
from parley_lab.people.rooms import PLACES
from parley_lab.store.places import Place, parameters
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import Row

Sort = Literal["newest", "oldest", "name"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which experiments a list has; None: no matter. `name` is a part of the name, in capitals or not."""

    status: str | None = None
    name: str | None = None
    study: str | None = None
    is_archived: bool | None = None
    is_test: bool | None = None


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """The place of a row in a list ordered by name."""

    name: str
    id: UUID


_PAGE: Final = """
    SELECT id FROM experiments
    WHERE owner_id = :owner_id AND NOT EXISTS (SELECT FROM persona_chats k WHERE k.experiment_id = experiments.id)
        AND (CAST(:status AS text) IS NULL OR status = :status)
        AND (CAST(:name AS text) IS NULL OR strpos(lower(name), lower(:name)) > 0)
        AND (CAST(:study AS text) IS NULL OR study = :study)
        AND (CAST(:is_archived AS bool) IS NULL OR (archived_at IS NOT NULL) = :is_archived)
        AND (CAST(:is_test AS bool) IS NULL OR is_test = :is_test)
"""
# One experiment after the other, by the indexes of its rows: grouped at once, all members of the lab would be read.
_COUNTED: Final = f"""
    SELECT e.id, e.name, e.study, e.status, e.pace, e.model_mode, e.seed, e.is_test, e.created_at, e.started_at,
        e.ended_at, e.paused_at, e.pause_reason, e.archived_at IS NOT NULL AS is_archived,
        m.people, m.agents, m.waiting, m.gone, m.through, m.out,
        m.expected + coalesce(p.people, 0) + {PLACES.format(experiment="page.id")} AS open_seats,
        coalesce(t.messages, 0) AS messages, k.calls AS model_calls, k.unpriced AS unpriced_calls, k.cost,
        a.open AS alerts_open
    FROM page JOIN experiments e ON e.id = page.id
        CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE m.player = 'person' AND m.status IN {in_sql(STILL_IN)}) AS people,
                count(*) FILTER (WHERE m.player <> 'person' AND m.status IN {in_sql(STILL_IN)}) AS agents,
                count(*) FILTER (WHERE m.status IN {in_sql(TAKING_PART)} AND u.cohort_id IS NULL) AS waiting,
                count(*) FILTER (WHERE m.player = 'person' AND m.status IN {in_sql(TAKING_PART)}
                    AND p.gone_at IS NOT NULL) AS gone,
                count(*) FILTER (WHERE m.status = 'completed') AS through,
                count(*) FILTER (WHERE m.status IN {in_sql(OUT)}) AS out,
                count(*) FILTER (WHERE m.status = 'expected') AS expected
            FROM members m
                LEFT JOIN cohort_stages u ON u.cohort_id = m.cohort_id AND u.stage_id = m.stage_ids[m.position + 1]
                LEFT JOIN presence p ON p.member_id = m.id
            WHERE m.experiment_id = page.id AND m.kind = 'participant'
        ) m
        CROSS JOIN LATERAL (
            SELECT sum(p.people) AS people FROM planned_cohorts p WHERE p.experiment_id = page.id
        ) p
        CROSS JOIN LATERAL (
            SELECT sum(t.last_seq) AS messages FROM cohorts c JOIN threads t ON t.cohort_id = c.id
            WHERE c.experiment_id = page.id
        ) t
        CROSS JOIN LATERAL (
            SELECT count(*) AS calls, count(*) FILTER (WHERE x.cost IS NULL) AS unpriced, sum(x.cost) AS cost
            FROM cohorts c JOIN drafts d ON d.cohort_id = c.id JOIN model_calls x ON x.draft_id = d.id
            WHERE c.experiment_id = page.id
        ) k
        CROSS JOIN LATERAL (
            SELECT count(*) AS open FROM alerts a WHERE a.experiment_id = page.id AND a.resolved_at IS NULL
        ) a
"""  # noqa: S608 - put together from constants
_NEWEST: Final = text(
    f"""
    WITH page AS (
        {_PAGE} AND (CAST(:at AS timestamptz) IS NULL OR created_at < :at
            OR (created_at = :at AND id > CAST(:id AS uuid)))
        ORDER BY created_at DESC, id LIMIT :most
    ) {_COUNTED} ORDER BY e.created_at DESC, e.id
    """
)
_OLDEST: Final = text(
    f"""
    WITH page AS (
        {_PAGE} AND (CAST(:at AS timestamptz) IS NULL OR (created_at, id) > (:at, CAST(:id AS uuid)))
        ORDER BY created_at, id LIMIT :most
    ) {_COUNTED} ORDER BY e.created_at, e.id
    """
)
_BY_NAME: Final = text(
    f"""
    WITH page AS (
        {_PAGE} AND (CAST(:from_name AS text) IS NULL OR (lower(name), id) > (lower(:from_name), CAST(:id AS uuid)))
        ORDER BY lower(name), id LIMIT :most
    ) {_COUNTED} ORDER BY lower(e.name), e.id
    """
)
_SOME: Final = text(f"WITH page AS (SELECT unnest(CAST(:ids AS uuid[])) AS id) {_COUNTED} ORDER BY e.created_at, e.id")


async def list_of(
    session: ReadSession,
    owner_id: UUID,
    wanted: Wanted,
    *,
    most: int,
    sort: Sort = "newest",
    after: Place | NamedPlace | None = None,
) -> Sequence[Row]:
    """Experiments of this owner with their counts, without test chats with personas. One statement.

    `after`: only those after this place, which fits the order, even if its experiment was deleted.
    """
    given = {
        "owner_id": owner_id,
        "status": wanted.status,
        "name": wanted.name,
        "study": wanted.study,
        "is_archived": wanted.is_archived,
        "is_test": wanted.is_test,
        "most": most,
    }
    if sort == "name":
        named = after if isinstance(after, NamedPlace) else None
        place = {"from_name": None if named is None else named.name, "id": None if named is None else named.id}
        return await session.all(_BY_NAME, {**given, **place})
    statement = _NEWEST if sort == "newest" else _OLDEST
    return await session.all(statement, {**given, **parameters(after if isinstance(after, Place) else None)})


async def some(session: ReadSession, ids: Collection[UUID]) -> Sequence[Row]:
    """These experiments with their counts, as in `list_of`."""
    return await session.all(_SOME, {"ids": list(ids)})


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of an owner's experiments: a mark of each, which is another after each change, and open alerts."""

    marks: Mapping[UUID, str]
    alerts: Mapping[UUID, UUID]
    """The experiment of each alert."""


_MARKS: Final = text(
    """
    WITH own AS (
        SELECT e.id, e.status, e.version, e.archived_at, e.model_mode, e.paused_at, e.name, e.study FROM experiments e
        WHERE e.owner_id = :owner_id AND NOT EXISTS (SELECT FROM persona_chats k WHERE k.experiment_id = e.id)
    ), moved AS (
        SELECT c.experiment_id, sum(s.last) AS last
        FROM own e JOIN cohorts c ON c.experiment_id = e.id JOIN streams s ON s.cohort_id = c.id
        WHERE e.status IN ('running', 'paused') GROUP BY 1
    )
    SELECT e.id, concat_ws(':', e.status, e.version, e.archived_at, e.model_mode, e.paused_at, md5(e.name || e.study),
        m.last) AS mark,
        ARRAY(SELECT a.id FROM alerts a WHERE a.experiment_id = e.id AND a.resolved_at IS NULL) AS alerts
    FROM own e LEFT JOIN moved m ON m.experiment_id = e.id
    """
)


_MARK_OF: Final = text(
    """
    SELECT e.status IN ('running', 'paused') AS is_going_on, concat_ws(':', e.status, e.version, e.forgotten_at, (
        SELECT sum(s.last) FROM cohorts c JOIN streams s ON s.cohort_id = c.id WHERE c.experiment_id = e.id)) AS mark
    FROM experiments e WHERE e.id = :id
    """
)


async def mark_of(session: ReadSession, experiment_id: UUID) -> tuple[str, bool]:
    """A mark of this experiment, and whether it goes on; it must be there.

    The mark is another one after each event, and after the data of its people were deleted.
    """
    row = await session.one(_MARK_OF, {"id": experiment_id})
    return row.mark, row.is_going_on


async def seen(session: ReadSession, owner_id: UUID) -> Seen:
    """What there is to see now. One statement, which reads no member, message or call."""
    rows = await session.all(_MARKS, {"owner_id": owner_id})
    return Seen({row.id: row.mark for row in rows}, {alert: row.id for row in rows for alert in row.alerts})


_FILE: Final = text(
    """
    UPDATE experiments SET name = coalesce(CAST(:name AS text), name), study = coalesce(CAST(:study AS text), study),
        archived_at = CASE WHEN CAST(:is_archived AS bool) IS NULL THEN archived_at
            WHEN :is_archived THEN coalesce(archived_at, CAST(:now AS timestamptz)) END
    WHERE id = :id
    """
)


async def change(
    session: Session,
    experiment_id: UUID,
    now: datetime,
    *,
    name: str | None = None,
    study: str | None = None,
    is_archived: bool | None = None,
) -> None:
    """Change how an experiment is listed; None: as it is. Its document stays the same."""
    changed = {"name": name, "study": study, "is_archived": is_archived}
    await session.run(_FILE, {"id": experiment_id, "now": now, **changed})
