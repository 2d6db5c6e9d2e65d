"""Whose cohorts, members, threads and drafts these are: those of another owner's experiment are treated as missing."""

from uuid import UUID

from sqlalchemy import TextClause, text

from parley_lab.base.errors import NotFound
from parley_lab.store.session import ReadSession


async def _check(session: ReadSession, statement: TextClause, what: str, **ids: UUID) -> UUID:
    row = await session.first(statement, ids)
    if row is None:
        raise NotFound(f"There is no such {what}.")
    experiment_id: UUID = row.experiment_id
    return experiment_id


_COHORT = text(
    """
    SELECT e.id AS experiment_id FROM cohorts c JOIN experiments e ON e.id = c.experiment_id
    WHERE c.id = :cohort_id AND e.owner_id = :owner_id
    """
)


async def check_cohort(session: ReadSession, cohort_id: UUID, owner_id: UUID) -> UUID:
    """The experiment of a cohort, if it is of this owner.

    Raises:
        NotFound: there is no such cohort, or not for this owner.
    """
    return await _check(session, _COHORT, "group", cohort_id=cohort_id, owner_id=owner_id)


_THREAD = text(
    """
    SELECT e.id AS experiment_id
    FROM threads t JOIN cohorts c ON c.id = t.cohort_id JOIN experiments e ON e.id = c.experiment_id
    WHERE t.id = :thread_id AND e.owner_id = :owner_id
    """
)


async def check_thread(session: ReadSession, thread_id: UUID, owner_id: UUID) -> UUID:
    """The experiment of a thread, if it is of this owner.

    Raises:
        NotFound: there is no such thread, or not for this owner.
    """
    return await _check(session, _THREAD, "conversation", thread_id=thread_id, owner_id=owner_id)


_MEMBER = text(
    """
    SELECT e.id AS experiment_id FROM members m JOIN experiments e ON e.id = m.experiment_id
    WHERE m.id = :member_id AND e.owner_id = :owner_id
    """
)


async def check_member(session: ReadSession, member_id: UUID, owner_id: UUID) -> UUID:
    """The experiment of a member, if it is of this owner.

    Raises:
        NotFound: there is no such member, or not for this owner.
    """
    return await _check(session, _MEMBER, "participant", member_id=member_id, owner_id=owner_id)


_DRAFT = text(
    """
    SELECT e.id AS experiment_id
    FROM drafts d JOIN members m ON m.id = d.member_id JOIN experiments e ON e.id = m.experiment_id
    WHERE d.id = :draft_id AND e.owner_id = :owner_id
    """
)


async def check_draft(session: ReadSession, draft_id: UUID, owner_id: UUID) -> UUID:
    """The experiment of a draft, if it is of this owner.

    Raises:
        NotFound: there is no such draft, or not for this owner.
    """
    return await _check(session, _DRAFT, "draft", draft_id=draft_id, owner_id=owner_id)
