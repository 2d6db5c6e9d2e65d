"""The names by which the members of a cohort know each other: no two of them are alike.

A member who comes with a name that another one there has, or chooses it, is known by it with a number ("Owl 2") in this
cohort; their own name is kept, and is theirs again where it is free.
"""

from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.looks import told_apart
from parley_lab.contracts.experiment import Profile
from parley_lab.contracts.hints import ORCHESTRATOR, Hint
from parley_lab.contracts.lives import OUT, in_sql
from parley_lab.kinds.effects import SetProfile
from parley_lab.members.attendance import ATTENDANCE
from parley_lab.store.facts import Event
from parley_lab.store.session import Session
from parley_lab.store.statements import as_json

# The last lock of a transaction: while it is held, no cohort, member or thread is waited for any more.
_LOCK_NAMES: Final = text(
    """
    SELECT pg_advisory_xact_lock(hashtextextended('names/' || m.cohort_id, 0)) FROM members m WHERE m.id = :member_id
    """
)
# Where names are drawn, participants who are still to get theirs have the one of before for the last moments.
_NAMES: Final = text(
    f"""
    SELECT m.experiment_id, m.cohort_id, m.path, m.profile, m.own_name,
        ARRAY(SELECT o.profile ->> 'name' FROM {ATTENDANCE} o
            WHERE o.cohort_id = m.cohort_id AND o.id <> m.id AND o.profile ->> 'name' <> ''
                AND NOT (o.kind = 'participant' AND o.status NOT IN {in_sql(OUT)}
                    AND coalesce(array_position(o.stage_ids, CAST(:drawn_on AS text)) > o.position, false))) AS others
    FROM members m WHERE m.id = :member_id
    """  # noqa: S608 - put together from constants
)
_SET: Final = text(
    """
    UPDATE members SET profile = CAST(:profile AS jsonb), own_name = :own_name, version = version + 1
    WHERE id = :member_id
    """
)


async def tell_apart(session: Session, member_id: UUID, now: datetime, *, cause: str) -> None:
    """Have the member known in the cohort where they are by a name that no other has there, their own if it is free.

    For a member who has come to the cohort; the caller holds their row. Takes a lock of the cohort's names, so that of
    two who come at once the second sees the name of the first (`services/gateway/tests/test_names.py`).
    """
    await _be_known(session, member_id, None, None, now, cause=cause)


async def be_known_by(
    session: Session, member_id: UUID, wanted: SetProfile, stage_id: str, now: datetime, *, cause: str
) -> None:
    """The same with the profile that a stage gives them; nothing happens if it is theirs already."""
    drawn_on = stage_id if wanted.is_drawn else None
    await _be_known(session, member_id, wanted.profile, drawn_on, now, cause=cause)


async def _be_known(
    session: Session, member_id: UUID, profile: Profile | None, drawn_on: str | None, now: datetime, *, cause: str
) -> None:
    session.later(_LOCK_NAMES, {"member_id": member_id})
    row = await session.one(_NAMES, {"member_id": member_id, "drawn_on": drawn_on})
    own = {**row.profile, "name": row.own_name or row.profile.get("name") or ""}
    wanted = own if profile is None else profile.model_dump(mode="json")
    if profile is not None and wanted == own:
        return
    name = told_apart(wanted["name"], row.others) if wanted["name"] else ""
    fields = {**wanted, "name": name}
    if fields == row.profile:
        return
    own_name = None if name == wanted["name"] else wanted["name"]
    await session.run(_SET, {"member_id": member_id, "profile": as_json(fields), "own_name": own_name})
    session.record(
        Event(
            experiment_id=row.experiment_id,
            cohort_id=row.cohort_id,
            type="member.profile_changed",
            actor=row.path,
            cause=cause,
            subject=row.path,
            subject_id=member_id,
            payload={"profile": fields},
            public={"member_id": str(member_id), "profile": fields},
            at=now,
            unsettles=True,
        )
    )
    session.announce(Hint(ORCHESTRATOR, "cohort.unsettled", str(row.cohort_id)))
    session.tell(row.cohort_id)
